import { Unavailable } from "../operation/failure.js";

/** A body whose bytes are counted. */
export interface HeldBody {
  /** Counts bytes before they take memory. @throws Unavailable when all bodies together would take too much. */
  take(bytes: number): void;
  /** It has arrived, so it is refused no longer. */
  complete(): void;
  /** Gives back what it took, and takes nothing any more. */
  free(): void;
}

/** The unfinished bodies of one account: how to refuse each, oldest first, and what they take together. */
interface Unfinished {
  readonly refusals: Set<() => void>;
  bytes: number;
}

/**
 * The memory of all bodies together. When it is used up, an unfinished body is refused: the oldest one of the account
 * whose unfinished bodies take the most. So whoever sends slowly keeps nobody else from sending.
 */
export class Bodies {
  readonly #bytesMax: number;
  #bytes = 0;
  /** By account: those of all could be ten thousand, too many to look at for each that comes. */
  readonly #unfinished = new Map<string, Unfinished>();

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Begins to count a body. `refuse` is called at most once, and only until the body is complete. */
  begin(account: string, refuse: (failure: Unavailable) => void): HeldBody {
    let [held, isOver] = [0, false];
    const complete = () => {
      const own = this.#unfinished.get(account);
      if (!own?.refusals.delete(refuseThis)) return;
      own.bytes -= held;
      if (own.refusals.size === 0) this.#unfinished.delete(account);
    };
    const free = () => {
      isOver = true;
      complete();
      this.#bytes -= held;
      held = 0;
    };
    const refuseThis = () => {
      free();
      refuse(new Unavailable("overloaded"));
    };
    const take = (bytes: number) => {
      // It was refused, or its client has gone, while it was decompressed.
      if (isOver) return;
      this.#makeRoom(account, bytes);
      const own = this.#unfinished.get(account) ?? { refusals: new Set(), bytes: 0 };
      this.#unfinished.set(account, own);
      own.refusals.add(refuseThis);
      own.bytes += bytes;
      held += bytes;
      this.#bytes += bytes;
    };
    return { take, complete, free };
  }

  #makeRoom(account: string, bytes: number): void {
    while (this.#bytes + bytes > this.#bytesMax) {
      const [refuseOldest] = this.#largest(account, bytes)?.refusals ?? [];
      if (!refuseOldest) throw new Unavailable("overloaded");
      refuseOldest();
    }
  }

  /** Undefined if the account itself would have the most. */
  #largest(account: string, bytes: number): Unfinished | undefined {
    const own = (this.#unfinished.get(account)?.bytes ?? 0) + bytes;
    let largest: Unfinished | undefined;
    for (const unfinished of this.#unfinished.values()) {
      if (unfinished.bytes >= own && (!largest || unfinished.bytes > largest.bytes)) largest = unfinished;
    }
    return largest;
  }
}
