import pg from "pg";
import { expect, it } from "vitest";
import { callersByKeys } from "../../../src/features/access/caller-statement.js";
import {
  memoriesAlone,
  memoriesWithRelationships,
  supersedingMemories,
} from "../../../src/features/memories/memory-statements.js";
import { relatedStatement } from "../../../src/features/memories/related-statement.js";
import { type DeclaredStatement, inOrder } from "../../../src/platform/statement.js";
import { manyLinks, manyMemories } from "../../support/memories.js";
import { type World, createWorld } from "../../support/world.js";

/** A graph with relationships, and one without, among many users: what is known of both together fits neither. */
async function unlikeGraphs() {
  const world = await createWorld({ fresh: true });
  const [ann, bob] = [await world.user(), await world.user()];
  const anns = (await manyMemories(world, ann, 2_000)).map(({ id }) => id);
  const bobs = (await manyMemories(world, bob, 1_000)).map(({ id }) => id);
  await manyLinks(world, ann, ring(anns));
  await world.database.pool.query(`
    INSERT INTO user_account (id, email) SELECT md5('user' || n)::uuid, n || '@example.com' FROM generate_series(1, 20000) n;
    INSERT INTO graph (id, user_id) SELECT md5('graph' || n)::uuid, md5('user' || n)::uuid FROM generate_series(1, 20000) n;
    INSERT INTO api_key (id, user_id, name, prefix, hash, scopes)
    SELECT md5('key' || n)::uuid, md5('user' || n)::uuid, 'Key', 'mg_live_', sha256(n::text::bytea), '{memories:read}'
    FROM generate_series(1, 20000) n;
    ANALYZE`);
  return { world, ann, bob, anns, bobs };
}

const ring = (ids: readonly string[]) => ids.map((id, at) => [id, ids[(at + 1) % ids.length] ?? id] as const);

it("plans what requests ask for most once, for any graph and any number of memories", async () => {
  const { world, ann, bob, anns, bobs } = await unlikeGraphs();
  await using _world = world;
  const walk = { types: null, direction: "any", limit: 20, now: null };

  for (const [{ caller }, ids] of [[ann, anns] as const, [bob, bobs] as const]) {
    const graphId = caller.personalGraphId;
    const some = (count: number) => ({ graphId, ids: ids.slice(0, count) });
    const start = ids[0];
    const planned = [
      await plansOf(world, callersByKeys, (n) => ({ hashes: Array.from({ length: n }, () => Buffer.alloc(32, n)) })),
      await plansOf(world, memoriesAlone, (n) => ({ ...some(n), withContent: true })),
      await plansOf(world, memoriesWithRelationships, (n) => ({ ...some(n), withContent: true })),
      await plansOf(world, supersedingMemories, some),
      await plansOf(world, relatedStatement(1, "memories"), () => ({ ...walk, graphId, start })),
      await plansOf(world, relatedStatement(2, "relationships"), () => ({ ...walk, graphId, start })),
    ];
    // PostgreSQL plans the first five executions for their values, and then decides.
    expect(planned.filter(({ anew }) => anew > 5)).toEqual([]);
  }
});

it("reads few relationships of a memory that has none, also where statistics know nothing of the graph", async () => {
  const { world, bob, bobs } = await unlikeGraphs();
  await using _world = world;
  await manyLinks(world, bob, ring(bobs.slice(1)));
  const values = { graphId: bob.caller.personalGraphId, ids: [bobs[0]], withContent: true };

  await using database = await connect(world);
  const { client } = database;
  for (let count = 0; count < 10; count++) await run(client, memoriesWithRelationships, values);
  await client.query("BEGIN");
  await run(client, memoriesWithRelationships, values);
  const { rows } = await client.query<{ read: number }>(
    `SELECT (seq_tup_read + idx_tup_fetch)::int AS read FROM pg_stat_xact_user_tables WHERE relname = 'relationship'`,
  );
  await client.query("ROLLBACK");

  expect(rows[0]?.read).toBeLessThan(10);
});

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
  return { name: statement.name, anew: rows[0]?.anew ?? Number.NaN };
}
