import { LIMITS } from "../../limits.js";
import type { Statement } from "../../platform/database.js";

/**
 * Counts the words of the graph with the most that have not been counted, if they are worth counting all its memories
 * for. SQL, since words are counted where they are: no model reads the index of the search.
 */
export const countWords: Statement = {
  name: "count_words",
  text: `
    WITH waiting AS (
      SELECT graph_id, count(*) AS words FROM lexicon WHERE documents = 0 GROUP BY graph_id
    ), neediest AS MATERIALIZED (
      SELECT waiting.graph_id FROM waiting
      LEFT JOIN lexicon counted ON counted.graph_id = waiting.graph_id AND counted.word = ''
      WHERE waiting.words >= ${LIMITS.search.uncountedWords} + coalesce(counted.documents, 0) / 20
      ORDER BY waiting.words DESC LIMIT 1
    )
    SELECT count_words(graph_id, $1::int) AS counted FROM neediest`,
};

/** Looks at the next words that may be nobody's. SQL for the same reason, and since it claims a graph with SKIP LOCKED. */
export const forgetNextWords: Statement = {
  name: "forget_words",
  text: "SELECT more FROM forget_words(make_interval(hours => $1::int), $2::int, $3::int) AS more",
};
