import type { WhyUnavailable } from "../platform/database-errors.js";
import { TooManyAtOnce, Unavailable } from "./failure.js";

/** Lets a fixed number in at the same time; the others wait in a line, of any length unless it has an end. */
export class Gate {
  readonly #line = new Set<Waiting>();
  #free: number;

  constructor(
    private readonly insideMax: number,
    private readonly line?: { readonly max: number; readonly refusal: string },
  ) {
    this.#free = insideMax;
  }

  get isIdle(): boolean {
    return this.#free === this.insideMax && this.#line.size === 0;
  }

  /**
   * Undefined: let in at once. Else waits for its turn: this long, where that is given.
   * @throws TooManyAtOnce when the line is full.
   * @throws Unavailable when the turn has not come in time, or will not come.
   */
  enter(patienceMs?: number): Promise<void> | undefined {
    if (this.#free > 0) {
      this.#free--;
      return undefined;
    }
    if (this.line && this.#line.size >= this.line.max) throw new TooManyAtOnce(this.line.refusal);
    return new Promise((resolve, reject) => {
      const end = (refusal?: Unavailable) => {
        clearTimeout(late);
        this.#line.delete(end);
        if (refusal) reject(refusal);
        else resolve();
      };
      const giveUp = () => end(new Unavailable("busy"));
      const late = patienceMs === undefined ? undefined : setTimeout(giveUp, patienceMs);
      this.#line.add(end);
    });
  }

  leave(): void {
    const [next] = this.#line;
    // The place goes straight to the next in the line, so that a newcomer cannot take it first.
    if (next) next();
    else this.#free++;
  }

  /** Sends all away who wait. */
  refuse(why: WhyUnavailable): void {
    for (const end of this.#line) end(new Unavailable(why));
  }
}

/** Ends the wait of one in the line: by their turn, or by a refusal. */
type Waiting = (refusal?: Unavailable) => void;
