import { expect, it } from "vitest";
import { memory } from "../../../src/features/memories/get-memory.js";
import { readMemories } from "../../../src/features/memories/read-memories.js";
import { aLink, aMemory, manyLinks, manyMemories, memoriesTitled } from "../../support/memories.js";
import { createWorld } from "../../support/world.js";

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

const ROWS_READ = {
  name: "relationships_read",
  text: `SELECT (seq_tup_read + idx_tup_fetch)::int AS read FROM pg_stat_xact_user_tables WHERE relname = 'relationship'`,
};

it("finds a memory's relationships without reading all relationships of its graph", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [lonely, ...others] = await manyMemories(world, ann, 1_001);
  const hubs = await manyMemories(world, ann, 10);
  await manyLinks(
    world,
    ann,
    hubs.flatMap((hub) => others.map(({ id }) => [id, hub.id] as const)),
  );
  await world.database.pool.query("VACUUM ANALYZE memory, relationship");

  // The counters include reads that this connection has not reported yet, so only the difference counts.
  const read = await world.database.transaction(async (database) => {
    const rowsRead = async () => (await database.run<{ read: number }>(ROWS_READ, []))[0]?.read ?? Number.NaN;
    const before = await rowsRead();
    const place = { graphId: ann.caller.personalGraphId, id: lonely?.id ?? "" };
    await readMemories({ database }, [place], { withContent: false, withRelationships: true });
    return (await rowsRead()) - before;
  });

  expect(read).toBe(0);
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
