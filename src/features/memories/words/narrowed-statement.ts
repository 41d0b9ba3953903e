import { defineStatement } from "../../../platform/database/statement.js";
import { ROW_FILTERS } from "../memory-filter.js";

/**
 * The ids of memories that have certain words in the search index and pass a filter, and how many there are; see the
 * migration `rare_in_large_graphs`. SQL, since no model knows this index.
 */
export const narrowedMemories = defineStatement({
  name: "narrowed_memories",
  values: {
    graphId: "uuid",
    words: "text",
    ...ROW_FILTERS,
    now: "timestamptz?",
    before: "uuid?",
    isNewestFirst: "bool",
    limit: "int4",
    offset: "int4",
  },
  row: { id: "uuid", total: "int4" },
  text: `
    SELECT * FROM narrowed_memories(:graphId, :words, :minImportance, :createdAfter, :createdBefore, :project, :now,
      :before, :isNewestFirst, :limit, :offset)`,
});

/**
 * The ids of the memories that have certain words in the search index, or null if there are more than `most`. They are
 * one text: an array of 5,000 takes 8 ms to parse. SQL, since no model knows this index.
 */
export const rareMemories = defineStatement({
  name: "rare_memories",
  values: { graphId: "uuid", words: "text", most: "int4" },
  row: { ids: "text?" },
  text: "SELECT rare_memories(:graphId, :words, :most) AS ids",
});
