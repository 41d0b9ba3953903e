/**
 * The decisions of a command, drawn as numbers ahead of time and mapped to the model when the command runs, because
 * a team's members, for example, are not known before. Zero is always the simplest choice: fast-check shrinks to it.
 */
export class Draw {
  #next = 0;

  constructor(private readonly numbers: readonly number[]) {}

  /** A number from 0 to `below` - 1. */
  number(below: number): number {
    return (this.numbers[this.#next++] ?? 0) % Math.max(1, below);
  }

  /** One of these; the first is the simplest. */
  one<Item>(items: readonly [Item, ...Item[]]): Item;
  one<Item>(items: readonly Item[]): Item | undefined;
  one<Item>(items: readonly Item[]): Item | undefined {
    return items[this.number(items.length)];
  }

  /** True once in this many times. */
  once(inTimes: number): boolean {
    return this.number(inTimes) === inTimes - 1;
  }

  /** Some of these, at least one. */
  some<Item>(items: readonly Item[]): Item[] {
    const mask = this.number(1 << items.length);
    const chosen = items.filter((_item, index) => mask & (1 << index));
    return chosen.length > 0 ? chosen : items.slice(0, 1);
  }
}
