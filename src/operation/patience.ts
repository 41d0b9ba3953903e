import { withinTime } from "../within-time.js";
import { Unavailable } from "./failure.js";
import { Stopwatch, type WaitedFor, Waits } from "./waits.js";

/**
 * The time limit that all waits of one request share: for its slot, for authentication, for connections. Waits at the
 * same time count once; work does not count.
 */
export class Patience {
  readonly #wholeMs: number;
  readonly #spent = new Stopwatch();

  constructor(
    wholeMs: number,
    /** Where operators see what was waited for. */
    readonly waits = new Waits(),
  ) {
    this.#wholeMs = wholeMs;
  }

  get leftMs(): number {
    return Math.max(0, this.#wholeMs - this.#spent.ms);
  }

  /** Counts the time until `wait` settles. */
  async during<T>(wait: Promise<T>, what: WaitedFor): Promise<T> {
    const told = this.waits.of(what);
    this.#spent.start();
    told.start();
    try {
      return await wait;
    } finally {
      this.#spent.stop();
      told.stop();
    }
  }

  /** Why its end means 503: whoever waited for a slot had to wait for other requests of the same address or key. */
  get #why(): "share" | "busy" {
    return this.waits.of("slot").ms > this.#wholeMs / 2 ? "share" : "busy";
  }

  /**
   * Limits the look-up of a key, which may be abandoned.
   * @throws Unavailable when the time is over first.
   */
  limit<T>(wait: Promise<T>): Promise<T> {
    const limited = withinTime(wait, this.leftMs, () => {
      throw new Unavailable(this.#why);
    });
    return this.during(limited, "key");
  }

  /** For a request whose wait failed: it may not wait again. */
  exhaust(): void {
    this.#spent.add(this.#wholeMs);
  }
}
