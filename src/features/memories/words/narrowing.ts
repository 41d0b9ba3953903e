import { all, any, quote } from "./tsquery.js";
import type { Expectation } from "./walk.js";

/** The types and tags to which a search is narrowed; an empty list does not narrow it. */
export interface Narrowing {
  readonly types: readonly string[];
  readonly tags: readonly string[];
  readonly anyTag: boolean;
  /** Whether there are filters that the index of the search does not have, on importance, dates or the project. */
  readonly isFiltered: boolean;
}

/** Many types or tags, of which a memory must have one; null for any. */
export interface Wide {
  readonly types: readonly string[] | null;
  readonly tags: readonly string[] | null;
  /** The same as a query of the index. */
  readonly query: string | null;
  /** For each gate, whether they are compared with what the index has found if many memories have any. */
  readonly compares: readonly boolean[];
  /** At least this share of memories. */
  readonly shareLeast: number;
}

/**
 * More types or tags than these, of which a memory must have one, are not looked up if so many memories, and such a
 * share of all, have any, and as many have the words: it costs more than to look at what has the words.
 */
const ALTERNATIVES = 8;
const COMPARED = { matches: 10_000, share: 0.2 };

/** The queries of the index for a narrowing; a memory must match all of them. */
export const narrowingQueries = (narrowing: Narrowing): string[] => alternativesOf(narrowing).map(any);

/** Lists of types or tags, of each of which a memory must have one. */
export function alternativesOf({ types, tags, anyTag }: Narrowing): string[][] {
  const typed = types.map((type) => quote(`:${type}`));
  const tagged = tags.map((tag) => quote(`=${tag}`));
  return [typed, ...(anyTag ? [tagged] : tagged.map((tag) => [tag]))].filter(({ length }) => length > 0);
}

export const isNarrowed = (narrowing: Narrowing): boolean =>
  narrowing.isFiltered || alternativesOf(narrowing).length > 0;

export const isWide = (alternatives: readonly string[]): boolean => alternatives.length > ALTERNATIVES;

/** What of a narrowing is wide, for gates that should find so many of so many memories. */
export function wideOf(gates: readonly Expectation[], { types, tags, anyTag }: Narrowing, memories: number): Wide {
  const wideTypes = isWide(types) ? types : [];
  const wideTags = anyTag && isWide(tags) ? tags : [];
  const queries = narrowingQueries({ types: wideTypes, tags: wideTags, anyTag, isFiltered: false });
  return {
    types: wideTypes.length > 0 ? wideTypes : null,
    tags: wideTags.length > 0 ? wideTags : null,
    query: queries.length > 0 ? all(queries) : null,
    compares: gates.map(({ expected }) => queries.length > 0 && (expected ?? 0) >= COMPARED.matches),
    shareLeast: Math.max(COMPARED.share, COMPARED.matches / Math.max(1, memories)),
  };
}
