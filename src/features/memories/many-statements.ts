import { snakeCase } from "../../operation/names.js";
import { type SqlType, defineStatement } from "../../platform/database/statement.js";
import { jsonColumns } from "./memory-columns.js";
import { ROW_FILTERS } from "./memory-filter.js";
import { LINK_TYPES } from "./relationship-columns.js";

/**
 * The right side of `column = ANY(…)` for the ids given to a statement. `SELECT` hides the length of the list from the
 * planner. For some hundred values it would otherwise read the whole graph, which it takes for a small part of the
 * table (see the migration `plans_for_any_graph`), instead of looking up each value. It does so for lists that Prisma's
 * models send.
 */
export const AMONG_IDS = "ANY((SELECT :ids)::uuid[])";

const OF_MANY = { graphId: "uuid", ids: "uuid[]" } as const;

/**
 * The rows with a value in a column. `OFFSET 0` makes the planner look up each value, instead of joining the whole
 * graph.
 */
export const rowsWith = (table: "memory" | "relationship", column: string, value: string, columns = "*"): string =>
  `SELECT ${columns} FROM ${table} WHERE graph_id = :graphId AND ${column} = ${value} OFFSET 0`;

const eachOf = (list: string, column: string): string => `
    SELECT own.* FROM unnest((SELECT :${list})) AS wanted(value)
    CROSS JOIN LATERAL (${rowsWith("memory", column, "wanted.value")}) own`;

/** PostgreSQL knows the length of a long text without reading it. */
const TEXT_BYTES = "octet_length(title) + octet_length(content) + coalesce(octet_length(summary), 0)";

/** The memories that have one of these ids, or one of these client ids, and what is known of them. SQL for `rowsWith`. */
export const memoriesByIds = defineStatement({
  name: "meant_memories",
  values: { ...OF_MANY, clientIds: "text[]" },
  row: { id: "uuid", clientId: "text?", type: "text", title: "text", bytes: "int4" },
  text: `
    SELECT id, client_id AS "clientId", type, title, ${TEXT_BYTES} AS bytes FROM (${eachOf("ids", "id")}) by_id
    UNION
    SELECT id, client_id, type, title, ${TEXT_BYTES} FROM (${eachOf("clientIds", "client_id")}) by_client_id`,
});

/** Those of some memories that pass a filter, see `filterOf`. SQL for `rowsWith`. */
export const passingMemories = defineStatement({
  name: "passing_memories",
  values: {
    ...OF_MANY,
    types: "text[]?",
    tags: "text[]",
    anyTag: "bool",
    ...ROW_FILTERS,
    now: "timestamptz?",
  },
  row: { id: "uuid", version: "int4" },
  text: `
    SELECT m.id, m.version FROM (${eachOf("ids", "id")}) m
    WHERE (:types IS NULL OR m.type = ANY (:types))
      AND (cardinality(:tags) = 0 OR CASE WHEN :anyTag THEN m.tags && :tags ELSE m.tags @> :tags END)
      AND (:minImportance IS NULL OR m.importance >= :minImportance) AND (:project IS NULL OR m.project = :project)
      AND (:createdAfter IS NULL OR m.created_at >= :createdAfter)
      AND (:createdBefore IS NULL OR m.created_at < :createdBefore)
      AND (:now IS NULL OR m.expires_at IS NULL OR m.expires_at > :now)`,
});

/**
 * How many relationships each of some memories has, in both directions together. SQL, since a model would look for the
 * list in the whole graph, see `AMONG_IDS`.
 */
export const relationshipsOfEach = defineStatement({
  name: "relationships_of_each",
  values: OF_MANY,
  row: { id: "uuid", count: "int4" },
  text: `
    SELECT wanted.id, ((SELECT count(*) FROM relationship WHERE graph_id = :graphId AND from_id = wanted.id)
        + (SELECT count(*) FROM relationship WHERE graph_id = :graphId AND to_id = wanted.id))::int4 AS count
    FROM unnest((SELECT :ids)) AS wanted(id)`,
});

/**
 * How many ends of relationships are at some memories, looking at no more than so many, and how many relationships join
 * two of them, which have both ends there. SQL, like `relationshipsOfEach`.
 */
export const relationshipsOfAll = defineStatement({
  name: "relationships_of_all",
  values: { ...OF_MANY, most: "int4" },
  row: { ends: "int4", between: "int4" },
  text: `
    SELECT count(*)::int4 AS ends, (count(*) FILTER (WHERE found.is_between))::int4 AS between
    FROM (
      SELECT held.is_between FROM unnest((SELECT :ids)) AS wanted(id) CROSS JOIN LATERAL (
        SELECT to_id IN (SELECT unnest(:ids)) AS is_between
        FROM relationship WHERE graph_id = :graphId AND from_id = wanted.id
        UNION ALL
        SELECT false FROM relationship WHERE graph_id = :graphId AND to_id = wanted.id
      ) held LIMIT :most
    ) found`,
});

const LINK: Readonly<Record<string, SqlType>> = {
  id: "uuid",
  fromId: "uuid",
  type: "text",
  toId: "uuid",
  ...LINK_TYPES,
  createdBy: "uuid",
  createdAt: "timestamptz",
};

/**
 * Stores relationships, given as JSON. Returns those that did not exist and whose memories do. The order is the same in
 * all transactions, so that two do not wait for each other. The memories are locked first, in the order in which a
 * deletion locks them (`measure`): foreign keys would lock them in the order of the relationships. `IS TRUE` makes
 * PostgreSQL look memories up in a hash table, not compare each with each. SQL, since no model locks rows, and Prisma
 * compiles a statement with all their values each time: 500 took 150 ms in one turn of the event loop.
 */
export const storeRelationships = defineStatement({
  name: "store_relationships",
  values: { graphId: "uuid", relationships: "json" },
  row: { id: "uuid" },
  text: `
    WITH given AS (SELECT * FROM json_to_recordset(:relationships) AS given(${jsonColumns(LINK)})),
      held AS (SELECT id FROM memory
        WHERE graph_id = :graphId AND id = ANY(ARRAY(SELECT "fromId" FROM given UNION SELECT "toId" FROM given))
        ORDER BY id FOR KEY SHARE)
    INSERT INTO relationship (graph_id, ${Object.keys(LINK).map(snakeCase).join(", ")})
    SELECT :graphId, ${Object.keys(LINK)
      .map((name) => `"${name}"`)
      .join(", ")}
    FROM given WHERE ("fromId" IN (SELECT id FROM held) AND "toId" IN (SELECT id FROM held)) IS TRUE
    ORDER BY "fromId", type, "toId"
    ON CONFLICT DO NOTHING RETURNING id`,
});

/** Deletes memories, and by foreign keys their versions and relationships. SQL for `AMONG_IDS`. */
export const removeMemories = defineStatement({
  name: "remove_memories",
  values: OF_MANY,
  row: { id: "uuid" },
  text: `DELETE FROM memory WHERE graph_id = :graphId AND id = ${AMONG_IDS} RETURNING id`,
});
