import { snakeCase } from "../../operation/names.js";
import { type SqlType, defineStatement } from "../../platform/database/statement.js";
import { CONTENT_TYPES, LINK_TYPES } from "../memories/index.js";

/** The columns of a relationship's ends, by their names in records. */
const ENDS = new Map([
  ["from", "from_id"],
  ["to", "to_id"],
]);

/**
 * The rows of a graph after one id and up to another, in the order of their ids. SQL, since a stream of a whole graph
 * reads thousands of rows, and Prisma's models take several times as much memory for each.
 */
const betweenStatement = <const Row extends Readonly<Record<string, SqlType>>>(
  table: "memory" | "relationship",
  row: Row,
  condition = "",
) =>
  defineStatement({
    name: `${table}_between`,
    isPage: true,
    values: { graphId: "uuid", after: "uuid", until: "uuid", take: "int4" },
    row,
    text: `
      SELECT ${Object.keys(row)
        .map((name) => `${ENDS.get(name) ?? snakeCase(name)} AS "${name}"`)
        .join(", ")}
      FROM ${table} WHERE graph_id = :graphId AND id > :after AND id <= :until ${condition} ORDER BY id LIMIT :take`,
  });

export const memoriesBetween = betweenStatement("memory", {
  id: "uuid",
  ...CONTENT_TYPES,
  version: "int4",
  createdBy: "uuid",
  createdAt: "timestamptz",
  updatedAt: "timestamptz",
  updatedBy: "uuid",
});

/**
 * Leaves out relationships whose memories are left out: servers' clocks differ, and restored ids may be of the past.
 */
export const relationshipsBetween = betweenStatement(
  "relationship",
  {
    id: "uuid",
    type: "text",
    ...LINK_TYPES,
    createdBy: "uuid",
    createdAt: "timestamptz",
    from: "uuid",
    to: "uuid",
  },
  "AND from_id <= :until AND to_id <= :until",
);
