import { LIMITS } from "../../limits.js";
import { defineStatement, oneOf } from "../../platform/database/statement.js";

const { types } = LIMITS.views;

/**
 * How many memories and relationships of each type a graph holds. SQL, since no model groups a limited number of rows.
 * A million of each cost 350 ms of PostgreSQL's CPU: they are counted from an index alone.
 */
export const countGraph = defineStatement({
  name: "count_graph",
  values: { graphId: "uuid", most: "int4" },
  row: {
    what: oneOf<"memory" | "relationship">(),
    type: "text",
    count: "int4",
    total: "int4",
    averageImportance: "float8?",
    averageConfidence: "float8?",
  },
  text: `
    ${countsOf("memory", "importance, confidence")}
    UNION ALL
    ${countsOf("relationship", "NULL::float8 AS importance, NULL::float8 AS confidence")}`,
});

function countsOf(table: "memory" | "relationship", numbers: string): string {
  return `
    (SELECT '${table}' AS what, type, count(*)::int4 AS count, (sum(count(*)) OVER ())::int4 AS total,
       ${averageOf("importance")} AS "averageImportance",
       ${averageOf("confidence")} AS "averageConfidence"
     FROM (SELECT type, ${numbers} FROM ${table} WHERE graph_id = :graphId LIMIT :most) rows
     GROUP BY type ORDER BY count(*) DESC, type LIMIT ${types})`;
}

/** Over all types. Rounded, since the sum of many 0.8 is not exactly as many times 0.8: their average must be 0.8. */
function averageOf(column: string): string {
  return `round((sum(sum(${column})) OVER () / sum(count(*)) OVER ())::numeric, 6)::float8`;
}
