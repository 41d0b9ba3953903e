import { Unavailable } from "./failure.js";

/**
 * The time limit that all waits of one request share: for its slot, for authentication, for connections. Waits at the
 * same time count once; work does not count.
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
   * Limits a wait that may be abandoned, such as a look-up.
   * @throws Unavailable when the time is over first.
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

  /** For a request whose wait failed: it may not wait again. */
  exhaust(): void {
    this.#spentMs = this.#wholeMs;
  }
}
