import type { Statement } from "../../platform/database.js";

/**
 * What memories take with all that hangs on them, which is locked from then on; without ids, what the whole graph takes.
 * SQL, since no model measures texts where they are, or locks rows.
 */
export const measureMemories: Statement = {
  name: "measure_memories",
  text: "SELECT memories, bytes::float8 FROM measure_memories($1::uuid, $2::uuid[])",
};

/**
 * The last step of a change: lets the words of written memories be known and counts. SQL, since words are told by the
 * index of the search, and a count never goes below nought or beyond a bound, whoever else changes the graph.
 */
export const settleChange: Statement = {
  name: "settle_change",
  text: "SELECT settle_change($1::uuid, $2::uuid[], $3::int, $4::bigint, $5::int, $6::bigint)::text AS settled",
};
