import { defineStatement, oneOf } from "../../platform/statement.js";

export const DEPTH_MAX = 5;
/** How many relationships one level of a walk looks at: a hub with more is walked in part, never without end. */
export const STEPS_MAX = 10_000;

/**
 * Walks `depth` levels from a memory. One row without an id where it leads nowhere; none where there is none. A level is entered only
 * while the nearer ones hold fewer memories than the limit, so at most `limit` memories are ever walked on from.
 */
export function relatedStatement(depth: number) {
  const statement = statements[depth - 1];
  if (!statement) throw new RangeError(`A walk has 1 to ${DEPTH_MAX} levels, not ${depth}.`);
  return statement;
}

/** SQL, since no model goes on from where it came to: each level would be several queries. */
const walkStatement = (levels: readonly number[]) =>
  defineStatement({
    name: `related_memories_${levels.length}`,
    values: { graphId: "uuid", start: "uuid", types: "text[]?", direction: "text", limit: "int4" },
    row: {
      ...{ id: "uuid?", type: "text", title: "text", relationship: "text", depth: "int4", strength: "float8" },
      direction: oneOf<"in" | "out">(),
    },
    text: `
    WITH level_0 AS MATERIALIZED (
      SELECT id FROM memory WHERE graph_id = :graphId AND id = :start
    ), ${levels.map(level).join(", ")}
    SELECT best.id, best.type, best.title, best.relationship, best.direction, best.depth, best.strength
    FROM level_0 LEFT JOIN (
      SELECT m.id, m.type, m.title, m.importance,
        near.type AS relationship, near.direction, near.depth, near.strength
      FROM (${levels.map((depth) => `SELECT *, ${depth} AS depth FROM level_${depth}`).join(" UNION ALL ")}) near
      JOIN memory m ON m.graph_id = :graphId AND m.id = near.id
      ORDER BY near.depth, near.strength DESC, m.importance DESC, m.id LIMIT :limit
    ) best ON true
    ORDER BY best.depth, best.strength DESC, best.importance DESC, best.id`,
  });

const statements = Array.from({ length: DEPTH_MAX }, (_, index) =>
  walkStatement(Array.from({ length: index + 1 }, (_level, before) => before + 1)),
);

/** What is one step further than the level before, and no nearer; of several ways to it, the strongest. */
function level(depth: number): string {
  const nearer = Array.from({ length: depth }, (_, before) => `level_${before}`);
  const reached = nearer.slice(1).map((name) => `(SELECT count(*) FROM ${name})`);
  return `level_${depth} AS MATERIALIZED (
      SELECT DISTINCT ON (id) id, type, direction, strength
      FROM (${step("from_id", "to_id", "out", depth)} UNION ALL ${step("to_id", "from_id", "in", depth)}
            LIMIT ${STEPS_MAX}) step
      WHERE ${nearer.map((name) => `NOT EXISTS (SELECT FROM ${name} WHERE ${name}.id = step.id)`).join(" AND ")}
        ${reached.length > 0 ? `AND ${reached.join(" + ")} < :limit` : ""}
      ORDER BY id, strength DESC, type)`;
}

function step(here: "from_id" | "to_id", there: "from_id" | "to_id", direction: "in" | "out", depth: number): string {
  return `
        SELECT r.${there} AS id, r.type, '${direction}' AS direction, r.strength
        FROM level_${depth - 1} JOIN relationship r ON r.graph_id = :graphId AND r.${here} = level_${depth - 1}.id
        WHERE :direction <> '${direction === "out" ? "in" : "out"}' AND (:types IS NULL OR r.type = ANY(:types))`;
}
