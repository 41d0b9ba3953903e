import { expect, it } from "vitest";
import { relationship } from "../../../src/features/relationships/get-relationship.js";
import { updateRelationship } from "../../../src/features/relationships/update-relationship.js";
import { aLink, memoriesTitled } from "../../support/memories.js";
import { type Actor, createWorld } from "../../support/world.js";

it("changes the given fields and keeps the rest", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id, ...before } = await someLink(ann, { context: "At night", strength: 0.2, confidence: 0.3 });

  const after = await ann.did(updateRelationship, { id, strength: 0 });

  expect(after).toMatchObject({
    id,
    strength: 0,
    confidence: 0.3,
    context: "At night",
    type: before.type,
    from: before.from,
  });
  expect(await ann.did(relationship, { id })).toEqual(after);
  expect(await ann.did(updateRelationship, { id, confidence: 1 })).toMatchObject({ strength: 0, confidence: 1 });
});

it("clears the context only with null", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await someLink(ann, { context: "At night" });

  expect(await ann.did(updateRelationship, { id, strength: 1 })).toMatchObject({ context: "At night" });
  expect(await ann.did(updateRelationship, { id, context: null })).toMatchObject({ context: null, strength: 1 });
});

it("refuses to change its ends and type, no change, and values out of bounds", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await someLink(ann);
  const wrong = [
    {},
    { strength: null },
    { confidence: null },
    { strength: 1.1 },
    { confidence: -1 },
    { context: 1 },
    { type: "CAUSES" },
    { from: id },
  ];

  for (const changes of wrong) {
    expect(await ann.does(updateRelationship, { id, ...changes }), JSON.stringify(changes)).toBeRefused("bad_request");
  }
});

it("refuses an unknown relationship", async () => {
  await using world = await createWorld();
  const ann = await world.user();

  expect(await ann.does(updateRelationship, { id: world.services.newId(), strength: 1 })).toBeRefused("not_found");
});

async function someLink(actor: Actor, wishes: object = {}) {
  const [from, to] = await memoriesTitled(actor, "From", "To");
  return aLink(actor, from, to, wishes);
}
