import { type RowOf, defineStatement, jsonAs, listOf } from "../../../platform/database/statement.js";
import { rowsWith } from "../many-statements.js";
import { ROW_FILTERS } from "../memory-filter.js";
import type { SolvingMemory } from "../solving-memory.js";
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
    ...ROW_FILTERS,
    now: "timestamptz?",
    textBytes: "int4",
    textLeast: "int4",
    explains: "bool",
    // Whether to see first if any memory has all words of the first gate: if none has, `total` is -1.
    probes: "bool",
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
    solution: jsonAs<SolvingMemory | null>(),
    updated: "timestamptz",
  },
  text: `
    SELECT * FROM search_hits(:graphId, :gates, :furtherWords, :within, :limits, :walks, :wide, :compares, :types,
      :tags, :phrases, :scanGates, :concepts, :scans, :points, :shares, :inTitle, :pairs, :names, :nameShares,
      :queryLength, :tuning, :limit, :offset, :examined, :minImportance, :createdAfter, :createdBefore, :project, :now, :textBytes, :textLeast, :explains, :probes)`,
});

export type HitRow = RowOf<typeof searchHits>;

/**
 * For each of the first memories, whose vectors have so many bytes together, the positions of the queries that it matches.
 * SQL for the same reason.
 */
export const matchesOfHits = defineStatement({
  name: "search_matches",
  values: { graphId: "uuid", ids: "uuid[]", queries: "text[]", bytes: "int4" },
  row: { id: "uuid", places: "int4[]" },
  // `setweight` and `OFFSET 0` make PostgreSQL read the vector once for all queries, not again for each.
  text: `
    WITH given AS MATERIALIZED (
      SELECT place::int - 1 AS place, query::tsquery AS query
      FROM unnest(:queries) WITH ORDINALITY AS asked (query, place)
    )
    SELECT read.id, ARRAY(SELECT given.place FROM given WHERE read.search @@ given.query ORDER BY given.place) AS places
    FROM (
      SELECT sized.id, setweight(sized.search, 'D') AS search
      FROM (
        SELECT own.id, own.search, sum(own.size) OVER (ORDER BY wanted.place) AS bytes
        FROM unnest(:ids) WITH ORDINALITY AS wanted (id, place)
        CROSS JOIN LATERAL (
          ${rowsWith("memory", "id", "wanted.id", "id, search, vector_bytes(search, content) AS size")}) AS own) AS sized
      WHERE sized.bytes <= :bytes OFFSET 0) AS read`,
});

/**
 * How much each memory says the same as a new one: the weight of the words that both have, by the geometric mean of the
 * weights of all words of each; the rarer a word, the more it weighs. If both titles have the same words, halfway from
 * there to 1. SQL, since texts are split into words as in the index.
 */
export const likenesses = defineStatement({
  name: "likenesses",
  values: {
    graphId: "uuid",
    ids: "uuid[]",
    title: "text",
    summary: "text",
    content: "text",
    characters: "int4",
  },
  row: { id: "uuid", likeness: "float8" },
  // Words are counted by a subquery each, so no plan reads the words of other graphs.
  text: `
    WITH given AS MATERIALIZED (
      SELECT NULL::uuid AS id, :title AS title, :summary AS summary, :content AS content
      UNION ALL
      SELECT id, title, coalesce(summary, ''), content FROM memory WHERE graph_id = :graphId AND id = ANY (:ids)
    ), had AS (
      SELECT id, unnest(tsvector_to_array(
        text_search(left(title || ' ' || summary || ' ' || content, :characters)))) AS word FROM given
    ), found AS MATERIALIZED (
      SELECT array_agg(id) AS ids, bool_or(id IS NULL) AS is_new, coalesce((SELECT least(documents, memories)
        FROM lexicon WHERE graph_id = :graphId AND lexicon.word = had.word), 0) AS documents, memories
      FROM had CROSS JOIN (SELECT coalesce((SELECT documents FROM lexicon
        WHERE graph_id = :graphId AND lexicon.word = ''), 0) AS memories) AS counted
      GROUP BY had.word, memories
    ), weighed AS (
      SELECT ids, is_new,
        CASE WHEN memories = 0 THEN 1 ELSE ln(1 + (memories - documents + 0.5) / (documents + 0.5)) END AS weight
      FROM found
    ), summed AS MATERIALIZED (
      SELECT one.id, sum(weight) AS everything, coalesce(sum(weight) FILTER (WHERE is_new), 0) AS shared
      FROM weighed CROSS JOIN unnest(ids) AS one (id) GROUP BY one.id
    )
    SELECT id, (CASE WHEN strip(text_search(title)) = strip(text_search(:title)) THEN (1 + share) / 2 ELSE share END
      )::float8 AS likeness
    FROM given JOIN (SELECT id, shared / sqrt(everything * (SELECT everything FROM summed WHERE id IS NULL)) AS share
      FROM summed) AS compared USING (id)`,
});
