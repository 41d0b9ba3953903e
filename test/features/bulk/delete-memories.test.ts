import { expect, it } from "vitest";
import { createMemories } from "../../../src/features/bulk/create-memories.js";
import { deleteMemories } from "../../../src/features/bulk/delete-memories.js";
import { memories } from "../../../src/features/memories/list-memories.js";
import { LIMITS } from "../../../src/limits.js";
import { ask, requestsLeft } from "../../support/http.js";
import { withLimits } from "../../support/limits.js";
import { waitingForLocks } from "../../support/locks.js";
import { aLink, aMemory, manyLinks, manyMemories, miscounted } from "../../support/memories.js";
import { rowsRead } from "../../support/rows-read.js";
import { createWorld } from "../../support/world.js";

const { items: ITEMS, relationshipsRemoved } = LIMITS.bulk;

it("deletes by ids of both kinds, with relationships and versions; a dry run tells what it would delete", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [one, two, three] = [await aMemory(ann), await aMemory(ann, { clientId: "two" }), await aMemory(ann)];
  await aLink(ann, one, three);
  await aLink(ann, one, two);
  const expected = { memoryIds: [one.id, two.id], relationships: 2, remaining: 0 };

  expect(await ann.did(deleteMemories, { ids: ["two", one.id, "two"], dryRun: true })).toEqual(expected);
  expect((await ann.did(memories)).memories).toHaveLength(3);
  expect(await ann.did(deleteMemories, { ids: ["two", one.id] })).toEqual(expected);
  expect((await ann.did(memories)).memories).toMatchObject([{ id: three.id }]);
  expect(await miscounted(world)).toEqual([]);
});

it("deletes the memories that match a filter, a limited number at a time", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const note = { type: "general", title: "A note", content: "Something.", tags: ["old"] };
  await aMemory(ann, { tags: ["new"] });
  for (const count of [ITEMS, 2]) {
    await ann.did(createMemories, { memories: Array.from({ length: count }, () => note) });
  }

  const first = await ann.did(deleteMemories, { tags: ["OLD "], types: ["general"] });
  const second = await ann.did(deleteMemories, { tags: ["old"] });

  expect([first.memoryIds.length, first.remaining]).toEqual([ITEMS, 2]);
  expect([second.memoryIds.length, second.remaining]).toEqual([2, 0]);
  expect((await ann.did(memories)).memories).toMatchObject([{ tags: ["new"] }]);
  expect(await miscounted(world)).toEqual([]);
});

it("deletes nothing if one memory is missing, or if neither ids nor a filter are given", async () => {
  await using world = await createWorld();
  const [ann, bob] = [await world.user(), await world.user()];
  const [own, foreign] = [await aMemory(ann), await aMemory(bob)];

  expect(await ann.does(deleteMemories, { ids: [own.id, foreign.id] })).toBeRefused("not_found");
  expect(await ann.does(deleteMemories, { ids: [own.id, "nothing"] })).toBeRefused("not_found");
  for (const input of [{}, { tags: [" "] }, { dryRun: true }, { tagsMatch: "any" }, { ids: [own.id], tags: ["a"] }]) {
    expect(await ann.does(deleteMemories, input)).toBeRefused("bad_request");
  }
  expect((await ann.did(memories)).memories).toHaveLength(1);
});

it("deletes by a filter only memories that still match when they are deleted", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [one, two, old] = [
    await aMemory(ann, { tags: ["old"] }),
    await aMemory(ann, { tags: ["old"] }),
    await aMemory(ann, { tags: ["old"] }),
  ];
  const client = await world.database.pool.connect();
  await client.query("BEGIN");
  await client.query("UPDATE memory SET tags = '{new}' WHERE id = $1", [one.id]);
  await client.query("UPDATE memory SET tags = '{new}' WHERE id = $1", [two.id]);

  const verdict = ann.did(deleteMemories, { tags: ["old"] });
  await expect.poll(() => waitingForLocks(world)).toBe(1);
  await client.query("COMMIT");
  client.release();

  expect((await verdict).memoryIds).toEqual([old.id]);
  expect((await ann.did(memories)).memories).toHaveLength(2);
  expect(await miscounted(world)).toEqual([]);
});

it("refuses to delete more relationships at once than its limit", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [one, two, three, ...others] = (await manyMemories(world, ann, 1_003)).map(({ id }) => id);
  const hubs = [one, two, three].map((id) => id ?? "");
  // Ten of each pair, of different types.
  for (let type = 0; type < relationshipsRemoved / 2 / 1_000; type++) {
    await manyLinks(
      world,
      ann,
      hubs.flatMap((hub) => others.map((id) => [hub, id] as const)),
      `TYPE_${type}`,
    );
  }

  expect(await ann.does(deleteMemories, { ids: hubs })).toBeRefused("conflict", "too_many_relationships");
  expect(await ann.does(deleteMemories, { ids: hubs.slice(0, 2) })).toMatchObject({ ok: true });
});

it("counts as requests by what a filter finds, if it is more than what one call deletes", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await manyMemories(world, ann, 30);
  const cost = async (body: object) => {
    const before = requestsLeft(await ask(`${url}/v1/memories`, { key: ann.key }));
    return before - requestsLeft(await ask(`${url}/v1/memories/bulk-delete`, { key: ann.key, body }));
  };
  const filter = { created_before: "2100-01-01T00:00:00Z" };
  const usual = await cost({ ...filter, dry_run: true });
  using _small = withLimits("bulk", { foundPerRequest: 1 });

  expect([usual, await cost({ ...filter, dry_run: true }), await cost(filter)]).toEqual([1, 30, 30]);
});

it("looks for the memories of a filter once", async () => {
  await using world = await createWorld({ fresh: true });
  const ann = await world.user();
  await manyMemories(world, ann, 3_000);
  await world.database.pool.query("UPDATE memory SET tags = '{old}' WHERE id IN (SELECT id FROM memory LIMIT 2500)");
  await world.database.pool.query("VACUUM ANALYZE memory");
  const read = async (dryRun: boolean) => {
    const before = await rowsRead(world);
    expect((await ann.did(deleteMemories, { tags: ["old"], dryRun })).memoryIds).toHaveLength(ITEMS);
    return (await rowsRead(world)) - before;
  };

  const looking = await read(true);

  // It locks, measures, compares and deletes those that it has found.
  expect([looking, (await read(false)) - looking]).toEqual([2_500, 4 * ITEMS]);
});
