import { expect, it, vi } from "vitest";
import { deleteMemory } from "../../../src/features/memories/delete-memory.js";
import { memoryGraph } from "../../../src/features/views/memory-graph.js";
import { idsIn, type stepFrom } from "../../../src/features/views/walk-statements.js";
import { LIMITS } from "../../../src/limits.js";
import type { RowOf } from "../../../src/platform/database/statement.js";
import { aLink, aMemory, manyLinks, manyMemories, memoriesTitled } from "../../support/memories.js";
import { onceAfter } from "../../support/statements.js";
import { createWorld } from "../../support/world.js";

it("draws the memories around one, with all relationships between them", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [start, near, other, far, beyond] = await memoriesTitled(ann, "Start", "Near", "Other", "Far", "Beyond");
  await aLink(ann, start, near, { relationshipType: "CAUSES", strength: 0.9 });
  await aLink(ann, other, start, { strength: 0.4 });
  const between = await aLink(ann, near, other, { relationshipType: "SOLVES", strength: 0.6 });
  await aLink(ann, near, far);
  await aLink(ann, far, beyond);

  const { nodes, edges, isCapped } = await ann.did(memoryGraph, { memoryId: start.id, maxDepth: 1 });
  const wider = await ann.did(memoryGraph, { memoryId: start.id });

  expect(isCapped).toBe(false);
  expect(nodes.map(({ title }) => title)).toEqual(["Other", "Near", "Start"]);
  expect(edges.map(({ type, strength }) => [type, strength])).toEqual([
    ["CAUSES", 0.9],
    ["SOLVES", 0.6],
    ["RELATED_TO", 0.4],
  ]);
  expect(edges[1]).toEqual({
    relationshipId: between.id,
    from: near.id,
    to: other.id,
    type: "SOLVES",
    strength: 0.6,
  });
  expect(wider.nodes.map(({ title }) => title)).toEqual(["Far", "Other", "Near", "Start"]);
});

it("draws the newest memories of a graph, and says when there are more", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [first, second, third] = await memoriesTitled(ann, "First", "Second", "Third");
  await aLink(ann, first, second);
  await aLink(ann, second, third);

  const whole = await ann.did(memoryGraph, { limit: 3 });
  const part = await ann.did(memoryGraph, { limit: 2 });

  expect(whole.nodes.map(({ title }) => title)).toEqual(["Third", "Second", "First"]);
  expect([whole.edges.length, whole.isCapped]).toEqual([2, false]);
  expect(part.nodes.map(({ title }) => title)).toEqual(["Third", "Second"]);
  expect([part.edges.length, part.isCapped]).toEqual([1, true]);
});

it("draws the nearest and most strongly linked memories of a hub, and says that there are more", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const hub = await aMemory(ann);
  const many = await manyMemories(world, ann, 10_000);
  // Among equally strong ones, it would be the last.
  const [strong = hub, ...leaves] = many.toSorted((one, other) => (one.id < other.id ? 1 : -1));
  await manyLinks(
    world,
    ann,
    leaves.map(({ id }) => [hub.id, id] as const),
  );
  await aLink(ann, strong, hub, { strength: 0.9 });
  const run = vi.spyOn(world.database, "run");

  const { nodes, edges, isCapped } = await ann.did(memoryGraph, { memoryId: hub.id, limit: 500, maxDepth: 5 });

  expect(nodes).toHaveLength(500);
  expect(edges).toHaveLength(499);
  expect(edges[0]).toMatchObject({ from: strong.id, strength: 0.9 });
  expect(isCapped).toBe(true);
  const rows = await Promise.all(run.mock.results.map(({ value }) => value as Promise<RowOf<typeof stepFrom>[]>));
  const steps = rows.filter((_rows, index) => run.mock.calls[index]?.[0].name === "step_from").flat();
  expect(steps.map(({ ids }) => idsIn(ids).length)).toEqual([501]);
});

it("draws no more relationships than its limit, and says so", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const all = await manyMemories(world, ann, 60);
  await manyLinks(
    world,
    ann,
    all.flatMap((from) => all.filter((to) => to !== from).map((to) => [from.id, to.id] as const)),
  );

  const { nodes, edges, isCapped } = await ann.did(memoryGraph, {});

  expect(nodes).toHaveLength(60);
  expect(edges).toHaveLength(LIMITS.views.edges);
  expect(isCapped).toBe(true);
});

it("counts only relationships of drawn memories against the limit", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const unseen = await aMemory(ann, { title: "Unseen" });
  const all = await memoriesTitled(ann, ...Array.from({ length: 45 }, (_, n) => `Note ${n}`));
  const pairs = all.flatMap((from) => all.filter((to) => to !== from).map((to) => [from.id, to.id] as const));
  await manyLinks(world, ann, pairs);
  // The oldest memory, which is left out, has the strongest relationships.
  for (const to of all.slice(0, 30)) await aLink(ann, unseen, to, { strength: 1 });

  const { nodes, edges } = await ann.did(memoryGraph, { limit: 45 });

  expect(nodes.map(({ title }) => title)).not.toContain("Unseen");
  expect(edges).toHaveLength(pairs.length);
});

it("says when it does not look at all relationships of the drawn memories", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const start = await aMemory(ann);
  const hubs = await manyMemories(world, ann, 200);
  const leaves = await manyMemories(world, ann, 99);
  const link = (ends: ReadonlyArray<{ readonly id: string }>) =>
    manyLinks(
      world,
      ann,
      hubs.flatMap((hub) => ends.map(({ id }) => [hub.id, id] as const)),
    );
  const draw = () => ann.did(memoryGraph, { memoryId: start.id, maxDepth: 1, limit: 500 });

  await link([start, ...leaves.slice(1)]);
  expect(await draw()).toMatchObject({ nodes: { length: 201 }, isCapped: false });
  await link(leaves.slice(0, 1));

  expect(200 * 100).toBe(LIMITS.views.drawnFrom);
  expect(await draw()).toMatchObject({ nodes: { length: 201 }, edges: { length: 200 }, isCapped: true });
});

it("refuses a memory that is deleted before it is drawn", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await aMemory(ann);
  onceAfter(world, "step_from", () => ann.did(deleteMemory, { id }));

  expect(await ann.does(memoryGraph, { memoryId: id })).toBeRefused("not_found");
});

it("draws nothing of other graphs, and refuses their memories", async () => {
  await using world = await createWorld();
  const [ann, bob] = [await world.user(), await world.user()];
  const { id } = await aMemory(bob);

  expect(await ann.did(memoryGraph, {})).toEqual({ nodes: [], edges: [], isCapped: false });
  expect(await ann.does(memoryGraph, { memoryId: id })).toBeRefused("not_found");
  expect(await ann.does(memoryGraph, { memoryId: "no-id" })).toBeRefused("not_found");
});

it("refuses input out of bounds", async () => {
  await using world = await createWorld();
  const ann = await world.user();

  for (const input of [{ maxDepth: 0 }, { maxDepth: 6 }, { limit: 0 }, { limit: 501 }]) {
    expect(await ann.does(memoryGraph, input), JSON.stringify(input)).toBeRefused("bad_request");
  }
});
