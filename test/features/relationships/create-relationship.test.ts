import { expect, it } from "vitest";
import { deleteMemory } from "../../../src/features/memories/delete-memory.js";
import { createRelationship } from "../../../src/features/relationships/create-relationship.js";
import { deleteRelationship } from "../../../src/features/relationships/delete-relationship.js";
import { relationship } from "../../../src/features/relationships/get-relationship.js";
import { aLink, aMemory, memoriesTitled } from "../../support/memories.js";
import { type World, createWorld } from "../../support/world.js";

it("links one memory to another and returns the relationship", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [fix, problem] = await memoriesTitled(ann, "Fix", "Problem");
  const link = { fromMemoryId: fix.id, toMemoryId: problem.id, relationshipType: "SOLVES" };

  const made = await ann.did(createRelationship, { ...link, strength: 0.1, confidence: 1, context: "Cafe\u0301" });

  const ends = { from: fix.id, to: problem.id };
  expect(made).toMatchObject({ ...ends, type: "SOLVES", strength: 0.1, confidence: 1, context: "Caf\u00e9" });
  expect(await ann.did(relationship, { id: made.id })).toMatchObject({
    ...ends,
    context: "Caf\u00e9",
    createdAt: made.createdAt,
  });
});

it("fills in defaults", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [from, to] = await memoriesTitled(ann, "From", "To");

  expect(await aLink(ann, from, to)).toMatchObject({ strength: 0.5, confidence: 0.8, context: null });
});

it("creates a relationship once for twenty requests at a time; the others get its id", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [from, to] = await memoriesTitled(ann, "From", "To");
  const link = { fromMemoryId: from.id, toMemoryId: to.id, relationshipType: "CAUSES" };

  const verdicts = await Promise.all(Array.from({ length: 20 }, () => ann.does(createRelationship, link)));

  const made = verdicts.flatMap((verdict) => (verdict.ok ? [verdict.output.id] : []));
  expect(made).toHaveLength(1);
  for (const verdict of verdicts) {
    if (verdict.ok) continue;
    expect(verdict).toBeRefused("conflict", "relationship_exists");
    expect(verdict.failure.details).toEqual({ id: made[0] });
  }
  expect(await count(world)).toBe(1);
});

it("allows another type or direction between the same memories, and the same one after a deletion", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [from, to] = await memoriesTitled(ann, "From", "To");
  const { id } = await aLink(ann, from, to, { relationshipType: "CAUSES" });

  await aLink(ann, from, to, { relationshipType: "SOLVES" });
  await aLink(ann, to, from, { relationshipType: "CAUSES" });
  await ann.did(deleteRelationship, { id });
  await aLink(ann, from, to, { relationshipType: "CAUSES" });

  expect(await count(world)).toBe(3);
});

it("links only existing memories", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await aMemory(ann);
  const unknown = world.services.newId();
  const link = (fromMemoryId: string, toMemoryId: string) =>
    ann.does(createRelationship, { fromMemoryId, toMemoryId, relationshipType: "CAUSES" });

  expect(await link(unknown, id)).toMatchObject({ failure: { kind: "not_found", details: { path: "fromMemoryId" } } });
  expect(await link(id, unknown)).toMatchObject({ failure: { kind: "not_found", details: { path: "toMemoryId" } } });
  expect(await link(id, "not an id")).toBeRefused("not_found");
  expect(await link("one non-id", "another")).toBeRefused("not_found");
  expect(await link(id, id)).toBeRefused("bad_request");
  expect(await link(id, id.toUpperCase())).toBeRefused("bad_request");
});

it("refuses invalid input", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [from, to] = await memoriesTitled(ann, "From", "To");
  const wrong: Readonly<Record<string, readonly unknown[]>> = {
    relationshipType: [
      undefined,
      null,
      "",
      "solves",
      "SOLVES;",
      "TWO WORDS",
      "1ST",
      "_A",
      "S".repeat(51),
      1,
      ["SOLVES"],
    ],
    fromMemoryId: [undefined, null, true, [from.id], { not: null }],
    toMemoryId: [undefined, null, 1.5, [to.id], {}],
    strength: [null, -0.1, 1.1, "0.5", true],
    confidence: [null, -0.1, 1.1, "0.5"],
    context: ["x".repeat(10_001), "a\0", 1],
    type: ["SOLVES"],
  };

  const link = { fromMemoryId: from.id, toMemoryId: to.id, relationshipType: "SOLVES" };
  for (const [field, values] of Object.entries(wrong)) {
    for (const value of values) {
      const verdict = await ann.does(createRelationship, { ...link, [field]: value });
      expect(verdict, `${field}: ${JSON.stringify(value)}`).toBeRefused("bad_request");
    }
  }
  expect(await count(world)).toBe(0);
});

it("is created or refused when one of its ends is deleted at the same time", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const hub = await aMemory(ann);
  const others = await memoriesTitled(ann, ...Array.from({ length: 40 }, (_, index) => `${index}`));

  const rounds = await Promise.all(
    others.map(async (other, index) => {
      const [fromMemoryId, toMemoryId] = index % 2 ? [hub.id, other.id] : [other.id, hub.id];
      const [linked] = await Promise.all([
        ann.does(createRelationship, { fromMemoryId, toMemoryId, relationshipType: "CAUSES" }),
        ann.did(deleteMemory, { id: other.id }),
      ]);
      return linked;
    }),
  );

  for (const verdict of rounds) if (!verdict.ok) expect(verdict).toBeRefused("not_found");
  expect(await count(world)).toBe(0);
});

async function count({ database }: World): Promise<number> {
  const { rows } = await database.pool.query<{ count: number }>("SELECT count(*)::int FROM relationship");
  return rows[0]?.count ?? 0;
}
