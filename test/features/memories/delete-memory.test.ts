import { expect, it } from "vitest";
import { deleteMemory } from "../../../src/features/memories/delete-memory.js";
import { memory } from "../../../src/features/memories/get-memory.js";
import { updateMemory } from "../../../src/features/memories/update-memory.js";
import { relationship } from "../../../src/features/relationships/get-relationship.js";
import { aLink, aMemory, manyLinks, manyMemories, memoriesTitled } from "../../support/memories.js";
import { type World, createWorld } from "../../support/world.js";

it("deletes its relationships and versions, and keeps the memories at their other ends", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [gone, one, other] = await memoriesTitled(ann, "Gone", "One", "Other");
  await ann.did(updateMemory, { id: gone.id, title: "Changed" });
  await aLink(ann, gone, one);
  await aLink(ann, other, gone);
  const kept = await aLink(ann, one, other);

  expect(await ann.did(deleteMemory, { id: gone.id })).toEqual({ id: gone.id });

  expect(await ann.does(memory, { id: gone.id })).toBeRefused("not_found");
  expect(await ann.did(memory, { id: one.id })).toMatchObject({
    relationshipsTotal: 1,
    relationships: [{ relationshipId: kept.id }],
  });
  expect(await ann.did(relationship, { id: kept.id })).toMatchObject({ from: one.id, to: other.id });
  expect(await counts(world)).toEqual({ memories: 2, versions: 0, relationships: 1 });
});

it("deletes once", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await aMemory(ann);

  const verdicts = await Promise.all(Array.from({ length: 20 }, () => ann.does(deleteMemory, { id })));

  expect(verdicts.filter(({ ok }) => ok)).toHaveLength(1);
  for (const verdict of verdicts) if (!verdict.ok) expect(verdict).toBeRefused("not_found");
});

it("deletes memories that are linked both ways, at the same time", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const tangle = await manyMemories(world, ann, 8);
  await manyLinks(
    world,
    ann,
    tangle.flatMap((from) => tangle.filter((to) => to !== from).map((to) => [from.id, to.id] as const)),
  );

  const verdicts = await Promise.all(tangle.map(({ id }) => ann.does(deleteMemory, { id })));

  expect(verdicts).toEqual(tangle.map((output) => ({ ok: true, output })));
  expect(await counts(world)).toEqual({ memories: 0, versions: 0, relationships: 0 });
});

async function counts({ database }: World) {
  const { rows } = await database.pool.query(
    `SELECT (SELECT count(*)::int FROM memory) AS memories, (SELECT count(*)::int FROM memory_version) AS versions,
       (SELECT count(*)::int FROM relationship) AS relationships`,
  );
  return rows[0] as unknown;
}
