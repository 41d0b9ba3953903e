import { Unavailable } from "./failure.js";

/**
 * How long one request may still wait before it is worked on: for a place, for whose key it has, for a connection. All
 * its waits share one time, whether they follow each other or run side by side; its work does not count.
 */
export class Patience {
  readonly #wholeMs: number;
  #spentMs = 0;
  #waits = 0;
  #since = 0;

  constructor(wholeMs: number) {
    this.#wholeMs = wholeMs;
  }

  get leftMs(): number {
    const running = this.#waits > 0 ? performance.now() - this.#since : 0;
    return Math.max(0, this.#wholeMs - this.#spentMs - running);
  }

  /** Counts the time until `wait` settles. */
  async during<T>(wait: Promise<T>): Promise<T> {
    if (this.#waits++ === 0) this.#since = performance.now();
    try {
      return await wait;
    } finally {
      if (--this.#waits === 0) this.#spentMs += performance.now() - this.#since;
    }
  }

  /**
   * Waits for what may be given up, such as a look-up.
   * @throws Unavailable when the time is over before.
   */
  async limit<T>(wait: Promise<T>): Promise<T> {
    const { leftMs } = this;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Unavailable("busy")), leftMs).unref();
    });
    try {
      return await this.during(Promise.race([wait, late]));
    } finally {
      clearTimeout(timer);
    }
  }

  /** For a request that has waited in vain: it waits for nothing more. */
  exhaust(): void {
    this.#spentMs = this.#wholeMs;
  }
}
