import { LIMITS } from "../../limits.js";
import { rowsWith } from "./many-statements.js";
import { newestInPlaceOf } from "./memory-statements.js";
import { type RowOf, defineStatement, jsonAs, oneOf } from "../../platform/database/statement.js";
import type { SupersedingMemory } from "./superseding-memory.js";

const { depth: DEPTH_MAX, steps: STEPS_MAX } = LIMITS.walk;

type Rows = "memories" | "linked" | "relationships";

/**
 * The statement that walks `depth` levels from a memory. Its rows are memories, each with the strongest relationship
 * that leads to it, or all relationships that lead to one. There is one row without an id if the memory leads nowhere,
 * and no row if it does not exist. A level is entered only while the nearer ones hold fewer memories than the limit, so
 * at most `limit` memories are ever followed. The fields of a relationship are read for a page at most, and only if
 * wanted.
 */
export function relatedStatement(depth: number, rows: Rows) {
  const statement = statements[rows][depth - 1];
  if (!statement) throw new RangeError(`A walk has 1 to ${DEPTH_MAX} levels, not ${depth}.`);
  return statement;
}

const SAID = {
  relationshipId: "uuid?",
  confidence: "float8?",
  context: "text?",
  supersededBy: jsonAs<SupersedingMemory | null>(),
} as const;
/** The relationship's own fields, and the memory that supersedes the one it leads to. */
const LINK: Readonly<Record<Rows, Partial<typeof SAID>>> = { memories: {}, linked: SAID, relationships: SAID };

const LINK_COLUMNS = `, r.id AS "relationshipId", r.confidence, r.context, newer.memory AS "supersededBy"`;
const LINK_JOINS = `
    LEFT JOIN LATERAL (${rowsWith("relationship", "id", "best.relationship_id")}) r ON true
    LEFT JOIN LATERAL (
      SELECT json_build_object('memoryId', m.id, 'title', m.title) AS memory
      FROM (${newestInPlaceOf("best.id")}) AS newest
      JOIN memory m ON m.graph_id = :graphId AND m.id = newest.id
    ) newer ON true`;

/** Fewer columns than all save PostgreSQL a twentieth of the statement's CPU. */
const WALKED = "id, from_id, to_id, type, strength";

/** SQL, since no model can walk on from its results: each level would take several queries. */
const walkStatement = (rows: Rows, levels: readonly number[]) =>
  defineStatement({
    name: `related_${rows}_${levels.length}`,
    values: { graphId: "uuid", start: "uuid", types: "text[]?", direction: "text", limit: "int4", now: "timestamptz?" },
    row: {
      id: "uuid?",
      type: "text",
      title: "text",
      relationship: "text",
      depth: "int4",
      strength: "float8",
      direction: oneOf<"in" | "out">(),
      viaMemoryId: "uuid?",
      ...LINK[rows],
    },
    text: `
    WITH level_0 AS MATERIALIZED (
      SELECT id FROM memory WHERE graph_id = :graphId AND id = :start
    ), ${levels.map((depth) => `step_${depth} AS ${step(depth)}, level_${depth} AS ${level(depth)}`).join(", ")}
    SELECT best.id, m.type, m.title, best.relationship, best.direction, best.depth, best.via AS "viaMemoryId",
      best.strength${rows === "memories" ? "" : LINK_COLUMNS}
    FROM level_0 LEFT JOIN (
      SELECT m.id, m.importance,
        near.type AS relationship, near.direction, near.depth, near.strength, near.via, near.relationship_id
      FROM (${levels.map((depth) => rowsOf(rows, depth)).join(" UNION ALL ")}) near
      CROSS JOIN LATERAL (${rowsWith("memory", "id", "near.id", "id, importance, expires_at")}) m
      WHERE :now IS NULL OR m.expires_at IS NULL OR m.expires_at > :now
      ORDER BY near.depth, near.strength DESC, m.importance DESC, m.id, near.relationship_id LIMIT :limit
    ) best ON true
    LEFT JOIN LATERAL (${rowsWith("memory", "id", "best.id", "type, title")}) m ON true
    ${rows === "memories" ? "" : LINK_JOINS}
    ORDER BY best.depth, best.strength DESC, best.importance DESC, best.id, best.relationship_id`,
  });

export type RelatedRow = RowOf<ReturnType<typeof walkStatement>>;

/** The subqueries that the rows come from, one for each level. */
const OF_ROWS = { memories: "level", linked: "level", relationships: "step" } as const;
const rowsOf = (rows: Rows, depth: number): string => `SELECT *, ${depth} AS depth FROM ${OF_ROWS[rows]}_${depth}`;
const statements = { memories: walks("memories"), linked: walks("linked"), relationships: walks("relationships") };

function walks(rows: Rows) {
  const levels = Array.from({ length: DEPTH_MAX }, (_, before) => before + 1);
  return levels.map((depth) => walkStatement(rows, levels.slice(0, depth)));
}

/**
 * The relationships that lead on from the level before, except to memories of a nearer level. `IS NOT TRUE` makes
 * PostgreSQL look these up in tables of hashes: as joins it would compare 10,000 relationships with 1,000 memories.
 */
function step(depth: number): string {
  const nearer = Array.from({ length: depth - 1 }, (_, before) => `level_${before + 1}`);
  const isNew = nearer.map((name) => `AND (step.id IN (SELECT id FROM ${name})) IS NOT TRUE`);
  const reached = nearer.map((name) => `(SELECT count(*) FROM ${name})`);
  return `(
      SELECT id, via, relationship_id, type, direction, strength
      FROM (${stepsFrom("from_id", "to_id", "out", depth)} UNION ALL ${stepsFrom("to_id", "from_id", "in", depth)}
            LIMIT ${STEPS_MAX}) step
      WHERE step.id <> :start ${isNew.join(" ")}
        ${reached.length > 0 ? `AND ${reached.join(" + ")} < :limit` : ""}
    )`;
}

/** Each memory once: of several ways to it, the strongest. */
function level(depth: number): string {
  return `MATERIALIZED (
      SELECT DISTINCT ON (id) * FROM step_${depth} ORDER BY id, strength DESC, type, relationship_id
    )`;
}

function stepsFrom(
  here: "from_id" | "to_id",
  there: "from_id" | "to_id",
  direction: "in" | "out",
  depth: number,
): string {
  const via = depth === 1 ? "NULL::uuid" : `r.${here}`;
  return `
        SELECT r.${there} AS id, ${via} AS via, r.id AS relationship_id, r.type, '${direction}' AS direction, r.strength
        FROM level_${depth - 1} CROSS JOIN LATERAL (${rowsWith("relationship", here, `level_${depth - 1}.id`, WALKED)}) r
        WHERE :direction <> '${direction === "out" ? "in" : "out"}' AND (:types IS NULL OR r.type = ANY(:types))`;
}
