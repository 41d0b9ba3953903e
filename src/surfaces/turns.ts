/**
 * Lets requests arrive, starts their work in turn for each account, and splits long work into pieces. Each turn of the
 * event loop does only what fits into `turnMs`, and pieces get half of that after large work, so that health checks are
 * answered in between, even under heavy load.
 */
export class Turns {
  readonly #turnMs: number;
  #isOpen = false;
  /** Whether the turn in which it was opened goes on. */
  #isFirst = false;
  #endsAt = 0;
  #isResuming = false;
  #isHeld = false;
  /** Requests whose heads have arrived, and that have not begun. */
  readonly #arrivals: Array<() => void> = [];
  /** Work that has not begun, by its account. Accounts take turns, so that one with much work delays others little. */
  readonly #waiting = new Map<string, Array<() => void>>();
  /** Waiting pieces by account and by their owner. Accounts take turns, and so do the owners of each. */
  readonly #pieces = new Map<string, Map<object, Array<() => void>>>();

  constructor(turnMs: number) {
    this.#turnMs = turnMs;
  }

  /**
   * Begins a request in this turn of the event loop or in a later one, up to its body: nobody knows yet whose it is.
   * Up to half of each turn is for this: it is little work, and would otherwise wait behind the large work of accounts.
   */
  arrive(work: () => void): void {
    if (this.#arrivals.length === 0 && this.#hasTime() && !this.#isHeld) return work();
    this.#arrivals.push(work);
  }

  /** Runs `work` of an account in this turn of the event loop or in a later one. */
  begin(work: () => void, account = ""): void {
    if (this.#waiting.size === 0 && this.#hasTime() && !this.#isHeld) return work();
    const waiting = this.#waiting.get(account);
    if (waiting) waiting.push(work);
    else this.#waiting.set(account, [work]);
  }

  /** Begins no work until the returned function is called; pieces of begun work go on. */
  hold(): () => void {
    this.#isHeld = true;
    return () => void (this.#isHeld = false);
  }

  /**
   * Call it before each of many pieces of work: it settles in this turn or in a later one. `owner` is any object that
   * identifies the whole work, so that small work overtakes large. `onTurn` is called first.
   */
  waitForTurn(owner: object, account = "", onTurn?: () => void): Promise<void> {
    const owners = this.#pieces.get(account) ?? new Map<object, Array<() => void>>();
    this.#pieces.set(account, owners);
    const pieces = owners.get(owner) ?? [];
    owners.set(owner, pieces);
    if (this.#hasTime() && !this.#isResuming) void this.#resumePieces();
    return new Promise((resume) => {
      pieces.push(() => {
        onTurn?.();
        resume();
      });
    });
  }

  #hasTime(): boolean {
    const now = performance.now();
    if (!this.#isOpen) {
      this.#isOpen = true;
      this.#isFirst = true;
      this.#endsAt = now + this.#turnMs;
      setImmediate(this.#next);
    }
    return now < this.#endsAt;
  }

  readonly #next = (): void => {
    this.#isOpen = this.#arrivals.length > 0 || this.#waiting.size > 0 || this.#pieces.size > 0;
    if (!this.#isOpen) return;
    setImmediate(this.#next);
    // Requests arrive before the immediates of the same turn, in which they must not get its time once more.
    const isSame = this.#isFirst;
    this.#isFirst = false;
    if (isSame) return;
    this.#endsAt = performance.now() + this.#turnMs;
    void this.#continue();
  };

  /**
   * Starts at least one arrival and one piece of waiting work, then resumes pieces. The microtasks of each belong to its
   * turn, so they are awaited before the next one starts: much small work fits into a turn, and only one that is large.
   */
  async #continue(): Promise<void> {
    do {
      const arrival = this.#isHeld ? undefined : this.#arrivals.shift();
      if (!arrival) break;
      arrival();
      await new Promise<void>(process.nextTick);
    } while (performance.now() < this.#endsAt - this.#turnMs / 2);
    do {
      const work = this.#isHeld ? undefined : nextOf(this.#waiting);
      if (!work) break;
      work();
      await new Promise<void>(process.nextTick);
    } while (performance.now() < this.#endsAt);
    // With one piece in each such turn, an answer of a hundred small ones would take seconds.
    if (!this.#isResuming) void this.#resumePieces(Math.max(this.#endsAt, performance.now() + this.#turnMs / 2));
  }

  /**
   * Resumes at least one piece. A piece runs in microtasks, so each is awaited before the next: thousands resumed
   * together would all run in one turn, however long that takes.
   */
  async #resumePieces(endsAt = this.#endsAt): Promise<void> {
    this.#isResuming = true;
    for (const [account, owners] of this.#pieces) {
      await Promise.resolve();
      nextOf(owners)?.();
      // Moves the account behind all others.
      this.#pieces.delete(account);
      if (owners.size > 0) this.#pieces.set(account, owners);
      await Promise.resolve();
      if (performance.now() >= endsAt) break;
    }
    this.#isResuming = false;
  }
}

/** The first work of the lane that has waited longest since its last turn; moves that lane behind all others. */
function nextOf<Name>(lanes: Map<Name, Array<() => void>>): (() => void) | undefined {
  const [lane] = lanes;
  if (!lane) return undefined;
  const [name, waiting] = lane;
  const work = waiting.shift();
  lanes.delete(name);
  if (waiting.length > 0) lanes.set(name, waiting);
  return work;
}
