import { snakeCase } from "../../operation/names.js";
import { type SqlType, defineStatement } from "../../platform/database/statement.js";
import { CONTENTS, CONTENT_TYPES, MEMORY_COLUMNS } from "./memory-columns.js";
import { AMONG_IDS, rowsWith } from "./many-statements.js";
import { LINK_COLUMNS } from "./relationship-columns.js";
import { type Direction, RELATIONSHIPS_SHOWN_MAX } from "./memory.js";

const COLUMNS = CONTENTS.map(snakeCase);

/**
 * Stores a memory; false if another memory of the graph has its client id. SQL, since memories are created often: it
 * takes one round trip, and one call on the node that has the graph.
 */
export const storeMemory = defineStatement({
  name: "create_memory",
  values: {
    graphId: "uuid",
    id: "uuid",
    ...CONTENT_TYPES,
    userId: "uuid",
    time: "timestamptz",
    bytes: "int8",
    memoriesMax: "int4",
    bytesMax: "int8",
  },
  row: { stored: "bool" },
  text: `
    SELECT create_memory(:graphId, :id, ${CONTENTS.map((name) => `p_${snakeCase(name)} => :${name}`).join(", ")},
      p_user_id => :userId, p_time => :time, p_bytes => :bytes, p_memories_max => :memoriesMax,
      p_bytes_max => :bytesMax) AS stored`,
});

/**
 * Locks a memory and copies its present state into a version, unless its client id or version is not the expected
 * one. SQL, so that its texts do not leave the database.
 */
export const keepVersion = defineStatement({
  name: "keep_version",
  values: { graphId: "uuid", id: "uuid", clientId: "text?", expectedVersion: "int4?" },
  row: { version: "int4" },
  text: `
    INSERT INTO memory_version (graph_id, memory_id, version, ${COLUMNS.join(", ")}, changed_by, changed_at)
    SELECT graph_id, id, version, ${COLUMNS.join(", ")}, updated_by, updated_at FROM memory
    WHERE graph_id = :graphId AND id = :id AND (:clientId IS NULL OR client_id = :clientId)
      AND (:expectedVersion IS NULL OR version = :expectedVersion) FOR UPDATE
    RETURNING version`,
});

/** Replaces a context. SQL, since Prisma writes large numbers in another way than they were measured. */
export const writeContext = defineStatement({
  name: "write_context",
  values: { graphId: "uuid", id: "uuid", context: "json?" },
  row: {},
  text: "UPDATE memory SET context = :context WHERE graph_id = :graphId AND id = :id",
});

/**
 * The relationships in one direction. `OFFSET 0` makes PostgreSQL find a memory's own relationships before it sorts.
 * Otherwise it would read those of the whole graph in order, again for each memory.
 */
const linksFrom = (end: "from_id" | "to_id", other: "from_id" | "to_id", direction: `${Direction}`) =>
  `(${rowsWith("relationship", end, "m.id", `*, '${direction}' AS direction, ${other} AS other_id`)})`;

/**
 * The newest relationships of a memory `m` as JSON. Each is a list without names (`LinkItem`), and what the memory says
 * already is left out: that saves PostgreSQL and Node up to a third of the statement's CPU.
 */
const linkedWith = (further: "" | ", r.context") => `
      CROSS JOIN LATERAL (
        SELECT count(*)::int AS shown, coalesce(json_agg(link), '[]') AS relationships
        FROM (
          SELECT json_build_array(r.id, r.type, r.direction, other.id, other.type, other.title, r.strength,
            r.confidence, r.created_at${further}) AS link
          FROM (${linksFrom("from_id", "to_id", "out")} UNION ALL ${linksFrom("to_id", "from_id", "in")}
                ORDER BY id DESC LIMIT ${RELATIONSHIPS_SHOWN_MAX}) r
          CROSS JOIN LATERAL (${rowsWith("memory", "id", "r.other_id", "id, type, title")}) other
          ORDER BY r.id DESC
        ) newest
      ) linked`;

/** A relationship as `linkedWith` selects it. */
export type LinkItem = readonly [
  relationshipId: string,
  type: string,
  direction: Direction,
  otherId: string,
  otherType: string,
  title: string,
  strength: number,
  confidence: number,
  createdAt: string,
  context?: string | null,
];

/** All are counted only where there may be more than are shown. */
const LINKED = [
  `CASE WHEN linked.shown < ${RELATIONSHIPS_SHOWN_MAX} THEN linked.shown ELSE
        (SELECT count(*) FROM relationship WHERE graph_id = :graphId AND from_id = m.id)::int
        + (SELECT count(*) FROM relationship WHERE graph_id = :graphId AND to_id = m.id)::int
      END AS "relationshipsTotal"`,
  "linked.relationships",
];

/** Contents and contexts that are not requested are not read from PostgreSQL's storage of long values. */
const READ = new Map(MEMORY_COLUMNS)
  .set("content", `CASE WHEN :withContent THEN m.content ELSE '' END AS content`)
  .set("context", `CASE WHEN :withContent THEN m.context END AS context`);

const ROW = {
  graphId: "uuid",
  id: "uuid",
  ...CONTENT_TYPES,
  version: "int4",
  createdBy: "uuid",
  createdAt: "timestamptz",
  updatedAt: "timestamptz",
} as const;

/**
 * Reads memories of a graph, alone or with their relationships. SQL, since memories are read more often than anything
 * else, and no model reads them with their relationships in one round trip. `SELECT` hides from the planner how many
 * ids there are, and `OFFSET 0` how large the graph is. Otherwise a custom plan looks cheaper than the generic one, and
 * planning anew takes 0.1 to 0.5 ms each time.
 */
const readStatement = <const Further extends Readonly<Record<string, SqlType>>>(
  name: string,
  further: Further,
  columns: readonly string[] = [],
  join = "",
) =>
  defineStatement({
    name,
    values: { graphId: "uuid", ids: "uuid[]", withContent: "bool" },
    row: { ...ROW, ...further },
    text: `
      SELECT ${[...READ.values(), ...columns].join(", ")}
      FROM unnest((SELECT :ids)) AS wanted(id)
      CROSS JOIN LATERAL (${rowsWith("memory", "id", "wanted.id")}) m${join}`,
  });

export const memoriesAlone = readStatement("memories_alone", {});
const OF_LINKED = { relationshipsTotal: "int4", relationships: "json" } as const;
export const memoriesWithRelationships = readStatement(
  "memories_with_relationships",
  OF_LINKED,
  LINKED,
  linkedWith(""),
);
/** With the relationships' contexts, for one memory only: a hundred contexts may have a million characters. */
export const memoriesWithLinks = readStatement("memories_with_links", OF_LINKED, LINKED, linkedWith(", r.context"));

/** Compares pairs of columns, since only the index that begins with this end of a relationship supports that. */
const ofType = (end: "from_id" | "to_id", id: string, type: string): string =>
  `(${end}, type) >= (${id}, '${type}') AND (${end}, type) <= (${id}, '${type}')`;

/**
 * Selects the id of the memory that was last linked as one that supersedes a memory. With an index that begins with
 * the type, PostgreSQL would read all relationships of this type in the graph, and it may expect only a few.
 */
export const newestInPlaceOf = (id: string) => `
      SELECT either.other_id AS id FROM (
        (SELECT id, from_id AS other_id FROM relationship
          WHERE graph_id = :graphId AND ${ofType("to_id", id, "REPLACES")} LIMIT 20)
        UNION ALL
        (SELECT id, to_id FROM relationship
          WHERE graph_id = :graphId AND ${ofType("from_id", id, "DEPRECATED_BY")} LIMIT 20)) AS either
      ORDER BY either.id DESC LIMIT 1`;

/** Selects the id of the memory that was last linked as one that solves a memory, else as one that addresses it. */
const newestSolving = (id: string) => `
      SELECT either.other_id AS id FROM (
        (SELECT id, type, from_id AS other_id FROM relationship
          WHERE graph_id = :graphId AND ${ofType("to_id", id, "SOLVES")} LIMIT 20)
        UNION ALL
        (SELECT id, type, from_id FROM relationship
          WHERE graph_id = :graphId AND ${ofType("to_id", id, "ADDRESSES")} LIMIT 20)) AS either
      ORDER BY either.type DESC, either.id DESC LIMIT 1`;

/** For each memory, another one that a query chooses. SQL, since no model finds the newest for each in one round trip. */
const newestStatement = (name: string, chosenFor: (id: string) => string) =>
  defineStatement({
    name,
    values: { graphId: "uuid", ids: "uuid[]" },
    row: { id: "uuid", memoryId: "uuid", title: "text" },
    text: `
    SELECT wanted.id, newest.id AS "memoryId", m.title
    FROM unnest((SELECT :ids)) AS wanted(id)
    CROSS JOIN LATERAL (${chosenFor("wanted.id")}) AS newest
    JOIN memory m ON m.graph_id = :graphId AND m.id = newest.id`,
  });

/**
 * The memories that supersede others: for each, the last linked one that REPLACES it or that it is DEPRECATED_BY. If
 * there are more than 20 such relationships of a type, some of them are looked at.
 */
export const supersedingMemories = newestStatement("superseding_memories", newestInPlaceOf);

/** The memories that solve others: for each, the last linked one that SOLVES it, else that ADDRESSES it, likewise. */
export const solvingMemories = newestStatement("solving_memories", newestSolving);

const MADE_BY = 'id, created_by AS "createdBy", updated_by AS "updatedBy"';

/** Who stored and who last changed memories. SQL for `rowsWith`. */
export const makersOfMemories = defineStatement({
  name: "makers_of_memories",
  values: { graphId: "uuid", ids: "uuid[]" },
  row: { id: "uuid", createdBy: "uuid", updatedBy: "uuid" },
  text: `
    SELECT made.* FROM unnest((SELECT :ids)) AS wanted(id)
    CROSS JOIN LATERAL (${rowsWith("memory", "id", "wanted.id", MADE_BY)}) made`,
});

/**
 * The addresses of those of some users who are in a team. SQL, since for a model's list of ids PostgreSQL reads all
 * members, or all users. `OFFSET 0` makes it look up each.
 */
export const addressesOfMembers = defineStatement({
  name: "addresses_of_members",
  values: { teamId: "uuid", ids: "uuid[]" },
  row: { id: "uuid", email: "text" },
  text: `
    SELECT member.* FROM unnest((SELECT :ids)) AS wanted(id) CROSS JOIN LATERAL (
      SELECT u.id, u.email FROM team_member m JOIN user_account u ON u.id = m.user_id
      WHERE m.user_id = wanted.id AND m.team_id = :teamId OFFSET 0
    ) member`,
});

/**
 * Copies rows of some memories into another graph unchanged, in the order in which `storeMemories` and
 * `storeRelationships` store theirs. SQL, so that their texts do not leave the database. It names two graphs: the
 * source and the target.
 */
const copyStatement = (table: "memory" | "relationship", columns: readonly string[], whichInOrder: string) =>
  defineStatement({
    name: `copy_${table}`,
    values: { graphId: "uuid", ids: "uuid[]", toGraphId: "uuid" },
    row: { id: "uuid" },
    text: `
      INSERT INTO ${table} (graph_id, ${columns.join(", ")}) SELECT :toGraphId, ${columns.join(", ")}
      FROM ${table} WHERE graph_id = :graphId AND ${whichInOrder} RETURNING id`,
  });

export const copyMemories = copyStatement(
  "memory",
  ["id", ...COLUMNS, "version", "created_by", "created_at", "updated_by", "updated_at"],
  `id = ${AMONG_IDS} ORDER BY client_id NULLS FIRST, id`,
);
/** Copies the relationships between these memories. */
export const copyRelationships = copyStatement(
  "relationship",
  [...LINK_COLUMNS.values()],
  `from_id = ${AMONG_IDS} AND to_id IN (SELECT unnest(:ids)) ORDER BY from_id, type, to_id`,
);
