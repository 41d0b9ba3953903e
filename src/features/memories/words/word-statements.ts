import { LIMITS } from "../../../limits.js";
import { defineStatement } from "../../../platform/database/statement.js";

/**
 * Counts the words of the next graph with enough uncounted words, or sees that some graphs have too few. SQL, since the
 * words are counted inside the database: no model reads the search index.
 */
export const countWords = defineStatement({
  name: "count_words",
  values: { sample: "int4" },
  row: { counted: "int4?" },
  text: `SELECT count_next_words(${LIMITS.search.uncountedWords}, :sample) AS counted`,
});

/**
 * Checks the next words that no memory may have any more. SQL for the same reason, and since it claims a graph with
 * SKIP LOCKED.
 */
export const forgetNextWords = defineStatement({
  name: "forget_words",
  values: { afterHours: "int4", words: "int4", sample: "int4" },
  row: { more: "bool" },
  text: "SELECT more FROM forget_words(make_interval(hours => :afterHours), :words, :sample) AS more",
});
