/**
 * How many letters must be added, removed, replaced or swapped with their neighbour to turn one word into the other
 * (optimal string alignment). Takes time in the product of the lengths, so callers limit them.
 */
export function editDistance(one: string, other: string): number {
  const [from, to] = [[...one], [...other]];
  let before: number[] = [];
  let last = to.map((_, place) => place + 1);
  last.unshift(0);
  for (let row = 1; row <= from.length; row++) {
    const now = [row];
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1];
      const replaced = (last[column - 1] ?? 0) + (isSame ? 0 : 1);
      let best = Math.min(replaced, (last[column] ?? 0) + 1, (now[column - 1] ?? 0) + 1);
      const isSwapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (isSwapped) best = Math.min(best, (before[column - 2] ?? 0) + 1);
      now.push(best);
    }
    [before, last] = [last, now];
  }
  return last[to.length] ?? 0;
}
