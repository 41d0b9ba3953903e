/**
 * Begins work in the order in which it comes, and lets work that has begun go on in pieces. Each turn of the event loop
 * does only what fits into `turnMs`, so that health checks are answered in between, however much comes at once.
 */
export class Turns {
  readonly #turnMs: number;
  #isOpen = false;
  #endsAt = 0;
  #isResuming = false;
  #waiting: Array<() => void> = [];
  /** Pieces of work that has begun, by whose they are: all go on in turn, so that small work overtakes large. */
  readonly #pieces = new Map<object, Array<() => void>>();

  constructor(turnMs: number) {
    this.#turnMs = turnMs;
  }

  /** In this turn, or in one to come. */
  begin(work: () => void): void {
    if (this.#waiting.length === 0 && this.#hasTime()) work();
    else this.#waiting.push(work);
  }

  /**
   * Asked before each of many pieces of work: settles in this turn or in one to come. `whose` is any object that stands
   * for all of the work.
   */
  goOn(whose: object): Promise<void> {
    const pieces = this.#pieces.get(whose) ?? [];
    this.#pieces.set(whose, pieces);
    if (this.#hasTime() && !this.#isResuming) void this.#resumePieces();
    return new Promise((resume) => void pieces.push(resume));
  }

  #hasTime(): boolean {
    const now = performance.now();
    if (!this.#isOpen) {
      this.#isOpen = true;
      this.#endsAt = now + this.#turnMs;
      setImmediate(this.#next);
    }
    return now < this.#endsAt;
  }

  /** Of what waits to begin one a turn: what it leads to at once belongs to the same turn. */
  readonly #next = (): void => {
    const work = this.#waiting.shift();
    this.#isOpen = work !== undefined || this.#pieces.size > 0;
    if (!this.#isOpen) return;
    this.#endsAt = performance.now() + this.#turnMs;
    setImmediate(this.#next);
    work?.();
    if (!this.#isResuming) void this.#resumePieces();
  };

  /**
   * One at least. What comes of a piece is done in microtasks, so each is waited for before the next: thousands that
   * went on at once would be done in one turn, however long that takes.
   */
  async #resumePieces(): Promise<void> {
    this.#isResuming = true;
    for (const [whose, pieces] of this.#pieces) {
      await Promise.resolve();
      pieces.shift()?.();
      // Behind all others.
      this.#pieces.delete(whose);
      if (pieces.length > 0) this.#pieces.set(whose, pieces);
      await Promise.resolve();
      if (performance.now() >= this.#endsAt) break;
    }
    this.#isResuming = false;
  }
}
