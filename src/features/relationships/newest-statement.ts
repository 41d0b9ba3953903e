import { defineStatement } from "../../platform/database/statement.js";
import { LINK_COLUMNS, LINK_TYPES } from "../memories/index.js";

const COLUMNS = [...LINK_COLUMNS]
  .filter(([name]) => name !== "createdBy")
  .map(([name, column]) => `${column} AS "${name}"`)
  .join(", ");

/**
 * `OFFSET 0` makes PostgreSQL find the memory's own relationships before it sorts. Otherwise it would read those of the
 * whole graph in the order of an index.
 */
const selectAtEnd = (end: "from_id" | "to_id"): string => `
      SELECT * FROM (SELECT * FROM relationship WHERE graph_id = :graphId AND ${end} = :memoryId OFFSET 0) own
      WHERE (:before IS NULL OR id < :before) AND (:types IS NULL OR type = ANY(:types))`;

/**
 * The newest relationships that begin or end at a memory, below an id. SQL, since no model keeps the planner from
 * reading the whole graph.
 */
export const newestAtMemory = defineStatement({
  name: "newest_at_memory",
  values: { graphId: "uuid", memoryId: "uuid", before: "uuid?", types: "text[]?", take: "int4" },
  row: {
    ...{ graphId: "uuid", id: "uuid", fromId: "uuid", toId: "uuid", type: "text" },
    ...{ ...LINK_TYPES, createdAt: "timestamptz" },
  },
  text: `
    SELECT graph_id AS "graphId", ${COLUMNS}
    FROM (${selectAtEnd("from_id")} UNION ALL ${selectAtEnd("to_id")}) both_ways
    ORDER BY id DESC LIMIT :take`,
});
