import { expect, it, vi } from "vitest";
import { deleteMemory } from "../../../src/features/memories/delete-memory.js";
import { memoryPath } from "../../../src/features/views/memory-path.js";
import { LIMITS } from "../../../src/limits.js";
import { withLimits } from "../../support/limits.js";
import { aLink, aMemory, manyLinks, manyMemories, memoriesTitled } from "../../support/memories.js";
import { onceAfter } from "../../support/statements.js";
import { type Actor, createWorld } from "../../support/world.js";

interface End {
  readonly id: string;
}

const pathOf = (actor: Actor, from: End, to: End, wishes: object = {}) =>
  actor.did(memoryPath, { fromMemoryId: from.id, toMemoryId: to.id, ...wishes });

it("is a shortest one, and tells the direction of each step", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [start, middle, end, around] = await memoriesTitled(ann, "Start", "Middle", "End", "Around");
  await aLink(ann, start, middle, { relationshipType: "CAUSES", strength: 0.7 });
  const context = "Since Tuesday.";
  const back = await aLink(ann, end, middle, { relationshipType: "SOLVES", strength: 0.2, context });
  await aLink(ann, start, around);
  const [further] = await memoriesTitled(ann, "Further");
  await aLink(ann, around, further);
  await aLink(ann, further, end);

  const { length, steps, isCapped } = await pathOf(ann, start, end);

  expect({ length, isCapped }).toEqual({ length: 2, isCapped: false });
  expect(steps).toMatchObject([
    { memoryId: start.id, title: "Start", relationship: null, direction: null, strength: null, context: null },
    { memoryId: middle.id, title: "Middle", relationship: "CAUSES", direction: "out", strength: 0.7, context: null },
    { memoryId: end.id, title: "End", relationship: "SOLVES", direction: "in", relationshipId: back.id, context },
  ]);
});

it.each([
  ["older", [0.9, 0.3, 0.6]],
  ["newer", [0.3, 0.6, 0.9]],
])(
  "takes the strongest of several relationships between two memories, also if it is the %s one",
  async (_age, given) => {
    await using world = await createWorld();
    const ann = await world.user();
    const [start, end] = await memoriesTitled(ann, "Start", "End");
    for (const [index, strength] of given.entries())
      await aLink(ann, start, end, { relationshipType: `TYPE_${index}`, strength });

    expect((await pathOf(ann, start, end)).steps[1]).toMatchObject({ strength: 0.9 });
  },
);

it("follows only relationships of the given direction and types", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [a, b, c] = await memoriesTitled(ann, "A", "B", "C");
  await aLink(ann, a, b, { relationshipType: "CAUSES" });
  await aLink(ann, b, c, { relationshipType: "CAUSES" });
  await aLink(ann, c, a, { relationshipType: "SOLVES" });
  const length = async (wishes: object) => (await pathOf(ann, a, c, wishes)).length;

  expect(await length({})).toBe(1);
  expect(await length({ direction: "out" })).toBe(2);
  expect(await length({ direction: "in" })).toBe(1);
  expect(await length({ types: ["CAUSES"] })).toBe(2);
  expect(await length({ types: ["CAUSES"], direction: "in" })).toBe(null);
  expect(await length({ types: ["UNHEARD_OF"] })).toBe(null);
});

it("follows the arrows, goes against them, or both, however long the path is", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const ring = await memoriesTitled(ann, "0", "1", "2", "3", "4", "5", "6");
  for (const [place, memory] of ring.entries()) await aLink(ann, memory, ring[place + 1] ?? ring[0]);
  // More memories at the start: so the search goes on from the end.
  const [before, after] = await memoriesTitled(ann, "Before", "After");
  await aLink(ann, before, ring[0]);
  await aLink(ann, ring[0], after);

  for (const [place, memory] of ring.entries()) {
    const against = (ring.length - place) % ring.length;
    const lengths = { out: place, in: against, any: Math.min(place, against) };
    for (const [direction, length] of Object.entries(lengths)) {
      expect(await pathOf(ann, ring[0], memory, { direction }), `${direction} ${place}`).toMatchObject({ length });
    }
  }
});

it("has at most the allowed number of relationships", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const chain = await memoriesTitled(ann, "0", "1", "2", "3", "4", "5", "6", "7");
  for (const [index, memory] of chain.entries()) {
    const next = chain[index + 1];
    if (next) await aLink(ann, memory, next);
  }

  expect((await pathOf(ann, chain[0], chain[6])).length).toBe(6);
  expect(await pathOf(ann, chain[0], chain[7])).toEqual({ length: null, steps: [], isCapped: false });
  expect((await pathOf(ann, chain[0], chain[7], { maxDepth: 7 })).steps.map(({ title }) => title).join("")).toBe(
    "01234567",
  );
});

it("is another one if a memory on it is deleted before it is read", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [start, gone, one, other, end] = await memoriesTitled(ann, "Start", "Gone", "One", "Other", "End");
  for (const way of [
    [start, gone, end],
    [start, one, other, end],
  ])
    for (const [place, memory] of way.slice(1).entries()) await aLink(ann, way[place] ?? start, memory);
  const search = () => pathOf(ann, start, end);
  expect((await search()).length).toBe(2);
  onceAfter(world, "step_from", () => ann.did(deleteMemory, { id: gone.id }), 2);

  const { length, steps } = await search();

  expect([length, steps.map(({ title }) => title)]).toEqual([3, ["Start", "One", "Other", "End"]]);
});

it("of a memory to itself has no relationship", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const memory = await aMemory(ann);

  expect(await pathOf(ann, memory, memory)).toMatchObject({ length: 0, steps: [{ memoryId: memory.id }] });
});

it("accepts client ids", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [from, to] = [await aMemory(ann, { clientId: "first" }), await aMemory(ann)];
  await aLink(ann, from, to);

  expect(await pathOf(ann, { id: "first" }, to)).toMatchObject({ length: 1, steps: [{ memoryId: from.id }, {}] });
});

it("leads into no other graph", async () => {
  await using world = await createWorld();
  const [ann, bob] = [await world.user(), await world.user()];
  const [mine, other, bobs] = [await aMemory(ann), await aMemory(ann), await aMemory(bob)];

  expect(await pathOf(ann, mine, other)).toEqual({ length: null, steps: [], isCapped: false });
  for (const [from, to] of [
    [mine, bobs],
    [bobs, mine],
    [bobs, bobs],
    [mine, { id: "no-id" }],
  ] as const) {
    const verdict = await ann.does(memoryPath, { fromMemoryId: from.id, toMemoryId: to.id });
    expect(verdict).toBeRefused("not_found");
  }
});

it("is found between two hubs of ten thousand relationships each", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [hub, other] = await memoriesTitled(ann, "Hub", "Other hub");
  const leaves = await manyMemories(world, ann, 19_999);
  const [shared] = leaves;
  await manyLinks(
    world,
    ann,
    leaves.slice(0, 10_000).map(({ id }) => [hub.id, id] as const),
  );
  await manyLinks(
    world,
    ann,
    leaves.slice(10_000).map(({ id }) => [other.id, id] as const),
  );
  if (shared) await aLink(ann, other, shared);

  const run = vi.spyOn(world.database, "run");

  const { length, isCapped, steps } = await pathOf(ann, hub, other);

  expect({ length, isCapped }).toEqual({ length: 2, isCapped: false });
  expect(steps[1]?.memoryId).toBe(shared?.id);
  const rows = await Promise.all(run.mock.results.map(({ value }) => value as Promise<object[]>));
  const walked = rows.filter((_rows, index) => run.mock.calls[index]?.[0].name === "step_from");
  // Many rows would keep Node from all other work.
  expect(walked.map(({ length: count }) => count)).toEqual([1, 1]);
});

it("says when it would have to read too many relationships", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const count = 60;
  using _limits = withLimits("views", { pathRelationships: 2_000 });
  const all = await manyMemories(world, ann, count);
  const alone = await aMemory(ann);
  expect(count * (count - 1)).toBeGreaterThan(LIMITS.views.pathRelationships);
  await manyLinks(
    world,
    ann,
    all.flatMap((from) => all.filter((to) => to !== from).map((to) => [from.id, to.id] as const)),
  );
  const [first, second] = all;
  if (!first || !second) throw new Error("There are too few.");
  const [last] = await memoriesTitled(ann, "Last");
  await aLink(ann, last, second);
  await aLink(ann, last, alone);

  expect((await pathOf(ann, first, second)).length).toBe(1);
  expect(await pathOf(ann, first, alone)).toMatchObject({ length: 3, isCapped: false });
  // The side with fewer relationships is searched at once: nothing leads to it.
  const [apart, beside] = await memoriesTitled(ann, "Apart", "Beside");
  expect(await pathOf(ann, first, apart)).toEqual({ length: null, steps: [], isCapped: false });
  // From either side there are too many relationships to read.
  const more = await manyMemories(world, ann, count);
  await manyLinks(
    world,
    ann,
    more.flatMap((from) => more.filter((to) => to !== from).map((to) => [from.id, to.id] as const)),
  );
  const [third] = more;
  if (third) await aLink(ann, beside, third);
  expect(await pathOf(ann, first, third ?? beside)).toEqual({ length: null, steps: [], isCapped: true });
});

it("refuses input out of bounds", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { id } = await aMemory(ann);
  const wrong = [{ types: ["causes"] }, { types: [] }, { maxDepth: 0 }, { maxDepth: 11 }, { direction: "up" }];

  for (const input of wrong) {
    const verdict = await ann.does(memoryPath, { fromMemoryId: id, toMemoryId: id, ...input });
    expect(verdict, JSON.stringify(input)).toBeRefused("bad_request");
  }
});
