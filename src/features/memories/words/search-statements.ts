import { type RowOf, defineStatement, jsonAs, listOf } from "../../../platform/database/statement.js";
import type { SupersedingMemory } from "../superseding-memory.js";

/**
 * What the pieces of a query stand for in the index; the migration `search` explains this and the next statements. SQL,
 * since no model knows the search index.
 */
export const searchWords = defineStatement({
  name: "search_words",
  values: { graphId: "uuid", pieces: "text[]", asWritten: "bool[]" },
  // `place` counts from 1, as SQL does.
  row: { place: "int4", lexemes: "text[]", documents: "int4", known: "bool", memories: "int4" },
  text: "SELECT * FROM search_words(:graphId, :pieces, :asWritten)",
});

export type KnownPiece = RowOf<typeof searchWords>;

/** Known words that are spelt like the words of a query or begin like them. SQL for the same reason. */
export const wordsAlike = defineStatement({
  name: "search_words_alike",
  values: { graphId: "uuid", words: "text[]", spellings: "text[]", beginnings: "text[]", most: "int4" },
  // `asked` is the word or beginning that was asked for; empty for a spelling.
  row: { asked: "text", word: "text", stem: "text[]", documents: "int4", begins: "bool" },
  text: "SELECT * FROM words_alike(:graphId, :words, :spellings, :beginnings, :most)",
});

export type AlikeWord = RowOf<typeof wordsAlike>;

/** The memories that a plan finds, best first, and how many there are. SQL for the same reason. */
export const searchHits = defineStatement({
  name: "search_hits",
  values: {
    graphId: "uuid",
    gates: "text[]",
    furtherWords: listOf<string | null>(),
    within: "int4[]",
    limits: "int4[]",
    walks: "bool[]",
    wide: "text?",
    compares: "bool[]",
    types: "text[]?",
    tags: "text[]?",
    phrases: "text[]?",
    scanGates: "int4[]",
    concepts: "int4[]",
    scans: listOf<string | null>(),
    points: "float8[]",
    shares: "float8[]",
    inTitle: "bool[]",
    pairs: "text[]",
    names: "text[]",
    nameShares: "float8[]",
    queryLength: "int4",
    tuning: "float8[]",
    limit: "int4",
    offset: "int4",
    examined: "int4",
    minImportance: "float8?",
    createdAfter: "timestamptz?",
    createdBefore: "timestamptz?",
    project: "text?",
    now: "timestamptz?",
    textBytes: "int4",
    textLeast: "int4",
    explains: "bool",
  },
  // All but `total` is null where there is no hit on this page.
  row: {
    total: "int4",
    id: "uuid?",
    type: "text",
    title: "text",
    summary: "text?",
    tags: "text[]",
    relevance: "float8",
    text: "text?",
    continues: "bool?",
    concepts: "int4[]?",
    weights: "float8[]?",
    newer: jsonAs<SupersedingMemory | null>(),
  },
  text: `
    SELECT * FROM search_hits(:graphId, :gates, :furtherWords, :within, :limits, :walks, :wide, :compares, :types,
      :tags, :phrases, :scanGates, :concepts, :scans, :points, :shares, :inTitle, :pairs, :names, :nameShares, :queryLength,
      :tuning, :limit, :offset, :examined, :minImportance, :createdAfter, :createdBefore, :project, :now, :textBytes, :textLeast, :explains)`,
});

export type HitRow = RowOf<typeof searchHits>;

/** For each memory, the positions of the queries that it matches. SQL for the same reason. */
export const matchesOfHits = defineStatement({
  name: "search_matches",
  values: { graphId: "uuid", ids: "uuid[]", queries: "text[]" },
  row: { id: "uuid", places: "int4[]" },
  // `OFFSET 0` makes PostgreSQL read the vector once for all queries, not again for each.
  text: `
    WITH given AS MATERIALIZED (
      SELECT place::int - 1 AS place, query::tsquery AS query
      FROM unnest(:queries) WITH ORDINALITY AS asked (query, place)
    )
    SELECT read.id, ARRAY(SELECT given.place FROM given WHERE read.search @@ given.query ORDER BY given.place) AS places
    FROM unnest(:ids) AS wanted (id) CROSS JOIN LATERAL (
      SELECT m.id, m.search || ''::tsvector AS search FROM memory m
      WHERE m.graph_id = :graphId AND m.id = wanted.id OFFSET 0) AS read`,
});
