import { expect, it } from "vitest";
import { ROW_BYTES } from "../../../src/features/memories/memory-columns.js";
import { graphStatistics } from "../../../src/features/views/graph-statistics.js";
import { ask, requestsLeft } from "../../support/http.js";
import { withLimits } from "../../support/limits.js";
import { aLink, aMemory } from "../../support/memories.js";
import { listenTo } from "../../support/statements.js";
import { createWorld } from "../../support/world.js";

it("counts memories and relationships in total and by type, the most common first", async () => {
  await using world = await createWorld();
  const [ann, bob] = [await world.user(), await world.user()];
  const one = await aMemory(ann, { type: "task", importance: 0.25, confidence: 0.4 });
  const two = await aMemory(ann, { type: "problem", importance: 0.5 });
  const three = await aMemory(ann, { type: "task", importance: 0.75 });
  await aLink(ann, one, two, { relationshipType: "SOLVES" });
  await aLink(ann, one, three, { relationshipType: "CAUSES" });
  await aLink(ann, three, two, { relationshipType: "SOLVES" });
  await aMemory(bob);

  expect(await ann.did(graphStatistics, {})).toEqual({
    memoriesTotal: 3,
    memoriesByType: [
      { type: "task", count: 2 },
      { type: "problem", count: 1 },
    ],
    relationshipsTotal: 3,
    relationshipsByType: [
      { type: "SOLVES", count: 2 },
      { type: "CAUSES", count: 1 },
    ],
    averageImportance: 0.5,
    averageConfidence: expect.closeTo(2 / 3) as number,
    isCapped: false,
  });
});

it.each(["/v1/graph/statistics", "/v1/export/records"])(
  "takes requests for all that a graph has room for, before it counts: GET %s",
  async (path) => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    const [one, two] = [await aMemory(ann), await aMemory(ann)];
    await aLink(ann, one, two);
    const { bytes } = await world.database.models.graphUsage.findUniqueOrThrow({
      where: { graphId: ann.caller.personalGraphId },
    });
    const get = () => ask(`${url}${path}`, { key: ann.key });
    const before = requestsLeft(await get());
    using _small = withLimits("views", { countedPerRequest: Number(bytes) / ROW_BYTES / 8.5 });
    using ear = listenTo(world);

    const answers = await Promise.all(Array.from({ length: 40 }, get));

    const answered = answers.filter(({ status }) => status === 200);
    expect(answers.filter(({ status }) => status === 429).length).toBe(40 - answered.length);
    expect(answered.length).toBeGreaterThan(0);
    expect(answered.length).toBeLessThanOrEqual(before / 9);
    expect(ear.heard(/count.*"?relationship"? /is).length).toBe(answered.length);
  },
);

it.each([0.1, 0.3, 0.7, 0.8, 0.9])(
  "averages equal numbers of %d to themselves, without errors of addition",
  async (equal) => {
    await using world = await createWorld();
    const ann = await world.user();
    for (const type of ["fix", "task", "fix", "fix", "task", "task", "fix"])
      await aMemory(ann, { type, importance: equal, confidence: equal });

    expect(await ann.did(graphStatistics, {})).toMatchObject({ averageImportance: equal, averageConfidence: equal });
  },
);

it("works for an empty graph", async () => {
  await using world = await createWorld();
  const ann = await world.user();

  expect(await ann.did(graphStatistics, {})).toEqual({
    memoriesTotal: 0,
    memoriesByType: [],
    relationshipsTotal: 0,
    relationshipsByType: [],
    averageImportance: null,
    averageConfidence: null,
    isCapped: false,
  });
});

it("lists the hundred most common types, and counts the memories of all", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  for (let number = 0; number <= 100; number++) await aMemory(ann, { type: `type_${number}` });

  const { memoriesTotal, memoriesByType } = await ann.did(graphStatistics, {});

  expect(memoriesTotal).toBe(101);
  expect(memoriesByType).toHaveLength(100);
});

it("says when it has not counted all, and counts no more than it may", async () => {
  using _limit = withLimits("views", { counted: 3 });
  await using world = await createWorld();
  const ann = await world.user();
  const hub = await aMemory(ann);
  await aLink(ann, hub, await aMemory(ann));
  const before = await ann.did(graphStatistics, {});
  for (let more = 0; more < 3; more++) await aLink(ann, hub, await aMemory(ann));
  const after = await ann.did(graphStatistics, {});

  expect([before.memoriesTotal, before.isCapped]).toEqual([2, false]);
  expect([after.memoriesTotal, after.relationshipsTotal, after.isCapped]).toEqual([3, 3, true]);
});
