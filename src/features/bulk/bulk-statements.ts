import { snakeCase } from "../../operation/names.js";
import { type SqlType, defineStatement } from "../../platform/database/statement.js";
import { CONTENTS, CONTENT_TYPES, jsonColumns, rowsWith } from "../memories/index.js";

/** The SQL that converts a column of the JSON to its stored value. */
const valueOf = (name: keyof typeof CONTENT_TYPES): string =>
  CONTENT_TYPES[name] === "text[]" ? `ARRAY(SELECT json_array_elements_text(given."${name}"))` : `given."${name}"`;

const MEMORY: Readonly<Record<string, SqlType>> = {
  id: "uuid",
  ...CONTENT_TYPES,
  version: "int4",
  createdBy: "uuid",
  createdAt: "timestamptz",
  updatedBy: "uuid",
  updatedAt: "timestamptz",
};

/**
 * Stores memories, given as JSON. Returns those whose ids and client ids were not taken. The order is the same in all
 * transactions, so that two do not wait for each other. SQL, since a call has hundreds of memories, and Prisma would
 * write numbers in their contexts in another way than they were measured.
 */
export const storeMemories = defineStatement({
  name: "store_memories",
  values: { graphId: "uuid", memories: "json" },
  row: { id: "uuid" },
  text: `
    INSERT INTO memory (graph_id, id, ${CONTENTS.map(snakeCase).join(", ")}, version, created_by, created_at, updated_by,
      updated_at)
    SELECT :graphId, given.id, ${CONTENTS.map(valueOf).join(", ")}, given.version, given."createdBy",
      given."createdAt", given."updatedBy", given."updatedAt"
    FROM json_to_recordset(:memories) AS given(${jsonColumns(MEMORY)})
    ORDER BY given."clientId" NULLS FIRST, given.id
    ON CONFLICT DO NOTHING RETURNING id`,
});

const LINK = { id: "uuid", fromId: "uuid", type: "text", toId: "uuid" } as const;

/**
 * The stored relationships that have the ends and the type, or the id, of one of these, given as JSON. SQL, since a
 * call has hundreds. The order leaves PostgreSQL only the unique index: by another one it reads all of a memory, or of
 * a type.
 */
export const relationshipsAlike = defineStatement({
  name: "relationships_alike",
  values: { graphId: "uuid", relationships: "json" },
  row: LINK,
  text: `
    SELECT r.id, r.from_id AS "fromId", r.type, r.to_id AS "toId"
    FROM json_to_recordset(:relationships) AS given(${jsonColumns(LINK)}) CROSS JOIN LATERAL (
      (SELECT id, from_id, type, to_id FROM relationship
       WHERE graph_id = :graphId AND (from_id, type, to_id) >= (given."fromId", given.type, given."toId")
       ORDER BY from_id, type, to_id LIMIT 1)
      UNION ALL
      (${rowsWith("relationship", "id", "given.id", "id, from_id, type, to_id")})
    ) r
    WHERE r.id = given.id OR (r.from_id, r.type, r.to_id) = (given."fromId", given.type, given."toId")`,
});
