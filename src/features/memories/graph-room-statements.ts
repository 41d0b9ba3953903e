import { defineStatement } from "../../platform/statement.js";

/**
 * What memories take with all that hangs on them, which is locked from then on, and how many earlier versions they
 * have; without ids, what the whole graph takes. SQL, since no model measures texts where they are, or locks rows.
 */
export const measureMemories = defineStatement({
  name: "measure_memories",
  values: { graphId: "uuid", ids: "uuid[]?" },
  row: { memories: "int4", bytes: "float8", versions: "int4?" },
  text: "SELECT memories, bytes::float8, versions FROM measure_memories(:graphId, :ids)",
});

/**
 * The last step of a change: lets the words of written memories be known, and counts. SQL, since the words come from
 * the index of the search, and no count may go below zero or over a bound, also while others change the graph.
 */
export const settleChange = defineStatement({
  name: "settle_change",
  values: {
    ...{ graphId: "uuid", written: "uuid[]", memories: "int4", bytes: "int8" },
    ...{ memoriesMax: "int4", bytesMax: "int8" },
  },
  row: { settled: "text" },
  text: "SELECT settle_change(:graphId, :written, :memories, :bytes, :memoriesMax, :bytesMax)::text AS settled",
});

/**
 * Deletes some rows of a graph; none where it is empty. SQL, since what a model deletes up to a limit does not name the
 * graph, so every node would be asked.
 */
export const emptyGraph = defineStatement({
  name: "empty_graph",
  values: { graphId: "uuid", rows: "int4" },
  row: { rows: "int4" },
  text: "SELECT empty_graph(:graphId, :rows) AS rows",
});
