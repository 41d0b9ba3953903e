/** How many names and times a process keeps, of each window length: about 60 MB. Beyond that the oldest are deleted. */
const NAMES_MAX = 100_000;
const TIMES_MAX = 1_000_000;

/** The times of uses in this process, by name, within a sliding window. */
export class UseLog {
  /** By window length. In each map the most recently used names come last. */
  readonly #byLength = new Map<number, Window>();

  /**
   * How many milliseconds before `now` each use of the window was, oldest first. Notes a use at `now` if there were
   * fewer than `limit`.
   */
  use(name: string, { limit, windowMs }: { limit: number; windowMs: number }, now: number): readonly number[] {
    const window = this.#byLength.get(windowMs) ?? newWindow();
    this.#byLength.set(windowMs, window);
    const known = window.names.get(name) ?? [];
    const before = known.filter((time) => time > now - windowMs);
    const times = before.length < limit ? [...before, now] : before;
    window.times += times.length - known.length;
    // Deleted and added again, so that the oldest come first.
    window.names.delete(name);
    window.names.set(name, times);
    removeOld(window, now - windowMs);
    return before.map((time) => now - time);
  }
}

interface Window {
  readonly names: Map<string, readonly number[]>;
  /** The number of stored times of all names together. */
  times: number;
  /**
   * Goes on where it was, from the oldest name to the newest one. A new iterator would step over the places of all
   * names deleted since the map last grew, which took ten times longer than everything else.
   */
  walk: MapIterator<[string, readonly number[]]>;
  /** Where the walk is. */
  oldest?: readonly [string, readonly number[]] | undefined;
}

function newWindow(): Window {
  const names = new Map<string, readonly number[]>();
  return { names, times: 0, walk: names.entries() };
}

function removeOld(window: Window, endedAt: number): void {
  const { names } = window;
  for (;;) {
    const oldest = (window.oldest ??= window.walk.next().value);
    if (!oldest) break;
    const [name, times] = oldest;
    // Otherwise it was used since, and comes again later.
    if (names.get(name) === times) {
      const isOver = (times.at(-1) ?? -Infinity) <= endedAt;
      if (!isOver && names.size <= NAMES_MAX && window.times <= TIMES_MAX) return;
      names.delete(name);
      window.times -= times.length;
    }
    window.oldest = undefined;
  }
  window.walk = names.entries();
}
