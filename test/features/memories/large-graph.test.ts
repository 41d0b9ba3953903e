import { expect, it } from "vitest";
import { graphqlSchema, operations } from "../../../src/operations.js";
import { createTeam } from "../../../src/features/teams/create-team.js";
import { inputTypeOf } from "../../../src/operation/input.js";
import type { Operation } from "../../../src/operation/operation.js";
import { cursorOf } from "../../../src/operation/page.js";
import { ProcessBudgets } from "../../../src/platform/rate-limit/rate-limiter.js";
import { manyLinks, manyMemories } from "../../support/memories.js";
import { inputFields } from "../../support/operations.js";
import { rowsRead } from "../../support/rows-read.js";
import { Actor, type World, createWorld } from "../../support/world.js";

/** Memories of the large graph. Each has three relationships and an earlier version. */
const MEMORIES = 6_000;
/** The most rows that one operation may read; each list of ids in its input has `MANY` items. */
const READ_MAX = 2_500;
const MANY = 40;
/** How often each input runs. PostgreSQL plans the first five executions for their values, and then decides. */
const TIMES = 7;

const FIRST = "00000000-0000-0000-0000-000000000000";
const LAST = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** What the large graph contains, for inputs. */
interface Large {
  /** The ids of memories that no other call has got. */
  take(count: number): string[];
  readonly graphId: string;
  readonly middle: string;
  readonly relationship: string;
  readonly ends: readonly [from: string, to: string];
}

/** The inputs of each operation. Together they use every field, for what is rare in the graph or deep in it. */
const ASKED: Readonly<Record<string, (large: Large) => readonly object[]>> = {
  createMemory: () => [
    { ...NOTE, clientId: "new" },
    { ...NOTE, similar: true },
  ],
  putMemory: () => [{ ...NOTE, clientId: "put" }],
  memory: ({ middle }) => [{ id: middle }, { id: "none" }],
  memories: ({ graphId, middle }) => [
    {},
    { limit: 50 },
    { cursor: cursorOf("memories", `${graphId}/${middle}`) },
    { offset: 1_000 },
    ...FILTERS,
    ...FILTERS.map((filter) => ({ ...filter, cursor: cursorOf("memories", `${graphId}/${middle}`) })),
  ],
  updateMemory: ({ take }) => [{ id: take(1)[0], title: "Changed" }],
  deleteMemory: ({ take }) => [{ id: take(1)[0] }],
  memoryVersions: ({ middle }) => [{ id: middle }, { id: middle, limit: 1, cursor: cursorOf("memoryVersions", "1") }],
  searchMemories: () => [
    { query: "something", limit: 50, full: true },
    ...FILTERS.map((filter) => ({ ...filter, query: "rare" })),
  ],
  relatedMemories: ({ middle: id }) => [
    { id, maxDepth: 3 },
    { id, types: ["NONE"] },
    { id, direction: "out", includeExpired: true },

    { id, eachRelationship: true, maxDepth: 5, limit: 1_000 },
    { id, full: true, limit: 10 },
  ],
  shareMemories: ({ take }) => [{ ids: take(MANY), dropRelationships: true }],
  createRelationship: ({ take }) => [link(...take(2))],
  relationship: ({ relationship: id }) => [{ id }],
  relationships: ({ graphId, middle: memoryId, relationship }) => [
    {},
    { limit: 50 },
    { types: ["NONE"] },
    { cursor: cursorOf("relationships", `${graphId}/${relationship}`) },

    { types: ["RELATED_TO", "REPLACES"], limit: 50 },
    { types: ["RELATED_TO", "REPLACES"], cursor: cursorOf("relationships", `${graphId}/${relationship}`) },
    { memoryId },
    { memoryId, types: ["NONE"] },
    { memoryId, cursor: cursorOf("relationships", `${graphId}/${relationship}`) },
  ],
  updateRelationship: ({ relationship: id }) => [{ id, strength: 1 }],
  deleteRelationship: ({ relationship: id }) => [{ id }],
  createMemories: ({ take }) => [
    { memories: [{ ...NOTE, ref: "new" }], relationships: take(MANY).map((id) => link("new", id)) },
  ],
  deleteMemories: ({ take }) => [
    { ids: take(MANY), dryRun: true },
    { ids: take(MANY) },
    ...FILTERS.filter((filter) => !("includeExpired" in filter)).map((filter) => ({ ...filter, dryRun: true })),
    ...FILTERS.filter((filter) => !("includeExpired" in filter)),
  ],
  exportGraph: ({ graphId, middle }) =>
    ["m", "r"].map((list) => ({ limit: 50, cursor: cursorOf("exportGraph", `${graphId}/${list}/${LAST}/${middle}`) })),
  // The first time they are stored; after that they exist already.
  restoreMemories: () => [{ memories: PAST.map((id) => ({ id, ...NOTE, createdAt: TIME, updatedAt: TIME })) }],
  memoryPath: ({ ends: [from, to] }) => [
    { fromMemoryId: from, toMemoryId: to },
    { fromMemoryId: from, toMemoryId: to, types: ["NONE"], maxDepth: 3, direction: "out" },
  ],
  memoryGraph: ({ middle: memoryId }) => [{ limit: 50 }, { memoryId, maxDepth: 2 }],
  recentActivity: () => [
    { days: 1, project: "none" },
    { days: 1, types: ["none"] },
    { days: 365, includeExpired: true, unresolvedOffset: 1 },
  ],
  graphStatistics: () => [{}],
  exportAccount: ({ middle }) =>
    [4, 5, 6].map((list) => ({ limit: 50, cursor: cursorOf("exportAccount", `${list}/${middle}/1`) })),
};

const PAST = Array.from({ length: MANY }, (_, n) => `019b0000-0000-7000-8000-${String(n).padStart(12, "0")}`);
const TIME = "2026-01-01T00:00:00Z";
const NOTE = { type: "general", title: "A note", content: "Said." };
const link = (fromMemoryId = "", toMemoryId = "") => ({ fromMemoryId, toMemoryId, relationshipType: "LIKE" });

/** Filters that match nothing. */
const FILTERS = [
  { tags: ["none"] },
  { tags: ["none", "nil"], tagsMatch: "any" },
  { tags: ["common"], types: ["none"] },
  { types: ["none"] },
  { minImportance: 1 },
  { project: "none" },
  { createdAfter: "2100-01-01T00:00:00Z" },
  { createdBefore: TIME },
  { types: ["none"], includeExpired: true },
];

/** Fields that do not change what is read. */
const SAID_ELSEWHERE = new Set(["graph", "explain", "offset"]);

const isOfGraph = ({ name, permission }: Operation) => permission.startsWith("memories:") || name === "exportAccount";

it("tries every operation on graphs, and every field of those that read", async () => {
  const schema = await graphqlSchema();
  const large = { take: () => [], graphId: FIRST, middle: FIRST, relationship: FIRST, ends: [FIRST, LAST] } as const;
  const missing = operations.filter(isOfGraph).flatMap((operation) => {
    const { name } = operation;
    const asked = ASKED[name]?.(large);
    if (!asked) return UNRELATED.has(name) ? [] : [name];
    const said = new Set(asked.flatMap((input) => Object.keys(input)));
    const fields = operation.effect === "reads" ? inputFields(inputTypeOf(schema, operation)) : [];
    return fields.flatMap((field) =>
      said.has(field.name) || SAID_ELSEWHERE.has(field.name) ? [] : `${name}.${field.name}`,
    );
  });
  expect(missing, "Ask for it in `ASKED`: each operation, and each field of those that read.").toEqual([]);
});

/** Operations that read no graph. */
const UNRELATED = new Set(["relationshipTypes"]);

it.each([
  { state: "that was tidied up", isTidy: true },
  { state: "that was just written", isTidy: false },
])("reads of a large graph $state little more than what is asked for, in each operation", async ({ isTidy }) => {
  const world = await createWorld({ fresh: true });
  await using _world = world;
  const { pool } = world.database;
  const { caller, email, key } = await world.user();
  const actor = new Actor({ ...world.services, budgets: WITHOUT_END }, caller, email, key);
  await actor.did(createTeam, { name: "Team", maxMembers: 5 });
  const large = await fillGraph(world, actor, isTidy);

  const much: string[] = [];
  for (const operation of operations) {
    const { name } = operation;
    if (!isTidy && COUNTS_ALL.has(name)) continue;
    const graph = name === "shareMemories" || name === "exportAccount" ? {} : { graph: "personal" };
    const rounds = Array.from({ length: TIMES }, () => ASKED[name]?.(large) ?? []);
    for (const place of rounds[0]?.keys() ?? []) {
      // Makes earlier writes readable from an index alone.
      if (isTidy) await pool.query("VACUUM memory, relationship");
      const read: number[] = [];
      let before = await rowsRead(world);
      for (const inputs of rounds) {
        const verdict = await actor.does<object, object>(operation, { ...inputs[place], ...graph });
        const after = await rowsRead(world);
        read.push(after - before);
        before = after;
        if (!verdict.ok && !EXPECTED.has(verdict.failure.reason ?? verdict.failure.kind)) throw verdict.failure;
      }
      const input = JSON.stringify(rounds[0]?.[place]).slice(0, 100);
      if (Math.max(...read) > READ_MAX) much.push(`${name} ${input} ${read.join(" ")}`);
    }
  }

  expect(
    much,
    `Read at most ${READ_MAX} rows: by an index, up to a limit of src/limits.ts, or as COUNTS_ALL by design.`,
  ).toEqual([]);
});

/** These read everything that was written lately: by design, up to their limits. */
const COUNTS_ALL = new Set(["recentActivity", "graphStatistics"]);

const WITHOUT_END = new ProcessBudgets();
WITHOUT_END.take = () => Promise.resolve({ used: 0, resetMs: 0 });

/** Expected refusals: an object can be created, linked or deleted only once. */
const EXPECTED = new Set(["not_found", "memory_exists", "client_id_exists", "relationship_exists"]);

/**
 * Fills a user's own graph with memories in three rings of links, each with an earlier version. If tidy, it is
 * vacuumed afterwards; but then the relationships of one ring have got a type that the statistics do not know.
 */
async function fillGraph(world: World, actor: Actor, isTidy: boolean): Promise<Large> {
  const { pool } = world.database;
  const ids = (await manyMemories(world, actor, MEMORIES)).map(({ id }) => id).sort();
  for (const step of [1, 2, 3]) {
    await manyLinks(
      world,
      actor,
      ids.map((id, at) => [id, ids[(at + step) % ids.length] ?? id] as const),
    );
  }
  await pool.query(
    `INSERT INTO memory_version (graph_id, memory_id, version, type, title, content, tags, importance, changed_by, changed_at)
     SELECT graph_id, id, 1, type, title, content, tags, importance, updated_by, updated_at FROM memory`,
  );
  await pool.query("UPDATE memory SET version = 2, tags = '{common}'");
  if (isTidy) await pool.query("VACUUM (ANALYZE)");
  await pool.query("UPDATE relationship SET type = 'REPLACES' WHERE id IN (SELECT id FROM relationship LIMIT $1)", [
    MEMORIES,
  ]);
  const { rows } = await pool.query<{ id: string }>("SELECT id FROM relationship ORDER BY id OFFSET 9000 LIMIT 1");
  let taken = 0;
  return {
    take: (count) => ids.slice(taken, (taken += count)),
    graphId: actor.caller.personalGraphId,
    middle: ids[MEMORIES / 2] ?? "",
    relationship: rows[0]?.id ?? "",
    ends: [ids[MEMORIES / 2] ?? "", ids[MEMORIES / 2 + 5] ?? ""],
  };
}
