/**
 * What a command decides, drawn as numbers ahead of time and read off the model when the command runs: the list of a
 * team's members is not known before. Zero is the plainest choice everywhere, so fast-check shrinks towards it.
 */
export class Draw {
  #next = 0;

  constructor(private readonly numbers: readonly number[]) {}

  /** From 0 to `below` - 1. */
  number(below: number): number {
    return (this.numbers[this.#next++] ?? 0) % Math.max(1, below);
  }

  /** The first is the plainest. */
  one<Item>(items: readonly [Item, ...Item[]]): Item;
  one<Item>(items: readonly Item[]): Item | undefined;
  one<Item>(items: readonly Item[]): Item | undefined {
    return items[this.number(items.length)];
  }

  /** Once in so many times. */
  once(inTimes: number): boolean {
    return this.number(inTimes) === inTimes - 1;
  }

  /** Some of them, at least one. */
  some<Item>(items: readonly Item[]): Item[] {
    const mask = this.number(1 << items.length);
    const chosen = items.filter((_item, index) => mask & (1 << index));
    return chosen.length > 0 ? chosen : items.slice(0, 1);
  }
}
