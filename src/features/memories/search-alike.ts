import { LIMITS } from "../../limits.js";
import { UNSPACED } from "./search-fold.js";
import type { Piece, QueryWord } from "./search-query.js";
import { nearSpellings, shortHashes, splitInThree, splitWord } from "./search-spelling.js";
import type { AlikeWord, KnownPiece } from "./search-statements.js";
import { BEGINNING_LENGTH_MIN } from "./search-tuning.js";
import { type Forms, type Known, kinOf, mayBeMisspelt, mayBeSplit, speltOf, splitsOf } from "./search-variants.js";

export interface Lookups {
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
}

/** Looks up the words of the graph that may be meant: misspelt, begun, in other forms, or parts of a word. */
export async function findAlike(
  { words, unknown, begun, known, signs, forms }: Asked,
  lookups: Lookups,
): Promise<readonly AlikeWord[]> {
  const misspelt = unknown
    .filter(mayBeMisspelt)
    .slice(0, LIMITS.search.misspelt)
    .map(({ text }) => text);
  const mayBegin = words.filter((word) => word.isLast || word.parts.length > 0 || unknown.includes(word));
  const beginnings = [...(begun ? [begun] : []), ...mayBegin]
    .map(({ text }) => text)
    .filter((text) => [...text].length >= BEGINNING_LENGTH_MIN || isUnspaced(text));
  const kin = words.flatMap((word) => kinOf(word, known));
  const parts = unknown
    .filter(mayBeSplit)
    .slice(0, LIMITS.search.misspelt)
    .flatMap(({ text }) => splitWord(text).flat());
  const spellings = [
    ...new Set([
      ...misspelt.flatMap(nearSpellings),
      ...kin,
      ...[...forms.values()].flatMap((all) => [...all]),
      ...parts,
      ...words.flatMap(({ composed, otherScripts }) => [...composed, ...otherScripts]),
      ...unknown.slice(0, LIMITS.search.misspelt).flatMap(({ text }) => shortHashes(text)),
      ...signs,
      // Usually the words tell.
      ...(known.size === 0 ? [EVERY_MEMORY] : []),
    ]),
  ];
  if (misspelt.length + beginnings.length + spellings.length === 0) return [];
  return lookups.alike(misspelt, spellings, beginnings.slice(0, LIMITS.search.misspelt));
}

/** Looks up the middle parts of words that may be formed of three known words, and are not formed of two. */
export async function findMiddles(
  unknown: readonly QueryWord[],
  halves: readonly AlikeWord[],
  lookups: Lookups,
): Promise<readonly AlikeWord[]> {
  const spelt = speltOf(halves);
  const middles = unknown
    .filter((word) => mayBeSplit(word) && splitsOf(word, spelt).length === 0)
    .slice(0, LIMITS.search.misspelt)
    .flatMap(({ text }) => splitInThree(text, (part) => spelt.has(part)).flatMap(([, middle = ""]) => middle))
    .filter((middle, place, all) => !spelt.has(middle) && all.indexOf(middle) === place)
    .slice(0, LIMITS.search.middles);
  return middles.length > 0 ? lookups.alike([], middles, []) : [];
}

const RUN = new RegExp(UNSPACED, "u");
const isUnspaced = (text: string): boolean => RUN.test(text);
