import { LIMITS } from "../../limits.js";
import { defineStatement, jsonAs } from "../../platform/database/statement.js";
import { AMONG_IDS, rowsWith } from "../memories/index.js";
import type { GraphEdge, GraphNode } from "./memory-graph.js";

/**
 * One step of a walk: the memories that relationships lead to from some memories, each once, by its strongest
 * relationship; with `strongest`, only so many of them, by the strongest relationships. `vias` and `relationshipIds`
 * tell how each of `ids` was reached, at the same place. All are texts of ids with commas between them, the given ids
 * too: reading 10,000 rows would keep Node from all other work for 20 ms. SQL, to look at a limited number of
 * relationships, even where they lead to memories already known.
 */
export const stepFrom = defineStatement({
  name: "step_from",
  values: { graphId: "uuid", ids: "text", types: "text[]?", direction: "text", limit: "int4", strongest: "int4?" },
  row: { looked: "int4", ids: "text", vias: "text", relationshipIds: "text" },
  text: `
    WITH here AS MATERIALIZED (SELECT unnest(('{' || (SELECT :ids) || '}')::uuid[]) AS id),
    seen AS MATERIALIZED (
      SELECT * FROM (${stepsBy("from_id", "to_id", "out")} UNION ALL ${stepsBy("to_id", "from_id", "in")}) both_ways
      LIMIT :limit
    )
    SELECT (SELECT count(*)::int4 FROM seen) AS looked,
      ${textOf("id")} AS ids, ${textOf("via")} AS vias, ${textOf("relationship_id")} AS "relationshipIds"
    FROM (
      SELECT * FROM (
        SELECT DISTINCT ON (id) * FROM seen WHERE :types IS NULL OR type = ANY(:types)
        ORDER BY id, strength DESC, relationship_id
      ) best ORDER BY CASE WHEN :strongest IS NULL THEN 0 ELSE -strength END, id LIMIT :strongest
    ) reached`,
});

/** The ids in a text of a step. */
export const idsIn = (text = ""): string[] => (text === "" ? [] : text.split(","));

function stepsBy(here: "from_id" | "to_id", there: "from_id" | "to_id", direction: "in" | "out"): string {
  return `
      SELECT r.${there} AS id, r.${here} AS via, r.id AS relationship_id, r.type, r.strength
      FROM here CROSS JOIN LATERAL (${rowsWith("relationship", here, "here.id")}) r
      WHERE :direction <> '${direction === "out" ? "in" : "out"}'`;
}

function textOf(column: string): string {
  return `coalesce(string_agg(${column}::text, ','), '')`;
}

const { drawnFrom, edges } = LIMITS.views;
const EDGE = "id, from_id, to_id, type, strength";

/**
 * The memories of a drawing and the strongest relationships between them, one more than the limit if there are more.
 * Both are of one moment, so every relationship has its memories. SQL for that reason, and since models would read all
 * relationships of a memory to find those that lead to the others. `IS TRUE` makes PostgreSQL look up the ends of the
 * relationships in a table of hashes: a join would compare each of them with all memories, 10 million times.
 */
export const drawing = defineStatement({
  name: "draw_graph",
  values: { graphId: "uuid", ids: "uuid[]" },
  row: { isCapped: "bool", nodes: jsonAs<readonly GraphNode[]>(), edges: jsonAs<readonly GraphEdge[]>() },
  text: `
    WITH node AS MATERIALIZED (
      SELECT id AS "memoryId", type, title, importance FROM memory WHERE graph_id = :graphId AND id = ${AMONG_IDS}
    ), seen AS MATERIALIZED (
      SELECT r.* FROM node CROSS JOIN LATERAL (${rowsWith("relationship", "from_id", 'node."memoryId"', EDGE)}) r
      LIMIT ${drawnFrom}
    )
    SELECT (SELECT count(*) >= ${drawnFrom} FROM seen) AS "isCapped",
      (SELECT coalesce(json_agg(node ORDER BY "memoryId" DESC), '[]') FROM node) AS nodes,
      (SELECT coalesce(json_agg(edge), '[]') FROM (
        SELECT seen.id AS "relationshipId", seen.from_id AS "from", seen.to_id AS "to", seen.type, seen.strength
        FROM seen WHERE (seen.to_id IN (SELECT "memoryId" FROM node)) IS TRUE ORDER BY seen.strength DESC, seen.id
        LIMIT ${edges + 1}) edge) AS edges`,
});
