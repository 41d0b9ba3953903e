import { fold } from "./fold.js";

/**
 * Prefixes and endings that a language attaches to words. For English, the index has a stemmer. The languages below are
 * recognised by their script alone, and their stems would need an index of their own. So a word is looked up in all
 * forms that it may have.
 */
interface Grammar {
  readonly script: RegExp;
  readonly before: readonly string[];
  readonly behind: readonly string[];
  /** How many letters a stem has at least. */
  readonly least: number;
}

const affixes = (words: string): string[] => ["", ...fold(words).split(/\s+/).filter(Boolean)];

const GRAMMARS: readonly Grammar[] = [
  {
    script: /^\p{Script=Arabic}+$/u,
    before: affixes("ال و وال ب بال ل لل"),
    behind: affixes("ه ات ين ون ي يه ها ا"),
    least: 3,
  },
  {
    script: /^\p{Script=Hebrew}+$/u,
    before: affixes("ה ו וה ב ל מ ש"),
    behind: affixes("ה ת ים ות י ית"),
    least: 3,
  },
  {
    script: /^\p{Script=Cyrillic}+$/u,
    before: [""],
    behind: affixes(
      `а я о е ы и і у ю ь еи ои ом ем ам ям ами ями ах ях ов ев ів ія ії ію ия ии ию ие ием иями иях
       ая яя ое ее ого его ому ему ым им ых их ую юю ыи ии ими ыми`,
    ),
    least: 4,
  },
  {
    script: /^\p{Script=Greek}+$/u,
    before: [""],
    behind: affixes(
      "α ας ες ων η ης εις εων εως ο ος ου οι ους ε ατα ατος ματα ματος ω ει ουμε ετε ουν εται ονται ηκε ηκαν",
    ),
    least: 4,
  },
  {
    script: /^[\p{Script=Devanagari}\p{M}]+$/u,
    before: [""],
    behind: affixes("ा े ी ि ो ों ें ियाँ ियां ियों ाएँ ाएं ाओं एँ एं ओं"),
    least: 3,
  },
];

/** Hebrew letters as they are written at the end of a word, and the same letters elsewhere. */
const LAST_LETTERS = [..."ךםןףץ"];
const INNER_LETTERS = [..."כמנפצ"];
const asLast = (word: string): string =>
  word.replace(/[כמנפצ]$/, (letter) => LAST_LETTERS[INNER_LETTERS.indexOf(letter)] ?? letter);
const asInner = (word: string): string =>
  word.replace(/[ךםןףץ]$/, (letter) => INNER_LETTERS[LAST_LETTERS.indexOf(letter)] ?? letter);

/** How many possible stems of a word are used: what looks like an article or an ending may be a part of the stem. */
const STEMS_MAX = 2;

/** Longer words have no other forms: nobody types them. */
const LENGTH_MAX = 40;

const grammarOf = (word: string): Grammar | undefined =>
  word.length > LENGTH_MAX ? undefined : GRAMMARS.find(({ script }) => script.test(word));

export const hasForms = (word: string): boolean => grammarOf(word) !== undefined;

/** The other forms that a word may have in texts, for the languages above; none for others. */
export function formsOf(word: string): ReadonlySet<string> {
  const grammar = grammarOf(word);
  if (!grammar) return new Set();
  const { before, behind, least } = grammar;
  const stems = before
    .filter((start) => word.startsWith(start))
    .map((start) => word.slice(start.length))
    .flatMap((rest) => behind.filter((end) => rest.endsWith(end)).map((end) => rest.slice(0, rest.length - end.length)))
    .filter((stem) => stem.length >= least)
    .map(asInner);
  // Longer stems are the shortest ones with a prefix or an ending, so they are among the forms.
  const shortest = [...new Set(stems)].toSorted((one, other) => one.length - other.length).slice(0, STEMS_MAX);
  const around = (stem: string) => before.flatMap((start) => behind.map((end) => asLast(start + stem + end)));
  return new Set(shortest.flatMap(around).filter((form) => form !== word));
}
