/**
 * How many letters must be added, left out, replaced or swapped with their neighbour to make one word of the other
 * (optimal string alignment). Words are at most 40 letters long.
 */
function editDistance(one: string, other: string): number {
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

/** How many letters of a word may be wrong. */
const wrongLettersMax = (word: string): number => (word.length <= 6 ? 1 : word.length <= 10 ? 2 : 3);

/**
 * A word with each two neighbouring letters swapped, and with each letter left out. Looked up whole, so they need not
 * begin alike.
 */
export function nearSpellings(word: string): string[] {
  const letters = [...word];
  const swapped = letters
    .slice(1)
    .map((letter, place) => [...letters.slice(0, place), letter, letters[place], ...letters.slice(place + 2)].join(""));
  const shortened = letters.map((_, place) => [...letters.slice(0, place), ...letters.slice(place + 1)].join(""));
  return [...new Set([...swapped, ...shortened])].filter((other) => other !== word);
}

/** The known words that a misspelt one may have been meant to be: those with the fewest wrong letters. */
export function nearestWords<Known extends { readonly word: string }>(
  word: string,
  candidates: readonly Known[],
): Known[] {
  const measured = candidates.map((candidate) => ({
    candidate,
    // Who misspells a word mostly begins it rightly.
    wrong: editDistance(word, candidate.word) + (candidate.word.startsWith(word.slice(0, 3)) ? 0 : 0.5),
  }));
  const close = measured.filter(({ wrong }) => Math.floor(wrong) <= wrongLettersMax(word));
  const fewest = Math.min(...close.map(({ wrong }) => wrong));
  const best = close.filter(({ wrong }) => wrong === fewest).map(({ candidate }) => candidate);
  if (best.length > 0) return best;
  // A part of a longer name, such as "pullbackoff" of "imagepullbackoff"; what it begins is looked up by itself.
  return candidates.filter(
    ({ word: other }) =>
      word.length >= 5 &&
      !other.startsWith(word) &&
      (other.includes(word) || (other.length >= 5 && word.includes(other))),
  );
}
