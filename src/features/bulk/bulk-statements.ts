import { type SqlType, defineStatement } from "../../platform/statement.js";
import { CONTENTS, CONTENT_TYPES, columnOf } from "../memories/index.js";

/** The columns of JSON that stands for rows: lists stand there as JSON, and are taken apart where they are stored. */
const columns = (types: Readonly<Record<string, SqlType>>): string =>
  Object.entries(types)
    .map(([name, type]) => `"${name}" ${type === "text[]" ? "json" : type.replace("?", "")}`)
    .join(", ");

/** What a row holds of a list or of anything else. */
const valueOf = (name: keyof typeof CONTENT_TYPES): string =>
  CONTENT_TYPES[name] === "text[]" ? `ARRAY(SELECT json_array_elements_text(given."${name}"))` : `given."${name}"`;

const MEMORY: Readonly<Record<string, SqlType>> = {
  ...{ id: "uuid", ...CONTENT_TYPES, version: "int4" },
  ...{ createdBy: "uuid", createdAt: "timestamptz", updatedBy: "uuid", updatedAt: "timestamptz" },
};

/**
 * Stores memories, given as JSON; answers with those for whose ids there was room. SQL, since a call has hundreds, and
 * Prisma would write numbers in their contexts otherwise than they are measured.
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
