import { LIMITS } from "../../limits.js";
import { defineStatement } from "../../platform/statement.js";

/**
 * Counts the words of the graph with the most that have not been counted, if they are worth counting all its memories
 * for. SQL, since words are counted where they are: no model reads the index of the search.
 */
export const countWords = defineStatement({
  name: "count_words",
  values: { sample: "int4" },
  row: { counted: "int4?" },
  text: `SELECT count_next_words(${LIMITS.search.uncountedWords}, :sample) AS counted`,
});

/**
 * Looks at the next words that may be nobody's. SQL for the same reason, and since it claims a graph with SKIP LOCKED.
 */
export const forgetNextWords = defineStatement({
  name: "forget_words",
  values: { afterHours: "int4", words: "int4", sample: "int4" },
  row: { more: "bool" },
  text: "SELECT more FROM forget_words(make_interval(hours => :afterHours), :words, :sample) AS more",
});
