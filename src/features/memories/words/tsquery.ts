import type { Concept, Variant } from "./concepts.js";
import { TUNING } from "./tuning.js";

/**
 * Marks of words in the index: in which place of a memory a word stands. The index also has each word without a mark.
 */
export const TITLE = "^";
export const TAG = "#";
export const TEXT = "";
export const MARKS = [TITLE, TAG, TEXT] as const;
export type Mark = (typeof MARKS)[number];
const { title, tags, text } = TUNING.places;
const PLACE_WORTH = { [TITLE]: title, [TAG]: tags, [TEXT]: text };
/** What it is worth to have a word in a place. */
export const placeWorth = (mark: Mark): number => PLACE_WORTH[mark];

/** Matches nothing: no word is a space. */
export const NOTHING = "' '";

/** PostgreSQL has no longer words in an index, and refuses them in a tsquery. */
const LEXEME_BYTES_MAX = 2_046;

/** Quotes a word of the index for a tsquery. */
export const quote = (lexeme: string): string =>
  Buffer.byteLength(lexeme) > LEXEME_BYTES_MAX ? NOTHING : `'${lexeme.replace(/['\\]/g, "$&$&")}'`;
export const all = (queries: readonly string[]): string => join(queries, "&");
export const any = (queries: readonly string[]): string => join(queries, "|");

/**
 * Halves joined of halves: PostgreSQL goes down the query for each memory that its index looks at, and in a chain of 50
 * it would be 50 operators to the first word. With 50 types or tags, searches of common words take 5 to 10% less.
 */
function join(queries: readonly string[], operator: "&" | "|"): string {
  if (queries.length <= 1) return queries[0] ?? "";
  const half = queries.length >> 1;
  return `(${join(queries.slice(0, half), operator)} ${operator} ${join(queries.slice(half), operator)})`;
}

/** The mark of a memory's type. No word begins with it, so no title or tag has a type. */
export const TYPE = ":";

export const isSign = (lexeme: string): boolean => !/[\p{L}\p{N}]/u.test(lexeme);

/**
 * Queries for a variant, or any of several, in a place. Signs beside words get no mark: the index does not say where
 * they stand.
 */
export const variantQuery = ({ lexemes }: Variant, mark: string): string =>
  all(lexemes.map((lexeme) => quote(isSign(lexeme) && !lexemes.every(isSign) ? lexeme : mark + lexeme)));
export const variantsQuery = (variants: readonly Variant[], mark: Mark): string =>
  any([...new Set(variants.map((variant) => variantQuery(variant, mark)))]);
export const conceptQuery = ({ variants }: Concept, mark: Mark = TEXT): string => variantsQuery(variants, mark);
