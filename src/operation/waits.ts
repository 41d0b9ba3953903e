/**
 * What a request waits for: a place among the requests of its address or key, the look-up of its key, its account's
 * share of the database, a connection (`shared`, `search`), the answers of the database, with a lock that it did not
 * get, its turn of the event loop, Redis, Stripe, the client that sends its body or reads its answer.
 */
export const WAITED_FOR = [
  "turn",
  "slot",
  "key",
  "account",
  "shared",
  "search",
  "database",
  "lock",
  "redis",
  "stripe",
  "client",
] as const;
export type WaitedFor = (typeof WAITED_FOR)[number];

/** Shorter waits explain no slow request, and are left out of the log. */
export const TOLD_FROM_MS = 10;

/** How long one request has waited for what. */
export class Waits {
  readonly #of = new Map<WaitedFor, Stopwatch>();

  of(what: WaitedFor): Stopwatch {
    const known = this.#of.get(what);
    if (known) return known;
    const stopwatch = new Stopwatch();
    this.#of.set(what, stopwatch);
    return stopwatch;
  }

  /** All waits, in milliseconds, also short ones. */
  *all(): Iterable<readonly [what: WaitedFor, ms: number]> {
    for (const [what, { ms }] of this.#of) yield [what, ms];
  }

  /** The waits that an operator should know, in whole milliseconds; undefined if there are none. */
  get told(): Readonly<Partial<Record<WaitedFor, number>>> | undefined {
    let told: Partial<Record<WaitedFor, number>> | undefined;
    for (const [what, { ms }] of this.#of) if (ms >= TOLD_FROM_MS) (told ??= {})[what] = Math.round(ms);
    return told;
  }
}

/** Measures the time in which at least one wait goes on: waits at the same time count once. */
export class Stopwatch {
  #ms = 0;
  #running = 0;
  #since = 0;

  get ms(): number {
    return this.#ms + (this.#running > 0 ? performance.now() - this.#since : 0);
  }

  start(): void {
    if (this.#running++ === 0) this.#since = performance.now();
  }

  readonly stop = (): void => {
    if (--this.#running === 0) this.add(performance.now() - this.#since);
  };

  /** Measures the time until `work` settles. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.start();
    try {
      return await work();
    } finally {
      this.stop();
    }
  }

  add(ms: number): void {
    this.#ms += ms;
  }
}
