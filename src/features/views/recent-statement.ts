import { LIMITS } from "../../limits.js";
import { defineStatement, jsonAs, oneOf } from "../../platform/database/statement.js";
import { CLOSING, MEMORY_COLUMNS, type Memory, OPEN_TYPES } from "../memories/index.js";
import type { TypeCount } from "./type-count.js";

/** How many changed memories an answer has, and how many problems. */
export const NEWEST_MAX = 20;
export const UNSOLVED_MAX = 10;

const { problems, types } = LIMITS.views;
const listed = (types: readonly string[]): string => types.map((type) => `'${type}'`).join(", ");
const COLUMNS = [...MEMORY_COLUMNS.values()].join(", ");

/** The memories that changed since a time, the last changed first, up to the number that is looked at. */
const LOOKED_AT = `
    SELECT id, type, importance, project, updated_at, expires_at
    FROM memory WHERE graph_id = :graphId AND updated_at >= :since
    ORDER BY updated_at DESC, id DESC LIMIT :most`;

/** The filter of the request: project, types, and not expired. */
const WANTED = `(:types IS NULL OR type = ANY(:types)) AND (:project IS NULL OR project = :project)
        AND (:expired IS NULL OR expires_at IS NULL OR expires_at > :expired)`;
const RECENT = `SELECT * FROM (${LOOKED_AT}) looked_at WHERE ${WANTED}`;

/** A memory in JSON, where times are texts. */
export type MemoryInJson = Omit<Memory, "createdAt" | "updatedAt" | "expiresAt"> & {
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly expiresAt: string | null;
};

/**
 * What changed in a graph since a time: a row with the counts, then one for each memory, so that they are not all
 * parsed in one turn of the event loop. SQL, since all parts must be of one moment, and no model groups a limited
 * number of rows. `OFFSET 0` makes PostgreSQL look up each problem's solutions instead of reading those of the whole
 * graph.
 */
export const recentActivityOf = defineStatement({
  name: "recent_activity",
  values: {
    graphId: "uuid",
    since: "timestamptz",
    project: "text?",
    types: "text[]?",
    expired: "timestamptz?",
    most: "int4",
    offset: "int4",
    unresolvedOffset: "int4",
  },
  row: {
    total: "int4?",
    isCapped: "bool?",
    unresolvedTotal: "int4?",
    byType: jsonAs<TypeCount[] | null>(),
    list: oneOf<"counts" | "memories" | "problems">(),
    memory: jsonAs<MemoryInJson | null>(),
    place: "int4",
  },
  text: `
    WITH counts AS MATERIALIZED (
      SELECT type, count(*) FILTER (WHERE ${WANTED})::int4 AS count, count(*) AS looked_at
      FROM (${LOOKED_AT}) recent GROUP BY type
    ), newest AS MATERIALIZED (
      SELECT id FROM (${RECENT}) recent ORDER BY updated_at DESC, id DESC LIMIT ${NEWEST_MAX} OFFSET :offset
    ), unsolved AS MATERIALIZED (
      SELECT id, importance, updated_at FROM (
        SELECT * FROM (${RECENT}) recent WHERE type IN (${listed(OPEN_TYPES)}) LIMIT ${problems}
      ) problem
      WHERE NOT EXISTS (
        SELECT 1 FROM relationship r
        WHERE r.graph_id = :graphId AND r.to_id = problem.id AND r.type IN (${listed(CLOSING)}) OFFSET 0
      )
    ), shown AS MATERIALIZED (
      SELECT id FROM unsolved
      ORDER BY importance DESC, updated_at DESC, id DESC LIMIT ${UNSOLVED_MAX} OFFSET :unresolvedOffset
    )
    SELECT (SELECT coalesce(sum(count), 0)::int4 FROM counts) AS total,
      (SELECT coalesce(sum(looked_at), 0) = :most FROM counts) AS "isCapped",
      (SELECT count(*)::int4 FROM unsolved) AS "unresolvedTotal",
      (SELECT coalesce(json_agg(c), '[]') FROM (
        SELECT type, count FROM counts WHERE count > 0 ORDER BY count DESC, type LIMIT ${types}) c) AS "byType",
      'counts' AS list, NULL::json AS memory, 0 AS place
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, 'memories', to_json(m),
      (row_number() OVER (ORDER BY m."updatedAt" DESC, m.id DESC))::int4
    FROM (SELECT ${COLUMNS} FROM newest JOIN memory m ON m.graph_id = :graphId AND m.id = newest.id) m
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, 'problems', to_json(p),
      (row_number() OVER (ORDER BY p.importance DESC, p."updatedAt" DESC, p.id DESC))::int4
    FROM (SELECT ${COLUMNS} FROM shown JOIN memory m ON m.graph_id = :graphId AND m.id = shown.id) p
    ORDER BY place`,
});
