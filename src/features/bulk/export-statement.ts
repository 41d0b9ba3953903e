import { defineStatement } from "../../platform/statement.js";
import { CONTENT_TYPES, LINK_COLUMNS, LINK_TYPES, MEMORY_COLUMNS } from "../memories/index.js";

const BETWEEN = { graphId: "uuid", after: "uuid", until: "uuid", take: "int4" } as const;

/**
 * Memories behind one and up to another, in the order of their ids. SQL, since a stream of a whole graph reads them by
 * the thousand, and Prisma's models take several times the memory for each.
 */
export const memoriesBetween = defineStatement({
  name: "memories_between",
  isPage: true,
  values: BETWEEN,
  row: {
    ...{ id: "uuid", ...CONTENT_TYPES, version: "int4" },
    ...{ createdBy: "uuid", createdAt: "timestamptz", updatedBy: "uuid", updatedAt: "timestamptz" },
  },
  text: `
    SELECT ${[...MEMORY_COLUMNS.entries()]
      .filter(([name]) => name !== "graphId")
      .map(([, column]) => column)
      .join(", ")},
      m.updated_by AS "updatedBy"
    FROM memory m WHERE m.graph_id = :graphId AND m.id > :after AND m.id <= :until ORDER BY m.id LIMIT :take`,
});

/**
 * The same of relationships. SQL for the same reason. Servers' clocks differ, and an id of the past can be restored: none
 * without its memories.
 */
export const relationshipsBetween = defineStatement({
  name: "relationships_between",
  isPage: true,
  values: BETWEEN,
  row: {
    ...{ id: "uuid", fromId: "uuid", toId: "uuid", type: "text", ...LINK_TYPES },
    ...{ createdBy: "uuid", createdAt: "timestamptz" },
  },
  text: `
    SELECT ${[...LINK_COLUMNS].map(([name, column]) => `${column} AS "${name}"`).join(", ")}
    FROM relationship WHERE graph_id = :graphId AND id > :after AND id <= :until
      AND from_id <= :until AND to_id <= :until ORDER BY id LIMIT :take`,
});
