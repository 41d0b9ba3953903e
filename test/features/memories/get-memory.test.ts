import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { memory } from "../../../src/features/memories/get-memory.js";
import { readMemories } from "../../../src/features/memories/read-memories.js";
import { aLink, aMemory, manyLinks, manyMemories, memoriesTitled } from "../../support/memories.js";
import { relationshipsRead } from "../../support/rows-read.js";
import { type Actor, type World, createWorld } from "../../support/world.js";

it("shows its relationships from its own point of view, newest first", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [cause, problem, fix] = await memoriesTitled(ann, "Cause", "Problem", "Fix");
  const older = await aLink(ann, cause, problem, { relationshipType: "CAUSES", strength: 0.9 });
  const newer = await aLink(ann, fix, problem, { relationshipType: "SOLVES", confidence: 0.1 });
  const newest = await aLink(ann, problem, cause, { relationshipType: "FOLLOWS" });

  const { relationships, relationshipsTotal } = await ann.did(memory, { id: problem.id });

  expect(relationshipsTotal).toBe(3);
  expect(relationships).toMatchObject([
    {
      relationshipId: newest.id,
      type: "FOLLOWS",
      direction: "out",
      from: problem.id,
      to: cause.id,
      memory: { title: "Cause" },
    },
    {
      relationshipId: newer.id,
      type: "SOLVES",
      direction: "in",
      from: fix.id,
      to: problem.id,
      memory: { title: "Fix" },
    },
    {
      relationshipId: older.id,
      type: "CAUSES",
      direction: "in",
      from: cause.id,
      to: problem.id,
      memory: { id: cause.id },
    },
  ]);
  expect(relationships).toMatchObject([{ strength: 0.5 }, { confidence: 0.1 }, { strength: 0.9, confidence: 0.8 }]);
  expect(relationships?.map(({ createdAt }) => createdAt)).toEqual(
    [newest, newer, older].map((link) => link.createdAt),
  );
});

it("shows the newest hundred relationships of both directions and counts all", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const hub = await aMemory(ann);
  const others = await manyMemories(world, ann, 160);
  await manyLinks(
    world,
    ann,
    others.map(({ id }, index) => (index % 5 === 0 ? [id, hub.id] : [hub.id, id])),
  );

  const { relationships = [], relationshipsTotal } = await ann.did(memory, { id: hub.id });

  const { rows } = await world.database.pool.query<{ id: string }>(
    "SELECT id FROM relationship ORDER BY id DESC LIMIT 100",
  );
  expect(relationshipsTotal).toBe(160);
  expect(relationships.map(({ relationshipId }) => relationshipId)).toEqual(rows.map(({ id }) => id));
});

const READS = {
  name: "reads_of_relationships",
  text: `SELECT (seq_tup_read + idx_tup_fetch)::int AS rows, (seq_scan + idx_scan)::int AS scans
    FROM pg_stat_xact_user_tables WHERE relname = 'relationship'`,
};

/** How many relationships, and how often their table or its indexes, are read for a memory with its relationships. */
async function readsFor(world: World, actor: Actor, { id }: { readonly id: string }) {
  // The counters include reads that this connection has not reported yet, so only the difference counts.
  return world.database.transaction(async (database) => {
    const reads = async () => {
      const [read] = await database.run<{ rows: number; scans: number }>(READS, []);
      return read ?? { rows: Number.NaN, scans: Number.NaN };
    };
    const before = await reads();
    const { caller } = actor;
    const place = { graphId: caller.personalGraphId, id };
    await readMemories({ caller, database, pause: nextTurn }, [place], { withContent: false, withRelationships: true });
    const after = await reads();
    return { rows: after.rows - before.rows, scans: after.scans - before.scans };
  });
}

it("finds a memory's relationships without reading all relationships of its graph", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const lonely = await aMemory(ann);
  const others = await manyMemories(world, ann, 1_000);
  const hubs = await manyMemories(world, ann, 10);
  await manyLinks(
    world,
    ann,
    hubs.flatMap((hub) => others.map(({ id }) => [id, hub.id] as const)),
  );
  await world.database.pool.query("VACUUM ANALYZE memory, relationship");

  expect(await readsFor(world, ann, lonely)).toMatchObject({ rows: 0 });
});

it("counts few relationships by those that it shows: it reads each direction once", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [one, another] = await memoriesTitled(ann, "One", "Another");
  await aLink(ann, one, another);
  await world.database.pool.query("VACUUM ANALYZE memory, relationship");

  expect(await readsFor(world, ann, one)).toMatchObject({ scans: 2 });
});

it("answers not_found for an unknown id", async () => {
  await using world = await createWorld();
  const ann = await world.user();

  expect(await ann.does(memory, { id: world.services.newId() })).toBeRefused("not_found");
  expect(await ann.does(memory, { id: "not an id" })).toBeRefused("not_found");
});

it("accepts an id in upper or lower case", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await aMemory(ann);

  expect(await ann.did(memory, { id: id.toUpperCase() })).toMatchObject({ id });
});

it("counts relationships in the database only where there may be more than are shown", async () => {
  await using world = await createWorld({ fresh: true });
  const ann = await world.user();
  const [id = "", ...others] = (await manyMemories(world, ann, 51)).map((row) => row.id);
  const links = others.map((other): [string, string] => [id, other]);
  await manyLinks(world, ann, links);
  await ann.did(memory, { id });

  const before = await relationshipsRead(world);
  expect(await ann.did(memory, { id })).toMatchObject({ relationshipsTotal: links.length });

  // Each is read once; counting would look at each in the index, too.
  expect((await relationshipsRead(world)) - before).toBeLessThan(1.5 * links.length);
});
