import { editDistance } from "../../../platform/edit-distance.js";

/** How many letters of a word may be wrong. */
function wrongLettersMax({ length }: string): number {
  if (length <= 6) return 1;
  return length <= 10 ? 2 : 3;
}

const ALPHABETS = ["abcdefghijklmnopqrstuvwxyz", "абвгдежзиклмнопрстуфхцчшщъыьэюя"];

/**
 * Spellings near to a word: with two neighbouring letters swapped, or with one letter left out. They are looked up as
 * whole words, so they may have another first letter.
 */
export function nearSpellings(word: string): string[] {
  const letters = [...word];
  const swapped = letters
    .slice(1)
    .map((letter, place) => [...letters.slice(0, place), letter, letters[place], ...letters.slice(place + 2)].join(""));
  const shortened = letters.map((_, place) => [...letters.slice(0, place), ...letters.slice(place + 1)].join(""));
  return [...new Set([...swapped, ...shortened, ...nearBeginnings(letters)])].filter((other) => other !== word);
}

/** With one of the first two letters replaced or left out: known words are compared only if they begin with the same. */
function nearBeginnings([first = "", second = "", ...rest]: readonly string[]): string[] {
  if (rest.length < 3) return [];
  const alphabet = ALPHABETS.find((letters) => letters.includes(first)) ?? "";
  const end = rest.join("");
  return Array.from(alphabet).flatMap((letter) => [
    letter + second + end,
    first + letter + end,
    letter + first + second + end,
    first + letter + second + end,
  ]);
}

/** The least length of each part when a word is split in two, and of the longer part. */
const PART_LENGTH_MIN = 2;
const LONGER_PART_LENGTH_MIN = 3;

/**
 * Ways to split a word into several: "featureflag" into two words, "webhooks" also into "web" and "hook", "pg16" into
 * letters and digits, "hl7v2" also into two parts of these, "80000" into the groups of "80,000" or "80 000", "60x120"
 * into the numbers of "60 × 120".
 */
export function splitWord(word: string): string[][] {
  if (/^\d{4,12}$/.test(word)) return [word.split(/(?=(?:\d{3})+$)/)];
  const runs = word.match(/\d+|\D+/g) ?? [];
  if (/^[1-9]\d+x\d{2,}$/.test(word)) return [runs, word.split("x")];
  if (runs.length > 1) return [runs, ...(runs.length > 2 ? halvesOf(runs) : [])];
  const halves = halvesOf([...word]);
  const linked = halves.flatMap(([first = "", last = ""]) => (/..s$/.test(first) ? [[first.slice(0, -1), last]] : []));
  const singular = /..[^s]s$/.test(word) ? halves.map(([first = "", last = ""]) => [first, last.slice(0, -1)]) : [];
  return [...halves, ...linked, ...singular].filter((halves) => {
    const lengths = halves.map((half) => [...half].length);
    return Math.min(...lengths) >= PART_LENGTH_MIN && Math.max(...lengths) >= LONGER_PART_LENGTH_MIN;
  });
}

/** What a number in groups may be: of a phone, card, account or parcel, with a few letters at most. */
const NUMBER = /^(?=(?:\D*\d){5})(?!(?:\d*\D){7})[\p{L}\d]{6,28}$/u;
const GROUP_LENGTHS = [2, 3, 4, 5, 6, 7, 8];
/** How many ways to group a number are tried: known groups may fit by chance. */
const GROUPINGS_MAX = 6;

/** The groups of which a number such as "4111111111111111" may consist where people write "4111 1111 1111 1111". */
export const groupsOf = (word: string): string[] =>
  NUMBER.test(word)
    ? [...word].flatMap((_, start) =>
        GROUP_LENGTHS.filter((length) => start + length <= word.length && length < word.length).map((length) =>
          word.slice(start, start + length),
        ),
      )
    : [];

/** Ways to write a number in known groups, likely ones first: those with few groups, of the same length. */
export function groupNumber(word: string, isKnown: (group: string) => boolean): string[][] {
  if (!NUMBER.test(word)) return [];
  // For each place, the best ways to group what follows.
  const ways: GroupedNumber[][] = Array.from(word, () => []);
  ways[word.length] = [{ groups: [], unlikeliness: 0 }];
  for (let start = word.length - 2; start >= 0; start--) {
    const found = GROUP_LENGTHS.flatMap((length) => {
      const rest = length < word.length ? (ways[start + length] ?? []) : [];
      const group = word.slice(start, start + length);
      return rest.length > 0 && isKnown(group) ? rest.map((others) => groupBefore(group, others)) : [];
    });
    ways[start] = found.toSorted((one, other) => one.unlikeliness - other.unlikeliness).slice(0, GROUPINGS_MAX);
  }
  return (ways[0] ?? []).map(({ groups }) => [...groups]);
}

interface GroupedNumber {
  readonly groups: readonly string[];
  /** How many groups there are, and how many are not as long as the next one. */
  readonly unlikeliness: number;
}

function groupBefore(group: string, { groups, unlikeliness }: GroupedNumber): GroupedNumber {
  const isAlike = groups[0] === undefined || groups[0].length === group.length;
  return { groups: [group, ...groups], unlikeliness: unlikeliness + (isAlike ? 1 : 2) };
}

/** Stop words of English that are written together with a neighbour by mistake; the index does not have them. */
const STOP_WORD = "(?:the|and|for|with|from|not|when|all|our|are|was|has|had|can|this|that|into|your|will|does)";
const AFTER_STOP_WORD = new RegExp(`^${STOP_WORD}(\\p{L}{4,})$`, "u");
const BEFORE_STOP_WORD = new RegExp(`^(\\p{L}{4,})${STOP_WORD}$`, "u");
/** Nouns made of a verb and such a word: "setup", "timeouts". */
const BEFORE_PARTICLE = /^(\p{L}{3,})(?:up|out|in|off|over|down)s?$/u;

/**
 * What is left of a word that begins or ends with a stop word, such as "notallowed" or "setup". It is one of the parts
 * of `splitWord`.
 */
export const splitFromStopWord = (word: string): string[][] =>
  [AFTER_STOP_WORD, BEFORE_STOP_WORD, BEFORE_PARTICLE].flatMap((form) => {
    const rest = form.exec(word)?.[1];
    return rest === undefined ? [] : [[rest]];
  });

/** The least length of a word of which one part is enough, of this part, and of the other. */
const PARTLY_KNOWN_LENGTH_MIN = 10;
const KNOWN_PART_LENGTH_MIN = 5;
const OTHER_PART_LENGTH_MIN = 4;

/** The longest known word of at least half of a long one that begins or ends with it: "flughafen" in "flughafenbetrieb". */
export function knownPartOf(word: string, isKnown: (part: string) => boolean): string[][] {
  if (!/^\p{L}+$/u.test(word) || word.length < PARTLY_KNOWN_LENGTH_MIN) return [];
  const least = Math.max(KNOWN_PART_LENGTH_MIN, word.length / 2);
  const parts = splitWord(word)
    .filter((halves) => halves.every(({ length }) => length >= OTHER_PART_LENGTH_MIN))
    .flat()
    .filter((part) => part.length >= least && isKnown(part));
  const longest = Math.max(0, ...parts.map(({ length }) => length));
  return parts.filter(({ length }) => length === longest).map((part) => [part]);
}

/** The least length of each part when a word is split in three. */
const THIRD_LENGTH_MIN = 3;

/** Ways to split a word into three, such as "openapiserver": those whose first and last parts are known. */
export function splitInThree(word: string, isKnown: (part: string) => boolean): string[][] {
  if (!/^\p{L}+$/u.test(word)) return [];
  const halves = halvesOf([...word]);
  const firsts = halves.filter(([first = ""]) => first.length >= THIRD_LENGTH_MIN && isKnown(first));
  const lasts = halves.filter(([, last = ""]) => last.length >= THIRD_LENGTH_MIN && isKnown(last));
  return firsts.flatMap(([first = ""]) =>
    lasts
      .map(([beforeLast = "", last = ""]) => [first, beforeLast.slice(first.length), last])
      .filter(([, middle = ""]) => middle.length >= THIRD_LENGTH_MIN),
  );
}

const halvesOf = (parts: readonly string[]): string[][] =>
  parts.slice(1).map((_, place) => [parts.slice(0, place + 1).join(""), parts.slice(place + 1).join("")]);

/** How many characters of a hash people write: seven is Git's least, twelve Docker's. */
const SHORT_HASH_LENGTHS = [7, 8, 9, 10, 11, 12];

/** The short forms of a hash such as that of a commit; none for other words. */
const shortHashes = (word: string): string[] =>
  /^(?=.*\d)(?=.*[a-f])[\da-f]{8,128}$/.test(word)
    ? SHORT_HASH_LENGTHS.filter((length) => length < word.length).map((length) => word.slice(0, length))
    : [];

/** Other ways to write a hash or a number in base 16: short, or with "0x" before it and without. */
export const otherHexForms = (word: string): string[] => {
  if (/^0x[\da-f]{3,16}$/.test(word)) return [word.slice(2)];
  return [...shortHashes(word), ...(/^(?=.*\d)[\da-f]{4,16}$/.test(word) ? [`0x${word}`] : [])];
};

/** The least length of a word that may have more wrong letters than those at its beginning. */
const WRONGLY_BEGUN_LENGTH_MIN = 7;

/**
 * A word with one of the first two letters left out, or both swapped. Known words that begin like these are compared
 * with it, so that "apgniation", with two errors, finds "pagination".
 */
export function otherBeginnings(word: string): string[] {
  const [first = "", second = "", ...rest] = word;
  if (!/^\p{L}+$/u.test(word) || word.length < WRONGLY_BEGUN_LENGTH_MIN) return [];
  const end = rest.join("");
  return [second + first + end, second + end, first + end].filter((other) => other.slice(0, 2) !== first + second);
}

/** The same with any other first letter and the next three as they are: "xonsuer", with two errors, is "consumer". */
export function otherFirstLetters(word: string): string[] {
  const [first = ""] = word;
  const alphabet = ALPHABETS.find((letters) => letters.includes(first));
  if (!alphabet || !/^\p{L}+$/u.test(word) || word.length < WRONGLY_BEGUN_LENGTH_MIN) return [];
  return Array.from(alphabet.replace(first, ""), (letter) => letter + word.slice(1, 4));
}

/** The known words that a misspelt one may stand for: those with the fewest wrong letters. */
export function closestWords<Known extends { readonly word: string }>(
  word: string,
  candidates: readonly Known[],
): Known[] {
  const measured = candidates.map((candidate) => ({
    candidate,
    // The beginning of a misspelt word is mostly right.
    wrong: editDistance(word, candidate.word) + (candidate.word.startsWith(word.slice(0, 3)) ? 0 : 0.5),
  }));
  const close = measured.filter(({ wrong }) => Math.floor(wrong) <= wrongLettersMax(word));
  const fewest = Math.min(...close.map(({ wrong }) => wrong));
  return close.filter(({ wrong }) => wrong === fewest).map(({ candidate }) => candidate);
}

/** The same; if there are none, words that are a part of it, or that it is a part of. */
export function nearestWords<Known extends { readonly word: string }>(
  word: string,
  candidates: readonly Known[],
): Known[] {
  const closest = closestWords(word, candidates);
  if (closest.length > 0) return closest;
  // A part of a longer name, such as "pullbackoff" of "imagepullbackoff"; words that it begins are looked up
  // separately.
  return candidates.filter(
    ({ word: other }) =>
      word.length >= 5 &&
      !other.startsWith(word) &&
      (other.includes(word) || (other.length >= 5 && word.includes(other))),
  );
}
