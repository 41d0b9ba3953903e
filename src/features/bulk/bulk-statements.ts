import { type SqlType, defineStatement } from "../../platform/statement.js";
import { CONTENTS, CONTENT_TYPES, columnOf } from "../memories/index.js";

/** The columns of rows that are given as JSON. Lists stay JSON here; `valueOf` converts them. */
const columns = (types: Readonly<Record<string, SqlType>>): string =>
  Object.entries(types)
    .map(([name, type]) => `"${name}" ${type === "text[]" ? "json" : type.replace("?", "")}`)
    .join(", ");

/** The SQL that converts a column of the JSON to its stored value. */
const valueOf = (name: keyof typeof CONTENT_TYPES): string =>
  CONTENT_TYPES[name] === "text[]" ? `ARRAY(SELECT json_array_elements_text(given."${name}"))` : `given."${name}"`;

const MEMORY: Readonly<Record<string, SqlType>> = {
  ...{ id: "uuid", ...CONTENT_TYPES, version: "int4" },
  ...{ createdBy: "uuid", createdAt: "timestamptz", updatedBy: "uuid", updatedAt: "timestamptz" },
};

/**
 * Stores memories, given as JSON. Returns those whose ids and client ids were not taken. SQL, since a call has
 * hundreds of them, and Prisma would write numbers in their contexts in another way than they were measured.
 */
export const storeMemories = defineStatement({
  name: "store_memories",
  values: { graphId: "uuid", memories: "json" },
  row: { id: "uuid" },
  text: `
    INSERT INTO memory (graph_id, id, ${CONTENTS.map(columnOf).join(", ")}, version, created_by, created_at, updated_by,
      updated_at)
    SELECT :graphId, given.id, ${CONTENTS.map(valueOf).join(", ")}, given.version, given."createdBy",
      given."createdAt", given."updatedBy", given."updatedAt"
    FROM json_to_recordset(:memories) AS given(${columns(MEMORY)})
    ON CONFLICT DO NOTHING RETURNING id`,
});
