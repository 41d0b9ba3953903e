import { expect, it } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { recentActivity } from "../../src/features/views/recent-activity.js";
import { anAgent } from "../support/mcp.js";
import { aLink, aMemory, manyMemories, memoriesTitled } from "../support/memories.js";
import { createWorld } from "../support/world.js";

it("marks what was replaced in the list of recent activity, among open problems too", async () => {
  await using world = await createWorld();
  const { ann, call } = await anAgent(world);
  const old = await aMemory(ann, { title: "Use Redis", type: "decision" });
  const now = await aMemory(ann, { title: "Use PostgreSQL", type: "decision" });
  const vague = await aMemory(ann, { title: "It is slow", type: "problem" });
  const exact = await aMemory(ann, { title: "The index is missing", type: "problem" });
  await aLink(ann, now, old, { relationshipType: "REPLACES" });
  await aLink(ann, vague, exact, { relationshipType: "DEPRECATED_BY" });

  const { memories, unresolved_problems } = await call("get_recent_activity");

  const marks = (list: unknown) =>
    (list as Array<{ title: string; superseded_by?: object }>).map((one) => [one.title, one.superseded_by]);
  expect(marks(memories)).toEqual([
    ["The index is missing", undefined],
    ["It is slow", { id: exact.id, title: "The index is missing" }],
    ["Use PostgreSQL", undefined],
    ["Use Redis", { id: now.id, title: "Use PostgreSQL" }],
  ]);
  expect(marks(unresolved_problems)).toEqual(marks(memories).slice(0, 2));
});

it("marks what is solved in the list of recent activity, so that nobody takes up a task that is done", async () => {
  await using world = await createWorld();
  const { ann, call } = await anAgent(world);
  const [done, open] = [await aMemory(ann, { type: "task" }), await aMemory(ann, { type: "task" })];
  const bug = await aMemory(ann, { type: "problem" });
  const fix = await aMemory(ann, { title: "Fixed", type: "fix" });
  for (const solved of [done, bug]) await aLink(ann, fix, solved, { relationshipType: "SOLVES" });

  const { memories } = await call("get_recent_activity", { types: ["task", "problem"], days: 365 });

  const marks = (memories as Array<{ id: string; solved_by?: object }>).map((one) => [one.id, one.solved_by]);
  const solved_by = { id: fix.id, title: "Fixed" };
  expect(new Map(marks as [string, object][])).toEqual(
    new Map<string, object | undefined>([
      [bug.id, solved_by],
      [open.id, undefined],
      [done.id, solved_by],
    ]),
  );
});

it("says that recent activity lists only the newest where there are more, and how to see the next", async () => {
  await using world = await createWorld();
  const { ann, call } = await anAgent(world);
  await manyMemories(world, ann, 20, "A note.");
  expect(await call("get_recent_activity")).not.toHaveProperty("truncated");
  const newest = await aMemory(ann);

  const { memories, ...others } = await call("get_recent_activity");
  const { memories: next, ...last } = await call("get_recent_activity", { offset: 20 });

  expect(memories).toHaveLength(20);
  expect(others).toMatchObject({ total: 21, truncated: true, hint: expect.stringContaining("offset") as string });
  expect([next, last]).toMatchObject([[{ title: expect.any(String) as string }], { total: 21 }]);
  expect(last).not.toHaveProperty("truncated");
  const ids = [memories, next].flatMap((list) => (list as Array<{ id: string }>).map(({ id }) => id));
  expect([ids[0], new Set(ids).size]).toEqual([newest.id, 21]);
  expect((await ann.did(recentActivity, {})).truncated).toBe(false);
});

it("returns the open problems that have no room to the call that the hint names", async () => {
  await using world = await createWorld();
  const { ann, call } = await anAgent(world);
  for (let number = 1; number <= 12; number++) await aMemory(ann, { type: "problem", title: `Number ${number}` });
  const titles = ({ unresolved_problems }: Record<string, unknown>) =>
    (unresolved_problems as Array<{ title: string }>).map(({ title }) => title);

  const first = await call("get_recent_activity");
  const next = await call("get_recent_activity", { unresolved_offset: titles(first).length });

  expect(first).toMatchObject({
    unresolved_total: 12,
    truncated: true,
    hint: expect.stringContaining("unresolved_offset") as string,
  });
  expect(next).not.toHaveProperty("truncated");
  expect(new Set([first, next].flatMap(titles)).size).toBe(12);
});

it("says that older problems may be open where it lists none", async () => {
  await using world = await createWorld();
  const { ann, call } = await anAgent(world);
  const hintIn = async (asked: object = {}) => (await call("get_recent_activity", asked))["hint"];

  expect(await hintIn()).toContain("older problems may be open");
  await aMemory(ann);
  expect(await hintIn()).toContain("days 365 shows older ones, which may be open");
  expect([await hintIn({ days: 365 }), await hintIn({ types: ["general"] })]).toEqual([undefined, undefined]);
  await aMemory(ann, { type: "problem" });
  expect(await hintIn()).toBeUndefined();
});

it("says that a summary is the old one where only the content changed", async () => {
  await using world = await createWorld();
  const { ann, call } = await anAgent(world);
  const { id } = await aMemory(ann, { content: "We pass the fee on.", summary: "The fee is passed on." });
  const { id: plain } = await aMemory(ann);
  const content = "We pay the fee.";

  expect(await call("update_memory", { id, content })).toMatchObject({
    summary: "The fee is passed on.",
    hint: expect.stringContaining("summary is still the old one") as string,
  });
  const tags = Array.from({ length: 50 }, (_, n) => `${n}${"\u{1F600}".repeat(98)}`);
  expect(await call("update_memory", { id, content, tags })).toMatchObject({
    truncated: true,
    hint: expect.stringMatching(/summary is still the old one.*only this answer is cut/) as string,
  });
  expect(await call("update_memory", { id, content, summary: "We pay.", tags: [] })).not.toHaveProperty("hint");
  expect(await call("update_memory", { id, title: "The fee" })).not.toHaveProperty("hint");
  expect(await call("update_memory", { id: plain, content })).not.toHaveProperty("hint");
});

it.each([
  ["bug", "problem", "problems that are open"],
  ["Issue", "problem", "problems that are open"],
  ["exception", "error", "problems that are open"],
  ["bugfix", "fix", "filters by fix"],
  ["problems", "problem", "problems that are open"],
  ["Decisions", "decision", "filters by decision"],
])("stores the type %s as it is said, and names the well-known %s", async (type, better, why) => {
  await using world = await createWorld();
  const { call } = await anAgent(world);

  const { type: stored, hint } = await call("store_memory", { type, title: "It fails", content: "x" });

  expect([stored, hint]).toEqual([type.toLowerCase(), expect.stringContaining(`well-known type is ${better}`)]);
  expect(hint).toContain(why);
});

it.each(["problem", "decision", "fix"])("says nothing of the type %s", async (type) => {
  await using world = await createWorld();
  const { call } = await anAgent(world);

  const { hint } = await call("store_memory", { type, title: "A title", content: "x" });

  // On a busy machine it says that similar memories could not be looked for in time.
  expect(String(hint)).not.toContain("well-known");
});

it("names all unknown arguments of a call at once, and every one that the tool takes", async () => {
  await using world = await createWorld();
  const { call } = await anAgent(world);

  expect(await call("create_relationship", { begin: "x", end: "y", kind: "SOLVES" })).toEqual({
    error: {
      code: "bad_request",
      message:
        "begin, end, kind: are unknown; known are from_memory_id, to_memory_id, relationship_type, graph, strength, " +
        "confidence, context; from_memory_id: is required; to_memory_id: is required; relationship_type: is required",
    },
  });
  expect(await call("get_memory", { title: "x" })).toMatchObject({
    error: { message: "title: is unknown; known are id, graph, content_from; id: is required" },
  });
});

it("says what to try where hits have few of the words, and nowhere else", async () => {
  await using world = await createWorld();
  const { ann, call } = await anAgent(world);
  await memoriesTitled(ann, "Mails are sent twice");
  const hint = async (query: string) => (await call("search_memories", { query }))["hint"];

  expect(await hint("por qué se envían tantos correos duplicados twice")).toContain("other or fewer");
  expect(await hint("mails sent twice")).toBeUndefined();
});

const STATE =
  "get_recent_activity with days 365 lists what changed in that time and by whom, and which problems are open";

it.each([
  ["open problems", true],
  ["unresolved issues in mails", true],
  ["mails what is still unsolved", true],
  ["mails not yet solved", true],
  ["what changed in mails", true],
  ["what\u2019s new: mails", true],
  ["recent changes mails", true],
  ["mails not solved", true],
  ["whats new: mails", true],
  ["what is new in mails", true],
  ["open tasks mails", false],
  ["open error log mails", false],
  ["mails: host not resolved", false],
  ["what new hires know of mails", false],
  ["what is new feature flag mails", false],
  ["mails unresolved external symbol", false],
  ["mails: too many open files, error 24", false],
  ["recent mails", false],
  ["still sent twice", false],
])("names with the hits for %j the tool that lists what is open and what changed: %s", async (query, isSaid) => {
  await using world = await createWorld();
  const { ann, call } = await anAgent(world);
  await aMemory(ann, { type: "problem", title: "Mails are sent twice", content: "Open recent files with a symbol." });

  const { memories, hint } = await call("search_memories", { query });

  expect(memories).toHaveLength(1);
  expect(String(hint).includes(STATE)).toBe(isSaid);
});

it("names the tool that lists what is open, if no memory has such words", async () => {
  await using world = await createWorld();
  const { call } = await anAgent(world);

  expect(await call("search_memories", { query: "what is still unsolved" })).toMatchObject({
    memories: [],
    hint: expect.stringMatching(
      new RegExp(
        `${STATE}.* If get_recent_activity lists nothing either, maybe nothing is stored yet, or it has expired`,
      ),
    ) as string,
  });
});

it("says how to move a memory to the other graph, where a call names only the graph", async () => {
  await using world = await createWorld();
  const { ann, call } = await anAgent(world);
  const { id } = await aMemory(ann);

  expect(await call("update_memory", { id, graph: "team" })).toMatchObject({
    error: {
      message: expect.stringContaining(
        "store it in the other graph, then delete it here, which ends its links",
      ) as string,
    },
  });
});

it.each([false, true])("speaks of relationships that had no room only where there are any: %s", async (isLinked) => {
  await using world = await createWorld();
  const { ann, call } = await anAgent(world);
  const { id } = await aMemory(ann, { content: "A line.\n".repeat(LIMITS.mcp.answerBytes / 8) });
  if (isLinked) await aLink(ann, { id }, await aMemory(ann));

  const { truncated, hint } = await call("get_memory", { id });

  expect(truncated).toBe(true);
  expect(hint).toContain("content_from");
  expect(String(hint).includes("relationships")).toBe(isLinked);
});

it("says which words of a search no memory has, also where nothing is found", async () => {
  await using world = await createWorld();
  const { ann, call } = await anAgent(world);
  await memoriesTitled(ann, "Autumn leaves");

  expect(await call("search_memories", { query: "leak" })).toMatchObject({
    memories: [{ title: "Autumn leaves" }],
    unknown_words: [{ word: "leak", taken_as: ["leav"] }],
  });
  expect(await call("search_memories", { query: "zzzzzz" })).toMatchObject({
    memories: [],
    unknown_words: [{ word: "zzzzzz", taken_as: [] }],
    hint: expect.stringContaining("try other or fewer ones") as string,
  });
});

it("says how to read a memory whose id was searched for", async () => {
  await using world = await createWorld();
  const { ann, call } = await anAgent(world);
  const { id } = await aMemory(ann);
  const hintFor = async (query: string) => (await call("search_memories", { query }))["hint"];

  expect(await hintFor(`${id} `)).toContain("call get_memory");
  expect(await hintFor(`memory ${id}`)).not.toContain("call get_memory");
});

it("says that a text does not begin in this answer, or ends before", async () => {
  await using world = await createWorld();
  const { ann, call } = await anAgent(world);
  const { id } = await aMemory(ann, { content: "0123456789" });
  const read = (content_from?: number) => call("get_memory", { id, content_from });

  expect(await read(0)).not.toHaveProperty("hint");
  expect(await read(4)).toMatchObject({
    content: "456789",
    hint: "This is the content from character 4 of 10 on, not the whole.",
  });
  expect(await read(10)).toMatchObject({
    content: "",
    hint: "The content has only 10 characters: leave out content_from to read it from the beginning.",
  });
});

const NO_MORE_HITS = "There are no more hits: give a smaller offset.";

it.each([
  ["get_recent_activity", {}, "There is nothing after the first 1: give a smaller offset."],
  ["search_memories", { query: "backup" }, NO_MORE_HITS],
  ["search_memories", { query: "backup", types: ["problem"] }, NO_MORE_HITS],
])("says of %s with %j that there is less than was left out, and nothing else", async (name, given, hint) => {
  await using world = await createWorld();
  const { ann, call } = await anAgent(world);
  await aMemory(ann, { type: "problem", title: "The backup fails" });

  expect(await call(name, { ...given, offset: 1 })).toMatchObject({ memories: [], total: 1, hint });
  expect(await call(name, { ...given, offset: 0 })).not.toHaveProperty("hint");
});

it("names among the filters that left nothing no offset, which would have left out nothing", async () => {
  await using world = await createWorld();
  const { call } = await anAgent(world);

  for (const [name, given] of [
    ["get_recent_activity", {}],
    ["search_memories", { query: "backup" }],
  ] as const) {
    const { hint } = await call(name, { ...given, types: ["problem"], offset: 1 });
    expect([name, hint]).toEqual([name, expect.stringMatching(/^Nothing with the given types: try without\. /)]);
  }
});

it("says that a memory has expired already when a change leaves it so, and only then", async () => {
  await using world = await createWorld();
  const { ann, call } = await anAgent(world);
  const [past, future] = ["2020-01-01T00:00:00Z", "2100-01-01T00:00:00Z"];
  const expired = expect.stringContaining("expires_at null") as string;
  const { id } = await aMemory(ann);

  expect(await call("update_memory", { id, expires_at: past })).toMatchObject({ hint: expired });
  expect(await call("update_memory", { id, importance: 0.7 })).toMatchObject({ hint: expired });
  expect(await call("update_memory", { id, expires_at: future })).not.toHaveProperty("hint");
  expect(await call("update_memory", { id, expires_at: null })).not.toHaveProperty("hint");
});

it("shows agents which memory solves a hit, and nothing where none does", async () => {
  await using world = await createWorld();
  const { ann, call } = await anAgent(world);
  const [problem, fix] = await memoriesTitled(ann, "Needle leaks", "Tighten the screw");
  expect(await call("search_memories", { query: "needle" })).not.toHaveProperty("memories.0.solved_by");

  await aLink(ann, fix, problem, { relationshipType: "SOLVES" });

  expect(await call("search_memories", { query: "needle" })).toMatchObject({
    memories: [{ id: problem.id, solved_by: { id: fix.id, title: "Tighten the screw" } }],
  });
});
