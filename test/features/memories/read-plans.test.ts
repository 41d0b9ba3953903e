import pg from "pg";
import { expect, it } from "vitest";
import { callersByKeys } from "../../../src/features/access/caller-statement.js";
import { memoriesBetween, relationshipsBetween } from "../../../src/features/bulk/export-statement.js";
import {
  addressesOfMembers,
  makersOfMemories,
  memoriesAlone,
  memoriesWithLinks,
  memoriesWithRelationships,
  solvingMemories,
  supersedingMemories,
} from "../../../src/features/memories/memory-statements.js";
import { relatedStatement } from "../../../src/features/memories/related-statement.js";
import { operations } from "../../../src/operations.js";
import { type DeclaredStatement, inOrder } from "../../../src/platform/database/statement.js";
import { exampleInput, thingsOf } from "../../support/examples.js";
import { manyLinks, manyMemories } from "../../support/memories.js";
import { rowsRead } from "../../support/rows-read.js";
import { type Actor, type World, createWorld } from "../../support/world.js";

/** One graph with relationships and one without: statistics of both together fit neither of them. */
async function unlikeGraphs() {
  const world = await createWorld({ fresh: true });
  const [ann, bob] = [await world.user(), await world.user()];
  const anns = (await manyMemories(world, ann, 2_000)).map(({ id }) => id);
  const bobs = (await manyMemories(world, bob, 1_000)).map(({ id }) => id);
  await manyLinks(world, ann, ring(anns));
  await world.database.pool.query("ANALYZE");
  return { world, ann, bob, anns, bobs };
}

/** Pairs that link each id to the one `step` places later. */
const ring = (ids: readonly string[], step = 1) =>
  ids.map((id, at) => [id, ids[(at + step) % ids.length] ?? id] as const);

/**
 * Creates so many users that a plan for a few keys differs from a plan for many. Without `enable_seqscan = off`, foreign
 * keys planned for few rows would read the whole table for each new row, which took 20 seconds.
 */
async function manyUsers({ database: { pool } }: World): Promise<void> {
  await pool.query(`
    BEGIN;
    SET LOCAL enable_seqscan = off;
    INSERT INTO user_account (id, email) SELECT md5('user' || n)::uuid, n || '@example.com' FROM generate_series(1, 20000) n;
    INSERT INTO graph (id, user_id) SELECT md5('graph' || n)::uuid, md5('user' || n)::uuid FROM generate_series(1, 20000) n;
    INSERT INTO api_key (id, user_id, name, prefix, hash, scopes)
    SELECT md5('key' || n)::uuid, md5('user' || n)::uuid, 'Key', 'mg_live_', sha256(n::text::bytea), '{memories:read}'
    FROM generate_series(1, 20000) n;
    COMMIT`);
  await pool.query("ANALYZE");
}

it("plans the most frequent statements once, for any graph and any number of memories", async () => {
  const { world, ann, bob, anns, bobs } = await unlikeGraphs();
  await using _world = world;
  await manyUsers(world);
  const walk = { types: null, direction: "any", limit: 20, now: null };

  for (const [{ caller }, ids] of [[ann, anns] as const, [bob, bobs] as const]) {
    const graphId = caller.personalGraphId;
    const some = (count: number) => ({ graphId, ids: ids.slice(0, count) });
    const start = ids[0];
    const planned = [
      await plansOf(world, callersByKeys, (n) => ({ hashes: Array.from({ length: n }, () => Buffer.alloc(32, n)) })),
      await plansOf(world, memoriesAlone, (n) => ({ ...some(n), withContent: true })),
      await plansOf(world, memoriesWithRelationships, (n) => ({ ...some(n), withContent: true })),
      await plansOf(world, memoriesWithLinks, (n) => ({ ...some(n), withContent: true })),
      await plansOf(world, supersedingMemories, some),
      await plansOf(world, solvingMemories, some),
      await plansOf(world, makersOfMemories, some),
      await plansOf(world, addressesOfMembers, (n) => ({ teamId: graphId, ids: ids.slice(0, n) })),
      await plansOf(world, relatedStatement(1, "memories"), () => ({ ...walk, graphId, start })),
      await plansOf(world, relatedStatement(1, "linked"), () => ({ ...walk, graphId, start })),
      await plansOf(world, relatedStatement(2, "relationships"), () => ({ ...walk, graphId, start })),
    ];
    // PostgreSQL plans the first five executions for their values, and then decides.
    expect(planned.filter(({ anew }) => anew > 5)).toEqual([]);
  }
});

it("reads few rows of a graph that is missing in the statistics, in each operation", async () => {
  const { world } = await unlikeGraphs();
  await using _world = world;

  const much: object[] = [];
  for (const operation of operations.filter(({ permission }) => permission.startsWith("memories:"))) {
    const actor = await world.user();
    const things = await thingsOf(world, actor, operation);
    const team = await graphOfTeam(world, actor);
    const ids = (await manyMemories(world, team, MANY)).map(({ id }) => id);
    for (const step of [1, 2, 3]) await manyLinks(world, team, ring(ids, step));
    await manyLinks(
      world,
      team,
      ids.slice(0, 5).map((id) => [things.memories[0] ?? "", id] as const),
    );
    const before = await rowsRead(world);
    await actor.did(operation, exampleInput(operation, things));
    const read = (await rowsRead(world)) - before;
    if (read > (READ_ALL.has(operation.name) ? 5 * MANY : 200)) much.push({ name: operation.name, read });
  }

  const advice = "Read by an index or up to a limit, or add it to READ_ALL if it reads a whole graph by design.";
  expect(much, advice).toEqual([]);
});

it("finds what replaces a memory by its id, before the statistics know relationships of that type", async () => {
  const { world, ann, anns } = await unlikeGraphs();
  await using _world = world;
  const { database } = world;
  await database.pool.query("UPDATE relationship SET type = 'REPLACES'");
  const before = await rowsRead(world);

  const replaced = { graphId: ann.caller.personalGraphId, ids: anns.slice(0, 10) };
  expect(await database.run(supersedingMemories, replaced)).toHaveLength(10);
  expect(await database.run(solvingMemories, replaced)).toEqual([]);

  expect((await rowsRead(world)) - before).toBeLessThan(100);
});

it("reads only the rows of the page for each page of an export", async () => {
  const { world, ann } = await unlikeGraphs();
  await using _world = world;
  const { database } = world;
  const range = { graphId: ann.caller.personalGraphId, until: "ffffffff-ffff-ffff-ffff-ffffffffffff", take: 100 };

  const read: number[] = [];
  const lists = [
    (after: string) => database.run(memoriesBetween, { ...range, after }),
    (after: string) => database.run(relationshipsBetween, { ...range, after }),
  ];
  for (const readAfter of lists) {
    let after: string | undefined = "00000000-0000-0000-0000-000000000000";
    while (after !== undefined) {
      const before = await rowsRead(world);
      const rows: readonly { id: string }[] = await readAfter(after);
      read.push((await rowsRead(world)) - before);
      after = rows.at(-1)?.id;
    }
  }

  expect(read.length).toBe(42);
  expect(Math.max(...read)).toBe(100);
});

/** How many memories such a graph has; it has three times as many relationships. */
const MANY = 500;

/** These read a whole graph, or may do so while the table is small. */
const READ_ALL = new Set(["exportGraph", "graphStatistics", "recentActivity"]);

/** The user with their team's graph in place of their personal one. */
async function graphOfTeam({ database: { models } }: World, { caller }: Actor) {
  const { id } = await models.graph.findFirstOrThrow({
    where: { team: { members: { some: { userId: caller.userId } } } },
  });
  return { caller: { ...caller, personalGraphId: id } };
}

/** A connection that has run nothing yet. */
async function connect({ databaseUrl }: World) {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  return { client, [Symbol.asyncDispose]: () => client.end() };
}

const run = (client: pg.Client, statement: DeclaredStatement, values: object) =>
  client.query({ name: statement.name, text: statement.text, values: inOrder(statement, values) });

/** How often PostgreSQL made a new plan in twenty executions of a statement. */
async function plansOf(world: World, statement: DeclaredStatement, valuesFor: (n: number) => object) {
  await using database = await connect(world);
  const { client } = database;
  for (let n = 1; n <= 20; n++) await run(client, statement, valuesFor(n));
  const { rows } = await client.query<{ anew: number }>(
    "SELECT custom_plans::int AS anew FROM pg_prepared_statements WHERE name = $1",
    [statement.name],
  );
  return { name: statement.name, anew: rows[0]?.anew ?? Number.POSITIVE_INFINITY };
}
