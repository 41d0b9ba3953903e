import { expect, it } from "vitest";
import { updateMemory } from "../../../src/features/memories/update-memory.js";
import { recentActivity } from "../../../src/features/views/recent-activity.js";
import { LIMITS } from "../../../src/limits.js";
import { withLimits } from "../../support/limits.js";
import { aLink, aMemory, manyMemories } from "../../support/memories.js";
import { createWorld } from "../../support/world.js";

const DAY_MS = 86_400_000;

it("lists what was stored or changed in the last days, the latest first", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const old = await aMemory(ann, { title: "Old", type: "task" });
  await aMemory(ann, { title: "Older", type: "task" });
  world.travel(8 * DAY_MS);
  await aMemory(ann, { title: "New", type: "solution" });
  await ann.did(updateMemory, { id: old.id, title: "Changed" });

  const week = await ann.did(recentActivity, {});
  const month = await ann.did(recentActivity, { days: 30 });

  expect(week).toMatchObject({ total: 2, totalIsCapped: false, days: 7 });
  expect(week.memories.map(({ title }) => title)).toEqual(["Changed", "New"]);
  expect(week.byType).toEqual([
    { type: "solution", count: 1 },
    { type: "task", count: 1 },
  ]);
  expect(month.total).toBe(3);
  expect(month.byType[0]).toEqual({ type: "task", count: 2 });
});

it("lists problems and errors that nothing solves or addresses, the most important first", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const fix = await aMemory(ann, { title: "Fix", type: "fix" });
  const made = async (title: string, type: string, importance: number, relationshipType?: string) => {
    const memory = await aMemory(ann, { title, type, importance });
    if (relationshipType !== undefined) await aLink(ann, fix, memory, { relationshipType });
    return memory;
  };
  const open = await made("Open", "problem", 0.5);
  await made("Worse", "error", 0.9, "RELATED_TO");
  await made("Solved", "problem", 1, "SOLVES");
  await made("Addressed", "error", 1, "ADDRESSES");
  await made("No problem", "task", 1);
  // It solves something itself, but nothing solves it.
  await aLink(ann, open, fix, { relationshipType: "SOLVES" });

  const { unresolvedProblems } = await ann.did(recentActivity, {});

  expect(unresolvedProblems.map(({ title }) => title)).toEqual(["Worse", "Open"]);
});

it("can be limited to one project", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { title: "Here", type: "problem", context: { project_path: "/here" } });
  await aMemory(ann, { title: "There", type: "problem", context: { project_path: "/there" } });
  await aMemory(ann, { title: "Anywhere" });

  const { total, byType, memories, unresolvedProblems } = await ann.did(recentActivity, { project: "/here" });

  expect([total, byType]).toEqual([1, [{ type: "problem", count: 1 }]]);
  expect([...memories, ...unresolvedProblems].map(({ title }) => title)).toEqual(["Here", "Here"]);
  expect(memories[0]?.context).toEqual({ project_path: "/here" });
});

it("shows at most 20 memories and 10 problems, and counts all", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  for (let number = 1; number <= 25; number++) await aMemory(ann, { type: "problem", title: `Number ${number}` });

  const { total, memories, unresolvedProblems, truncated } = await ann.did(recentActivity, {});

  expect([total, truncated]).toEqual([25, true]);
  expect(memories.map(({ title }) => title)).toEqual(Array.from({ length: 20 }, (_, index) => `Number ${25 - index}`));
  expect(unresolvedProblems).toHaveLength(10);
});

it("leaves out the newest memories on a later page, and shows the counts and the problems on each", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  for (let number = 1; number <= 25; number++) await aMemory(ann, { type: "task", title: `Number ${number}` });
  await aMemory(ann, { type: "problem", title: "Open" });

  const { total, byType, memories, unresolvedProblems } = await ann.did(recentActivity, { offset: 20 });
  const beyond = await ann.did(recentActivity, { offset: 26 });

  expect(memories.map(({ title }) => title)).toEqual([6, 5, 4, 3, 2, 1].map((number) => `Number ${number}`));
  expect([total, byType[0]]).toEqual([26, { type: "task", count: 25 }]);
  expect(unresolvedProblems.map(({ title }) => title)).toEqual(["Open"]);
  expect(beyond).toMatchObject({ total: 26, memories: [], unresolvedProblems: [{ title: "Open" }] });
});

it("says that there are more problems only if there are more than 10", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  for (let number = 1; number <= 10; number++) await aMemory(ann, { type: "problem" });
  expect(await ann.did(recentActivity, {})).toMatchObject({ truncated: false });
  await aMemory(ann, { type: "problem" });
  expect(await ann.did(recentActivity, {})).toMatchObject({ truncated: true });
});

it("counts all open problems, and leaves out the first of them on a later page", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const named = (from: number, to: number) =>
    Array.from({ length: from - to + 1 }, (_, index) => `Number ${from - index}`);
  for (let number = 1; number <= 25; number++) await aMemory(ann, { type: "problem", title: `Number ${number}` });
  const page = async (unresolvedOffset: number) => {
    const { unresolvedProblems, ...others } = await ann.did(recentActivity, { unresolvedOffset });
    expect(others).toMatchObject({ unresolvedTotal: 25, total: 25 });
    expect(others.memories).toHaveLength(20);
    return [unresolvedProblems.map(({ title }) => title), others.truncated];
  };

  expect(await page(0)).toEqual([named(25, 16), true]);
  expect(await page(10)).toEqual([named(15, 6), true]);
  expect(await page(20)).toEqual([named(5, 1), false]);
  expect(await page(25)).toEqual([[], false]);
});

it("stays within the size of a page, and fills it with problems first", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await manyMemories(world, ann, 20, "\u0001".repeat(50_000));
  await aMemory(ann, { type: "problem", title: "The one problem" });

  const { total, memories, unresolvedProblems, truncated } = await ann.did(recentActivity, {});

  expect([total, truncated]).toEqual([21, true]);
  expect(unresolvedProblems).toHaveLength(1);
  expect(memories.length).toBeGreaterThan(5);
  expect(memories.length).toBeLessThan(20);
  expect(Buffer.byteLength(JSON.stringify(memories))).toBeLessThan(LIMITS.answer.restPageBytes);
});

it("says that there may be more when it has not read all changes, also for a project", async () => {
  using _limit = withLimits("views", { changed: 3 });
  await using world = await createWorld();
  const ann = await world.user();
  await aMemory(ann, { context: { project_path: "/here" } });
  await aMemory(ann);
  const before = await ann.did(recentActivity, { project: "/here" });
  await aMemory(ann);
  const here = await ann.did(recentActivity, { project: "/here" });
  await aMemory(ann);
  const all = await ann.did(recentActivity, {});

  expect([before.total, before.totalIsCapped]).toEqual([1, false]);
  expect([here.total, here.totalIsCapped]).toEqual([1, true]);
  expect([all.total, all.totalIsCapped]).toEqual([3, true]);
});

it("works for an empty graph, and shows nothing of other graphs", async () => {
  await using world = await createWorld();
  const [ann, bob] = [await world.user(), await world.user()];
  await aMemory(bob, { type: "problem" });

  expect(await ann.did(recentActivity, {})).toEqual({
    total: 0,
    totalIsCapped: false,
    days: 7,
    byType: [],
    memories: [],
    unresolvedProblems: [],
    unresolvedTotal: 0,
    truncated: false,
  });
});

it("refuses input out of bounds", async () => {
  await using world = await createWorld();
  const ann = await world.user();

  for (const days of [0, -1, 366, 1.5, null]) {
    expect(await ann.does(recentActivity, { days }), String(days)).toBeRefused("bad_request");
  }
  for (const offset of [-1, LIMITS.views.changed + 1]) {
    expect(await ann.does(recentActivity, { offset }), String(offset)).toBeRefused("bad_request");
  }
  for (const unresolvedOffset of [-1, LIMITS.views.problems + 1]) {
    expect(await ann.does(recentActivity, { unresolvedOffset })).toBeRefused("bad_request");
  }
});

it("can be limited to certain types", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  for (const type of ["preference", "problem", "error", "task"]) await aMemory(ann, { title: `A ${type}`, type });

  const { total, byType, memories, unresolvedProblems } = await ann.did(recentActivity, {
    types: ["preference", "error"],
  });

  expect(total).toBe(2);
  expect(byType.map(({ type }) => type)).toEqual(["error", "preference"]);
  expect(memories.map(({ title }) => title)).toEqual(["A error", "A preference"]);
  expect(unresolvedProblems.map(({ title }) => title)).toEqual(["A error"]);
});
