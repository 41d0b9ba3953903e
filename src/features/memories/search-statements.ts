import { type RowOf, defineStatement, listOf } from "../../platform/statement.js";

/**
 * What the pieces of a query stand for in the index; see the migration `search` for this and the others. SQL, since no
 * model knows the index of the search.
 */
export const searchWords = defineStatement({
  name: "search_words",
  values: { graphId: "uuid", pieces: "text[]", asWritten: "bool[]" },
  // `place` counts from 1, as SQL does.
  row: { place: "int4", lexemes: "text[]", documents: "int4", known: "bool", memories: "int4" },
  text: "SELECT * FROM search_words(:graphId, :pieces, :asWritten)",
});

export type KnownPiece = RowOf<typeof searchWords>;

/** Known words that are spelt like others or begin like them. SQL for the same reason. */
export const wordsAlike = defineStatement({
  name: "search_words_alike",
  values: { graphId: "uuid", words: "text[]", spellings: "text[]", beginnings: "text[]", most: "int4" },
  // `asked` is the word or beginning that was asked for; empty for a spelling.
  row: { asked: "text", word: "text", stem: "text[]", documents: "int4", begins: "bool" },
  text: "SELECT * FROM words_alike(:graphId, :words, :spellings, :beginnings, :most)",
});

export type AlikeWord = RowOf<typeof wordsAlike>;

/** The memories that a plan finds, best first. SQL for the same reason. */
export const searchHits = defineStatement({
  name: "search_hits",
  values: {
    graphId: "uuid",
    gates: "text[]",
    limits: "int4[]",
    phrases: "text[]?",
    scanGates: "int4[]",
    concepts: "int4[]",
    scans: listOf<string | null>(),
    points: "float8[]",
    shares: "float8[]",
    inTitle: "bool[]",
    pairs: "text[]",
    queryLength: "int4",
    tuning: "float8[]",
    limit: "int4",
    offset: "int4",
    examined: "int4",
    types: "text[]?",
    tags: "text[]?",
    minImportance: "float8?",
    createdAfter: "timestamptz?",
    createdBefore: "timestamptz?",
  },
  row: { id: "uuid", type: "text", title: "text", relevance: "float8", total: "int4" },
  text: `
    SELECT * FROM search_hits(:graphId, :gates, :limits, :phrases, :scanGates, :concepts, :scans, :points, :shares,
      :inTitle, :pairs, :queryLength, :tuning, :limit, :offset, :examined,
      :types, :tags, :minImportance, :createdAfter, :createdBefore)`,
});

export type HitRow = RowOf<typeof searchHits>;
