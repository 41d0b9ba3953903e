import { defineStatement } from "../../platform/database/statement.js";

/**
 * Locks memories and their relationships, and measures them with their versions: how many memories, bytes and versions.
 * Without ids, measures the whole graph and locks nothing. SQL, since no model locks rows or measures texts inside the
 * database.
 */
export const measureMemories = defineStatement({
  name: "measure_memories",
  values: { graphId: "uuid", ids: "uuid[]?" },
  row: { memories: "int4", bytes: "float8", versions: "int4?" },
  text: "SELECT memories, bytes::float8, versions FROM measure_memories(:graphId, :ids)",
});

/**
 * The last step of a change: adds the words of written memories to the lexicon, and updates the graph's counts. SQL,
 * since the words come from the search index, and concurrent changes must not take a count below zero or over its
 * bound.
 */
export const settleChange = defineStatement({
  name: "settle_change",
  values: {
    graphId: "uuid",
    written: "uuid[]",
    memories: "int4",
    bytes: "int8",
    memoriesMax: "int4",
    bytesMax: "int8",
  },
  row: { settled: "text" },
  text: "SELECT settle_change(:graphId, :written, :memories, :bytes, :memoriesMax, :bytesMax)::text AS settled",
});

/**
 * Deletes up to `rows` rows of a graph; returns how many, 0 if it is empty. SQL, since a model's deletion with a limit
 * does not name the graph, so every node would be asked.
 */
export const emptyGraph = defineStatement({
  name: "empty_graph",
  values: { graphId: "uuid", rows: "int4" },
  row: { rows: "int4" },
  text: "SELECT empty_graph(:graphId, :rows) AS rows",
});
