import { defineStatement } from "../../platform/statement.js";
import { CONTENT_TYPES, MEMORY_COLUMNS } from "../memories/index.js";

/**
 * Memories behind one and up to another, in the order of their ids. SQL, since a stream of a whole graph reads them by
 * the thousand, and Prisma's models take several times the memory for each.
 */
export const memoriesBetween = defineStatement({
  name: "memories_between",
  values: { graphId: "uuid", after: "uuid", until: "uuid", take: "int4" },
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
