import { LIMITS } from "../../../limits.js";
import { UNSPACED } from "./fold.js";
import type { Piece } from "./piece.js";
import type { QueryWord } from "./query-word.js";
import {
  groupsOf,
  nearSpellings,
  otherBeginnings,
  otherFirstLetters,
  otherHexForms,
  splitInThree,
  splitWord,
} from "./spelling.js";
import type { AlikeWord, KnownPiece } from "./search-statements.js";
import { TYPE } from "./tsquery.js";
import { BEGINNING_LENGTH_MIN } from "./tuning.js";
import {
  type Alike,
  type Forms,
  type Known,
  hasSpellings,
  kinOf,
  mayBeMisspelt,
  fitsLexicon,
  splitsOf,
} from "./variants.js";

/** Reads the lexicon of a graph: the words that its memories have. */
export interface Lexicon {
  readonly words: (pieces: readonly Piece[]) => Promise<readonly KnownPiece[]>;
  readonly alike: (
    words: readonly string[],
    spellings: readonly string[],
    beginnings: readonly string[],
  ) => Promise<readonly AlikeWord[]>;
}

/** The word of the lexicon that counts the memories of the graph. */
export const EVERY_MEMORY = "";

/** The words of a query, and what is known of them. */
interface Asked {
  readonly words: readonly QueryWord[];
  readonly unknown: readonly QueryWord[];
  readonly begun: Piece | undefined;
  readonly known: Known;
  readonly signs: readonly string[];
  readonly forms: Forms;
  /** By which languages are recognised. */
  readonly languageWords: readonly string[];
}

/** The unknown words that are compared with those of the graph. */
const misspeltOf = (unknown: readonly QueryWord[]): QueryWord[] =>
  unknown.filter(mayBeMisspelt).slice(0, LIMITS.search.misspelt);

/** Looks up the words of the graph that may be meant: misspelt, begun, in other forms, or parts of a word. */
export async function findAlike(
  { words, unknown, begun, known, signs, forms, languageWords }: Asked,
  lexicon: Lexicon,
): Promise<readonly AlikeWord[]> {
  const misspelt = misspeltOf(unknown).map(({ text }) => text);
  const mayBegin = words.filter((word) => word.isLast || word.parts.length > 0 || unknown.includes(word));
  const beginnings = [...(begun ? [begun] : []), ...mayBegin]
    .map(({ text }) => text)
    .filter((text) => [...text].length >= BEGINNING_LENGTH_MIN || IS_UNSPACED.test(text));
  const kin = words.flatMap((word) => kinOf(word, known));
  const parts = unknown
    .filter(fitsLexicon)
    .slice(0, LIMITS.search.misspelt)
    .flatMap(({ text }) => [...splitWord(text).flat(), ...groupsOf(text)]);
  const spellings = [
    ...new Set([
      ...misspelt.flatMap(nearSpellings),
      ...kin,
      ...[...forms.values()].flatMap((all) => [...all]),
      ...parts,
      ...words.flatMap(({ composed, otherScripts, inOtherScripts, types }) => [
        ...composed,
        ...otherScripts,
        ...inOtherScripts.flat(),
        ...types.map((type) => TYPE + type),
      ]),
      ...unknown.slice(0, LIMITS.search.misspelt).flatMap(({ text }) => otherHexForms(text)),
      ...signs,
      ...languageWords,
      // Usually the words tell.
      ...(known.size === 0 ? [EVERY_MEMORY] : []),
    ]),
  ];
  if (misspelt.length + beginnings.length + spellings.length === 0) return [];
  const composed = new Set(words.flatMap((word) => word.composed));
  return lexicon.alike(misspelt, spellings, [
    ...beginnings.slice(0, LIMITS.search.misspelt),
    ...[...composed].slice(0, LIMITS.search.composed),
  ]);
}

/**
 * Looks up inflections, and what words may stand for that nothing explains yet: words with an error in the first
 * letters and another one, and words formed of three known words, by their middle parts.
 */
export async function findFurther(
  { unknown, inflections }: { readonly unknown: readonly QueryWord[]; readonly inflections: Forms },
  alike: Alike,
  lexicon: Lexicon,
): Promise<readonly AlikeWord[]> {
  const { spelt } = alike;
  const whole = unknown.filter((word) => fitsLexicon(word) && splitsOf(word, spelt).length === 0);
  const unlike = misspeltOf(unknown)
    .filter((word) => whole.includes(word) && !alike.longer.has(word.text) && !hasSpellings(word, alike))
    .slice(0, LIMITS.search.begunWrongly);
  const wordsBy = (ways: (text: string) => string[]): ReadonlyMap<string, string> =>
    new Map(unlike.flatMap(({ text }) => ways(text).map((other): [string, string] => [other, text])));
  const [asked, begun] = [wordsBy(otherBeginnings), wordsBy(otherFirstLetters)];
  const middles = whole
    .slice(0, LIMITS.search.misspelt)
    .flatMap(({ text }) => splitInThree(text, (part) => spelt.has(part)).flatMap(([, middle = ""]) => middle))
    .filter((middle, place, all) => !spelt.has(middle) && all.indexOf(middle) === place)
    .slice(0, LIMITS.search.middles);
  const spellings = [...new Set([...middles, ...[...inflections.values()].flatMap((all) => [...all])])];
  if (spellings.length + asked.size + begun.size === 0) return [];
  const found = await lexicon.alike([...asked.keys()], spellings, [...begun.keys()]);
  return found.map((row) => ({
    ...row,
    asked: (row.begins ? begun : asked).get(row.asked) ?? row.asked,
    begins: false,
  }));
}

const IS_UNSPACED = new RegExp(UNSPACED, "u");
