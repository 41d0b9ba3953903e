import { expect, it } from "vitest";
import type { Memory } from "../../../src/features/memories/memory.js";
import { relatedMemories } from "../../../src/features/memories/related-memories.js";
import type { Relationship } from "../../../src/features/relationships/relationship.js";
import { aLink, aMemory, manyLinks, manyMemories, memoriesTitled } from "../../support/memories.js";
import { type Actor, createWorld } from "../../support/world.js";

it("sorts by distance, then strength, then importance", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const start = await aMemory(ann);
  const near = async (title: string, strength: number, importance: number, from = start) => {
    const memory = await aMemory(ann, { title, importance });
    await aLink(ann, from, memory, { strength });
    return memory;
  };
  const weak = await near("weak", 0.1, 1);
  await near("plain", 0.5, 0.1);
  await near("important", 0.5, 0.9);
  await near("strong", 0.8, 0);
  await near("far", 1, 1, weak);

  expect(await titles(ann, start, { maxDepth: 2 })).toEqual(["strong", "important", "plain", "weak", "far"]);
  expect(await titles(ann, start, { maxDepth: 2, limit: 3 })).toEqual(["strong", "important", "plain"]);
});

it("tells how each was reached: by which relationship, in which direction, and how far away", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [start, out, beyond] = await memoriesTitled(ann, "Start", "Out", "Beyond");
  await aLink(ann, start, out, { relationshipType: "CAUSES", strength: 0.7 });
  await aLink(ann, beyond, out, { relationshipType: "SOLVES", strength: 0.2 });

  const { memories } = await ann.did(relatedMemories, { id: start.id, maxDepth: 2 });

  expect(memories).toMatchObject([
    {
      memoryId: out.id,
      type: "general",
      title: "Out",
      relationship: "CAUSES",
      direction: "out",
      depth: 1,
      strength: 0.7,
    },
    {
      memoryId: beyond.id,
      type: "general",
      title: "Beyond",
      relationship: "SOLVES",
      direction: "in",
      depth: 2,
      strength: 0.2,
    },
  ]);
});

it("tells from which memory each memory further away was reached", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [start, near, other, far] = await memoriesTitled(ann, "Start", "Near", "Other", "Far");
  await aLink(ann, start, near, { strength: 0.9 });
  await aLink(ann, other, start, { strength: 0.8 });
  await aLink(ann, near, far, { strength: 0.1 });
  await aLink(ann, far, other, { strength: 0.2 });
  const ways = async (wishes: object) =>
    (await ann.did(relatedMemories, { id: start.id, maxDepth: 2, ...wishes })).memories.map(
      ({ title, viaMemoryId }) => [title, viaMemoryId],
    );

  const nearest = [
    ["Near", null],
    ["Other", null],
    ["Far", other.id],
  ];
  expect(await ways({})).toEqual(nearest);
  expect(await ways({ eachRelationship: true })).toEqual([...nearest, ["Far", near.id]]);
});

it("lists each memory once: at its shortest distance, by the strongest relationship", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [start, one, two] = await memoriesTitled(ann, "Start", "One", "Two");
  await aLink(ann, start, one, { relationshipType: "CAUSES", strength: 0.2 });
  await aLink(ann, one, start, { relationshipType: "SOLVES", strength: 0.9 });
  await aLink(ann, start, two, { relationshipType: "CAUSES", strength: 0.1 });
  await aLink(ann, one, two, { relationshipType: "CAUSES", strength: 1 });

  const { memories } = await ann.did(relatedMemories, { id: start.id, maxDepth: 5 });

  expect(memories).toMatchObject([
    { title: "One", relationship: "SOLVES", direction: "in", depth: 1 },
    { title: "Two", relationship: "CAUSES", direction: "out", depth: 1, strength: 0.1 },
  ]);
  const { memories: ways } = await ann.did(relatedMemories, { id: start.id, maxDepth: 5, eachRelationship: true });
  expect(ways.map(({ title, depth, strength }) => [title, depth, strength])).toEqual([
    ["One", 1, 0.9],
    ["One", 1, 0.2],
    ["Two", 1, 0.1],
  ]);
});

it("follows a circle once and never lists its start", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [a, b, c] = await memoriesTitled(ann, "A", "B", "C");
  for (const [from, to] of [
    [a, b],
    [b, c],
    [c, a],
  ] as const)
    await aLink(ann, from, to);

  const { memories } = await ann.did(relatedMemories, { id: a.id, maxDepth: 5, direction: "out" });

  expect(memories.map(({ title, depth }) => [title, depth])).toEqual([
    ["B", 1],
    ["C", 2],
  ]);
});

it("follows relationships in the given direction", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [start, next, before, beyond] = await memoriesTitled(ann, "Start", "Next", "Before", "Beyond");
  await aLink(ann, start, next, { strength: 0.9 });
  await aLink(ann, before, start);
  await aLink(ann, beyond, next);

  expect(await titles(ann, start, { direction: "out", maxDepth: 5 })).toEqual(["Next"]);
  expect(await titles(ann, start, { direction: "in", maxDepth: 5 })).toEqual(["Before"]);
  expect(await titles(ann, start, { maxDepth: 5 })).toEqual(["Next", "Before", "Beyond"]);
});

it("follows only relationships of the given types at every step", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [start, cause, fix, deep] = await memoriesTitled(ann, "Start", "Cause", "Fix", "Deep");
  await aLink(ann, cause, start, { relationshipType: "CAUSES", strength: 0.9 });
  await aLink(ann, fix, start, { relationshipType: "SOLVES" });
  await aLink(ann, fix, deep, { relationshipType: "CAUSES" });

  expect(await titles(ann, start, { types: ["CAUSES"], maxDepth: 5 })).toEqual(["Cause"]);
  expect(await titles(ann, start, { types: ["SOLVES", "CAUSES"], maxDepth: 5 })).toEqual(["Cause", "Fix", "Deep"]);
  expect(await titles(ann, start, { types: ["UNHEARD_OF"] })).toEqual([]);
});

it("goes one step by default, and at most five", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const chain = await memoriesTitled(ann, "0", "1", "2", "3", "4", "5", "6");
  for (const [index, memory] of chain.entries()) {
    const next = chain[index + 1];
    if (next) await aLink(ann, memory, next);
  }

  expect(await titles(ann, chain[0], {})).toEqual(["1"]);
  expect(await titles(ann, chain[0], { maxDepth: 5 })).toEqual(["1", "2", "3", "4", "5"]);
  const { memories } = await ann.did(relatedMemories, { id: chain[0].id, maxDepth: 5 });
  expect(memories.map(({ depth }) => depth)).toEqual([1, 2, 3, 4, 5]);
});

it("returns each relationship with all its fields if requested", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [start, near, far] = await memoriesTitled(ann, "Start", "Near", "Far");
  const causes = await aLink(ann, start, near, { relationshipType: "CAUSES", strength: 0.9, confidence: 0.4 });
  const solves = await aLink(ann, near, start, { strength: 0.2, context: "Since Tuesday." });
  const follows = await aLink(ann, near, far, { strength: 0.7 });

  const { memories } = await ann.did(relatedMemories, {
    id: start.id,
    maxDepth: 2,
    eachRelationship: true,
    limit: 1_000,
  });

  const said = memories.map(({ title, direction, depth, link }) => ({ title, direction, depth, link }));
  const linkOf = ({ id, confidence, context }: Relationship) => ({ relationshipId: id, confidence, context });
  expect(said).toEqual([
    { title: "Near", direction: "out", depth: 1, link: linkOf(causes) },
    { title: "Near", direction: "in", depth: 1, link: linkOf(solves) },
    { title: "Far", direction: "out", depth: 2, link: linkOf(follows) },
  ]);
  expect([causes.confidence, solves.context]).toEqual([0.4, "Since Tuesday."]);
});

it("returns whole memories if requested", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const start = await aMemory(ann);
  const near = await aMemory(ann, { content: "All that there is to say.", context: { project_path: "/a" } });
  await aLink(ann, start, near);

  const { memories } = await ann.did(relatedMemories, { id: start.id, full: true });
  const plain = await ann.did(relatedMemories, { id: start.id });

  expect(memories[0]?.memory).toMatchObject({ id: near.id, content: near.content, context: { project_path: "/a" } });
  expect(plain.memories[0]?.memory).toBeUndefined();
});

it("says when there are more memories, or more than fit into one answer", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [start, near] = await memoriesTitled(ann, "Start", "Near");
  await aLink(ann, start, near);
  const large = await manyMemories(world, ann, 90, "x".repeat(50_000));
  await manyLinks(
    world,
    ann,
    large.map(({ id }) => [near.id, id] as const),
  );
  const walk = async (wishes: object) => {
    const { memories, truncated } = await ann.did(relatedMemories, { id: start.id, maxDepth: 2, limit: 91, ...wishes });
    return [memories.length, truncated];
  };

  expect(await walk({})).toEqual([91, false]);
  expect(await walk({ limit: 90 })).toEqual([90, true]);
  expect(await walk({ limit: 1 })).toEqual([1, true]);
  expect(await walk({ limit: 1, maxDepth: 1, eachRelationship: true })).toEqual([1, false]);
  const [whole, truncated] = await walk({ full: true });
  expect([Number(whole) < 91, truncated]).toEqual([true, true]);
});

it("returns the strongest of a hub's ten thousand relationships, and goes on from there", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [start, hub] = await memoriesTitled(ann, "Start", "Hub");
  const others = await manyMemories(world, ann, 9_999);
  await manyLinks(
    world,
    ann,
    others.slice(1).map(({ id }) => [hub.id, id] as const),
  );
  await aLink(ann, hub, others[0] ?? hub, { strength: 0.9 });
  await aLink(ann, start, hub);

  const { memories } = await ann.did(relatedMemories, { id: hub.id, limit: 100 });
  const fromStart = await ann.did(relatedMemories, { id: start.id, maxDepth: 5, limit: 100 });

  expect(memories).toHaveLength(100);
  expect(memories[0]).toMatchObject({ memoryId: others[0]?.id, strength: 0.9 });
  expect(fromStart.memories.map(({ depth }) => depth)).toEqual([1, ...Array<number>(99).fill(2)]);
});

it("answers for a graph in which everything is linked to everything", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const all = await manyMemories(world, ann, 120);
  await manyLinks(
    world,
    ann,
    all.flatMap((from) => all.filter((to) => to !== from).map((to) => [from.id, to.id] as const)),
  );

  const { memories } = await ann.did(relatedMemories, { id: all[0]?.id, maxDepth: 5, limit: 100 });

  expect(new Set(memories.map(({ memoryId }) => memoryId)).size).toBe(100);
  expect(new Set(memories.map(({ depth }) => depth))).toEqual(new Set([1]));
});

it("walks a dense graph only until the answer is full", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const start = await aMemory(ann);
  const layers: Array<Array<{ id: string }>> = [[start]];
  for (let depth = 1; depth <= 5; depth++) {
    const layer = await manyMemories(world, ann, 60);
    const nearer = layers.at(-1) ?? [];
    await manyLinks(
      world,
      ann,
      nearer.flatMap(({ id }) => layer.map((further) => [id, further.id] as const)),
    );
    layers.push(layer);
  }

  const { memories } = await ann.did(relatedMemories, { id: start.id, maxDepth: 5, limit: 100 });

  expect(new Set(memories.map(({ memoryId }) => memoryId)).size).toBe(100);
  expect(memories.map(({ depth }) => depth)).toEqual([...Array<number>(60).fill(1), ...Array<number>(40).fill(2)]);
});

it("distinguishes a memory without relationships from an unknown one", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await aMemory(ann);

  expect(await ann.did(relatedMemories, { id })).toEqual({ memories: [], truncated: false });
  expect(await ann.does(relatedMemories, { id: world.services.newId() })).toBeRefused("not_found");
});

it("refuses input out of bounds", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await aMemory(ann);
  const wrong = [
    { types: ["causes"] },
    { types: [""] },
    { types: [] },
    { types: ["SOLVES", "SOLVES;"] },
    { types: Array<string>(51).fill("SOLVES") },
    { maxDepth: 0 },
    { maxDepth: 6 },
    { maxDepth: null },
    { direction: "up" },
    { limit: 0 },
    { limit: 101 },
    { limit: 1_001, eachRelationship: true },
  ];

  for (const input of wrong) {
    const verdict = await ann.does(relatedMemories, { id, ...input });
    expect(verdict, JSON.stringify(input)).toBeRefused("bad_request");
    const message = "limit: must be from 1 to 100, with `eachRelationship` to 1,000";
    if ("limit" in input) expect(verdict).toMatchObject({ failure: { message } });
  }
});

const titles = async (actor: Actor, { id }: Pick<Memory, "id">, wishes: object) =>
  (await actor.did(relatedMemories, { id, ...wishes })).memories.map(({ title }) => title);
