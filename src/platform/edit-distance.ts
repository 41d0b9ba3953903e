/**
 * How many letters must be added, removed, replaced or swapped with their neighbour to turn one word into the other
 * (optimal string alignment). Takes time in the product of the lengths without what both begin and end with, so callers
 * limit them.
 */
export function editDistance(one: string, other: string): number {
  const [from, to] = withoutSameEnds([...one], [...other]);
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

function withoutSameEnds(one: readonly string[], other: readonly string[]): [readonly string[], readonly string[]] {
  const shorter = Math.min(one.length, other.length);
  let begin = 0;
  while (begin < shorter && one[begin] === other[begin]) begin++;
  let end = 0;
  while (end < shorter - begin && one.at(-1 - end) === other.at(-1 - end)) end++;
  return [one.slice(begin, one.length - end), other.slice(begin, other.length - end)];
}
