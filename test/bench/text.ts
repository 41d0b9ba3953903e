/** Numbers from 0 to 1 that look random but are the same in every run. */
export type Chance = () => number;

/** The numbers for one purpose, independent of those for any other (mulberry32). */
export function chanceOf(kind: number, index: number): Chance {
  let state = Math.imul(kind, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export const whole = (chance: Chance, below: number): number => Math.floor(chance() * below);

export function oneOf<T>(chance: Chance, choices: readonly T[]): T {
  const choice = choices[whole(chance, choices.length)];
  if (choice === undefined) throw new RangeError("There is nothing to choose from.");
  return choice;
}

const FUNCTION_WORDS = `the of to and a in is it for that on with as this be by are not or from an when at which if can
  but has was then all will each so after only before into than must may its should while does where once now same`;

const SUBJECT_WORDS = `request server cache query client error retry timeout index connection table token release build
  test queue worker lock memory thread schema migration transaction deploy container cluster proxy header socket
  stream buffer parser compiler package version branch commit merge review pipeline artifact secret certificate key
  session cookie redirect route handler middleware endpoint payload response body limit budget quota window counter
  metric trace log alert dashboard latency throughput load backup restore snapshot replica shard partition leader
  follower election heartbeat backoff jitter circuit breaker fallback default option flag config variable environment
  file folder path disk volume mount permission user group role policy scope tenant account invoice payment webhook
  event message topic consumer producer offset batch stage task schedule trigger hook callback promise signal process
  exit crash panic stack heap leak garbage collector pool driver adapter statement cursor row column constraint
  foreign unique check view function trait interface class module import export type generic enum union value
  object array list map set tree graph node edge path cycle depth sort filter search rank score match pattern regex
  unicode encoding locale format date clock zone interval duration deadline rate upload download archive checksum
  hash digest signature cipher nonce salt random seed sample fixture mock stub assertion coverage regression
  benchmark profile flame hotspot bottleneck optimisation refactor rename upgrade downgrade patch rollback canary`;

const VOCABULARY_SIZE = 12_000;

/** Words by frequency: function words, words of the field, then invented names. */
const VOCABULARY: readonly string[] = makeVocabulary();

function makeVocabulary(): string[] {
  const words = new Set([...FUNCTION_WORDS.split(/\s+/), ...SUBJECT_WORDS.split(/\s+/)]);
  const chance = chanceOf(1, 0);
  const onsets = [
    "b",
    "br",
    "c",
    "cl",
    "d",
    "f",
    "g",
    "gr",
    "h",
    "k",
    "l",
    "m",
    "n",
    "p",
    "pr",
    "r",
    "s",
    "st",
    "t",
    "v",
    "z",
  ];
  const vowels = ["a", "e", "i", "o", "u", "ai", "ou"];
  const codas = ["", "l", "m", "n", "r", "s", "x", "nd", "rk"];
  while (words.size < VOCABULARY_SIZE) {
    const syllables = Array.from({ length: 2 + whole(chance, 2) }, () => oneOf(chance, onsets) + oneOf(chance, vowels));
    words.add(syllables.join("") + oneOf(chance, codas));
  }
  return [...words];
}

/** The share of all text that words up to each rank make up: rank n is 1/n as common as the first (Zipf). */
const SHARES: readonly number[] = makeShares();

function makeShares(): number[] {
  let sum = 0;
  const sums = VOCABULARY.map((_, rank) => (sum += 1 / (rank + 3)));
  return sums.map((share) => share / sum);
}

/** The rank of the word at which this share of all text is reached. */
function rankAt(share: number): number {
  let [low, high] = [0, SHARES.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((SHARES[middle] ?? 1) < share) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A word drawn by its share of all text, from those rarer than the `rarer` most common ones. */
function word(chance: Chance, rarer = 0): string {
  const skipped = rarer === 0 ? 0 : (SHARES[rarer - 1] ?? 0);
  return VOCABULARY[rankAt(skipped + chance() * (1 - skipped))] ?? "";
}

/** The first word that is not a function word. */
const FIRST_SUBJECT = FUNCTION_WORDS.split(/\s+/).length;

/** Words with a meaning of their own, as in a title or a tag. */
export const subjectWords = (chance: Chance, count: number): string[] =>
  Array.from({ length: count }, () => word(chance, FIRST_SUBJECT));

/** Words with a meaning of their own by frequency: this many, after the first ones. */
export const wordsByFrequency = (count: number, after = 0): string[] =>
  VOCABULARY.slice(FIRST_SUBJECT + after, FIRST_SUBJECT + after + count);

/** Sentences with this many words in all. */
export function prose(chance: Chance, words: number): string {
  const sentences: string[] = [];
  for (let left = words; left > 0;) {
    const length = Math.min(left, 6 + whole(chance, 9));
    sentences.push(`${capital(Array.from({ length }, () => word(chance)).join(" "))}.`);
    left -= length;
  }
  return sentences.join(" ");
}

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const ranks = new Map(VOCABULARY.map((known, rank) => [known, rank]));

/** The words of a text that are rarer than the `rarer` most common words with a meaning of their own. */
export const rareWords = (text: string, rarer: number): string[] =>
  (text.toLowerCase().match(/[a-z]+/g) ?? []).filter((known) => (ranks.get(known) ?? 0) >= FIRST_SUBJECT + rarer);
