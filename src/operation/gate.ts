import type { WhyUnavailable } from "../platform/database/database-errors.js";
import { whenLate } from "../within-time.js";
import { TooManyAtOnce, Unavailable } from "./failure.js";

/** Lets a fixed number in at the same time; the others wait in a queue, which may have a maximum length. */
export class Gate {
  readonly #line = new Set<Waiting>();
  #free: number;

  constructor(
    private readonly insideMax: number,
    /** Set where the queue is one account's: how long it may be, and what to tell the account then. */
    private readonly line?: { readonly max: number; readonly refusal: string },
  ) {
    this.#free = insideMax;
  }

  /** How many wait for their turn. */
  get waiting(): number {
    return this.#line.size;
  }

  get isIdle(): boolean {
    return this.#free === this.insideMax && this.#line.size === 0;
  }

  /**
   * Returns undefined if let in at once, otherwise a promise of its turn; `patienceMs` limits the wait.
   * @throws TooManyAtOnce when the queue is full.
   * @throws Unavailable when its turn did not come in time, or `refuse` was called.
   */
  enter(patienceMs?: number): Promise<void> | undefined {
    if (this.#free > 0) {
      this.#free--;
      return undefined;
    }
    if (this.line && this.#line.size >= this.line.max) throw new TooManyAtOnce(this.line.refusal);
    return new Promise((resolve, reject) => {
      const end = (refusal?: Unavailable) => {
        cancel?.();
        this.#line.delete(end);
        if (refusal) reject(refusal);
        else resolve();
      };
      const giveUp = () => end(new Unavailable(this.line ? "share" : "busy"));
      const cancel = patienceMs === undefined ? undefined : whenLate(patienceMs, giveUp);
      this.#line.add(end);
    });
  }

  leave(): void {
    const [next] = this.#line;
    // The place goes directly to the first in the queue, so that a newcomer cannot take it.
    if (next) next();
    else this.#free++;
  }

  /** Refuses everyone in the queue. */
  refuse(why: WhyUnavailable): void {
    for (const end of this.#line) end(new Unavailable(why));
  }
}

/** Ends a wait in the queue: with its turn, or with a refusal. */
type Waiting = (refusal?: Unavailable) => void;
