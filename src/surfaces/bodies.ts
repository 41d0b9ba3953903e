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

/** For a body that is short, and forgotten at once. */
export const UNCOUNTED: HeldBody = { take() {}, complete() {}, free() {} };

interface Arriving {
  readonly account: string;
  bytes: number;
  refuse(): void;
}

/**
 * The memory of all bodies together. When it is used up, an unfinished body is refused: the oldest one of the account
 * whose unfinished bodies take the most. So whoever sends slowly keeps nobody else from sending.
 */
export class Bodies {
  readonly #bytesMax: number;
  #bytes = 0;
  readonly #arriving = new Set<Arriving>();

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Begins to count a body. `refuse` is called at most once, and only until the body is complete. */
  begin(account: string, refuse: (failure: Unavailable) => void): HeldBody {
    let isOver = false;
    const free = () => {
      isOver = true;
      this.#arriving.delete(body);
      this.#bytes -= body.bytes;
      body.bytes = 0;
    };
    const body: Arriving = {
      ...{ account, bytes: 0 },
      refuse() {
        free();
        refuse(new Unavailable("overloaded"));
      },
    };
    this.#arriving.add(body);
    return {
      take: (bytes) => {
        // It was refused, or its client has gone, while it was decompressed.
        if (isOver) return;
        this.#makeRoom(account, bytes);
        body.bytes += bytes;
        this.#bytes += bytes;
      },
      complete: () => void this.#arriving.delete(body),
      free,
    };
  }

  #makeRoom(account: string, bytes: number): void {
    while (this.#bytes + bytes > this.#bytesMax) {
      const oldest = this.#oldestOfLargest(account, bytes);
      if (!oldest) throw new Unavailable("overloaded");
      oldest.refuse();
    }
  }

  /** Undefined if the account itself would have the most. */
  #oldestOfLargest(account: string, bytes: number): Arriving | undefined {
    const sums = new Map<string, number>();
    for (const body of this.#arriving) sums.set(body.account, (sums.get(body.account) ?? 0) + body.bytes);
    const own = (sums.get(account) ?? 0) + bytes;
    sums.delete(account);
    const most = Math.max(...sums.values());
    if (most < own) return undefined;
    for (const body of this.#arriving) if (body.bytes > 0 && sums.get(body.account) === most) return body;
    return undefined;
  }
}
