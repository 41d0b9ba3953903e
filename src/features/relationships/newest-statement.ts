import { MAX_ID } from "../../operation/id.js";
import { defineStatement } from "../../platform/database/statement.js";
import { LINK_COLUMNS, LINK_TYPES, rowsWith } from "../memories/index.js";
import { UNSEEN } from "./relationship.js";

const COLUMNS = [...LINK_COLUMNS]
  .filter(([name]) => !(name in UNSEEN))
  .map(([name, column]) => `${column} AS "${name}"`)
  .join(", ");

const ROW = {
  graphId: "uuid",
  id: "uuid",
  fromId: "uuid",
  toId: "uuid",
  type: "text",
  ...LINK_TYPES,
  createdAt: "timestamptz",
} as const;

/** By `rowsWith`, PostgreSQL finds the memory's own relationships before it sorts, instead of reading all in order. */
const selectAtEnd = (end: "from_id" | "to_id"): string => `
      SELECT * FROM (${rowsWith("relationship", end, ":memoryId")}) own
      WHERE (:before IS NULL OR id < :before) AND (:types IS NULL OR type = ANY(:types))`;

/**
 * The newest relationships that begin or end at a memory, below an id. SQL, since no model keeps the planner from
 * reading the whole graph.
 */
export const newestAtMemory = defineStatement({
  name: "newest_at_memory",
  values: { graphId: "uuid", memoryId: "uuid", before: "uuid?", types: "text[]?", take: "int4" },
  row: ROW,
  text: `
    SELECT graph_id AS "graphId", ${COLUMNS}
    FROM (${selectAtEnd("from_id")} UNION ALL ${selectAtEnd("to_id")}) both_ways
    ORDER BY id DESC LIMIT :take`,
});

/**
 * The newest relationships of some types, below an id. An index has those of each type in the order of their ids: only
 * these are read for each type, and only the contexts of the page. SQL, since models would read a page for each type:
 * 50 MB for 50 types.
 */
export const newestOfTypes = defineStatement({
  name: "newest_of_types",
  values: { graphId: "uuid", before: "uuid?", types: "text[]", take: "int4" },
  row: ROW,
  text: `
    SELECT graph_id AS "graphId", ${COLUMNS} FROM (
      SELECT r.* FROM (
        SELECT of_type.id FROM unnest((SELECT :types)) AS wanted(type) CROSS JOIN LATERAL (
          SELECT id FROM relationship
          WHERE graph_id = :graphId AND type = wanted.type AND id < coalesce(:before, '${MAX_ID}')
          ORDER BY id DESC LIMIT :take
        ) of_type ORDER BY of_type.id DESC LIMIT :take
      ) newest CROSS JOIN LATERAL (${rowsWith("relationship", "id", "newest.id")}) r
    ) page ORDER BY id DESC`,
});
