import { expect, it } from "vitest";
import { memory } from "../../../src/features/memories/get-memory.js";
import { deleteRelationship } from "../../../src/features/relationships/delete-relationship.js";
import { relationship } from "../../../src/features/relationships/get-relationship.js";
import { aLink, memoriesTitled } from "../../support/memories.js";
import { createWorld } from "../../support/world.js";

it("deletes the relationship and keeps its memories", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [from, to] = await memoriesTitled(ann, "From", "To");
  const { id } = await aLink(ann, from, to);

  expect(await ann.did(deleteRelationship, { id })).toEqual({ id });

  expect(await ann.does(relationship, { id })).toBeRefused("not_found");
  for (const end of [from, to]) expect(await ann.did(memory, { id: end.id })).toMatchObject({ relationshipsTotal: 0 });
});

it("deletes once, even with many requests", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [from, to] = await memoriesTitled(ann, "From", "To");
  const { id } = await aLink(ann, from, to);

  const verdicts = await Promise.all(Array.from({ length: 20 }, () => ann.does(deleteRelationship, { id })));

  expect(verdicts.filter(({ ok }) => ok)).toHaveLength(1);
  for (const verdict of verdicts) if (!verdict.ok) expect(verdict).toBeRefused("not_found");
});
