/**
 * Begins work in the order in which it comes. Each turn of the event loop begins only what fits into `turnMs`, then one
 * piece a turn, so that health checks are answered in between, however much comes at once.
 */
export class Turns {
  readonly #turnMs: number;
  #isOpen = false;
  #endsAt = 0;
  #waiting: Array<() => void> = [];

  constructor(turnMs: number) {
    this.#turnMs = turnMs;
  }

  /** In this turn, or in one to come. */
  begin(work: () => void): void {
    const now = performance.now();
    if (!this.#isOpen) {
      this.#isOpen = true;
      this.#endsAt = now + this.#turnMs;
      setImmediate(this.#next);
    }
    if (this.#waiting.length === 0 && now < this.#endsAt) work();
    else this.#waiting.push(work);
  }

  /** Of what waits one piece a turn: what it leads to at once belongs to the same turn. */
  readonly #next = (): void => {
    const work = this.#waiting.shift();
    this.#isOpen = work !== undefined;
    if (!work) return;
    setImmediate(this.#next);
    work();
  };
}
