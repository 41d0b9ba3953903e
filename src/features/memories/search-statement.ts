import type { Statement } from "../../platform/database.js";
import { filterCondition } from "./memory-filter.js";

/** How far matches are counted. */
export const TOTAL_MAX = 1_000;
const TERMS_MAX = 64;
/** Words compared letter by letter cost more than words looked up, so only so many of a query are. */
const FUZZY_TERMS_MAX = 16;
/** How much of a query a memory must have when none has all of it: one of two words, two of three. */
const FUZZY_SCORE_MIN = 0.4;
/** How many memories are looked at for each way in which they may be near: enough to tell that there are too many. */
const NEARBY_MAX = TOTAL_MAX + 1;

/** A query's words, and its quoted phrases as one each. */
export function searchTerms(query: string): string[] {
  const terms = Array.from(query.matchAll(/"([^"]+)"|\S+/g), ([word, phrase]) => phrase ?? word);
  return [...new Set(terms)].slice(0, TERMS_MAX);
}

/** A pattern for LIKE that matches what holds the text itself. */
export const literalPattern = (query: string): string => `%${query.trim().replace(/[\\%_]/g, "\\$&")}%`;

const WORDS = "memory_words(m.title, m.tags, m.summary, m.content)";
/** Weights of D (content), C, B (tags) and A (title) within a tier. */
const WEIGHTS = "'{0.7, 0.8, 0.9, 1}'";

/**
 * Ranking, all of it. Values: graph, terms, the query, its LIKE pattern, limit, then the filter's.
 *
 * `exact` has what holds every term. Relevance is tiered, so title beats tags beats content whatever the counts: 0.85
 * to 1 where the title alone has all terms (1 when it has no other word), 0.7 to 0.85 with the tags' help, else 0.5 to 0.7.
 * Only where `exact` is empty, `fuzzy` scores what has some of the terms, or words spelt like those that no memory
 * has. A query without any word to look up (`%`, `--`, "the") finds what holds it literally.
 */
export const searchStatement: Statement = {
  name: "search_memories",
  text: `
    WITH term AS MATERIALIZED (
      SELECT word, phraseto_tsquery('english', plain_words(word)) AS query FROM unnest($2::text[]) AS given (word)
    ), wanted AS MATERIALIZED (
      SELECT word, query FROM term WHERE numnode(query) > 0
    ), whole AS MATERIALIZED (
      SELECT string_agg('(' || query::text || ')', ' & ')::tsquery AS query,
        length(to_tsvector('english', plain_words($3)))::float8 AS words
      FROM wanted
    ), exact AS MATERIALIZED (
      SELECT m.id, m.importance, CASE
          WHEN ts_filter(m.search, '{a}') @@ whole.query
            THEN 0.85 + 0.15 * least(1, whole.words / greatest(1, length(ts_filter(m.search, '{a}'))))
          WHEN ts_filter(m.search, '{a, b}') @@ whole.query
            THEN 0.7 + 0.15 * least(1, ts_rank(${WEIGHTS}, m.search, whole.query))
          ELSE 0.5 + 0.2 * least(1, ts_rank(${WEIGHTS}, m.search, whole.query))
        END AS relevance
      FROM whole JOIN memory m ON m.graph_id = $1 AND m.search @@ whole.query
      WHERE ${filterCondition(6)}
    ), apart AS MATERIALIZED (
      SELECT word, query, EXISTS (SELECT FROM memory m WHERE m.graph_id = $1 AND m.search @@ wanted.query) AS known
      FROM wanted WHERE NOT EXISTS (SELECT FROM exact) LIMIT ${FUZZY_TERMS_MAX}
    ), nearby AS MATERIALIZED (
      (SELECT m.id
       FROM (SELECT string_agg('(' || query::text || ')', ' | ')::tsquery AS query FROM apart WHERE known) partly
       JOIN memory m ON m.graph_id = $1 AND m.search @@ partly.query
       WHERE ${filterCondition(6)}
       ORDER BY ts_rank(${WEIGHTS}, m.search, partly.query) DESC LIMIT ${NEARBY_MAX})
      UNION
      SELECT alike.id FROM apart, LATERAL (
        SELECT m.id FROM memory m
        WHERE m.graph_id = $1 AND ${WORDS} %> apart.word AND ${filterCondition(6)} LIMIT ${NEARBY_MAX}) alike
      WHERE NOT apart.known
    ), fuzzy AS (
      SELECT m.id, m.importance, 0.9 * (0.75 * avg(found.anywhere) + 0.25 * avg(found.in_title)) AS relevance
      FROM nearby JOIN memory m ON m.graph_id = $1 AND m.id = nearby.id
      CROSS JOIN apart
      CROSS JOIN LATERAL (SELECT
        CASE WHEN apart.known THEN (m.search @@ apart.query)::int::float8
          ELSE word_similarity(apart.word, ${WORDS}) END AS anywhere,
        CASE WHEN apart.known THEN (ts_filter(m.search, '{a}') @@ apart.query)::int::float8
          ELSE word_similarity(apart.word, m.title) END AS in_title) found
      GROUP BY m.id, m.importance HAVING avg(found.anywhere) >= ${FUZZY_SCORE_MIN}
    ), literal AS (
      SELECT m.id, m.importance, CASE WHEN m.title ILIKE $4 THEN 0.8 ELSE 0.5 END AS relevance
      FROM memory m
      WHERE NOT EXISTS (SELECT FROM wanted) AND m.graph_id = $1 AND ${WORDS} ILIKE $4 AND ${filterCondition(6)}
      LIMIT ${TOTAL_MAX + 1}
    ), hit AS MATERIALIZED (
      SELECT * FROM exact UNION ALL SELECT * FROM fuzzy UNION ALL SELECT * FROM literal
    )
    SELECT m.id, m.type, m.title, round(best.relevance::numeric, 4)::float8 AS relevance,
      (SELECT count(*) FROM hit)::int AS total
    FROM (SELECT * FROM hit ORDER BY relevance DESC, importance DESC, id DESC LIMIT $5) best
    JOIN memory m ON m.graph_id = $1 AND m.id = best.id
    ORDER BY best.relevance DESC, best.importance DESC, best.id DESC`,
};
