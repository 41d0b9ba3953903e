import { expect, it } from "vitest";
import { recentActivity } from "../../src/features/views/recent-activity.js";
import { callTool } from "../support/mcp.js";
import { aLink, aMemory, manyMemories, memoriesTitled } from "../support/memories.js";
import { type World, createWorld } from "../support/world.js";

/** A user, and how an agent with the user's key calls a tool. */
async function anAgent(world: World) {
  const { url } = await world.serve();
  const ann = await world.user();
  const call = async (name: string, args: object = {}) => (await callTool(url, ann.key, name, args)).answer;
  return { ann, call };
}

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

it("says that recent activity lists only the newest where there are more, and how to see others", async () => {
  await using world = await createWorld();
  const { ann, call } = await anAgent(world);
  await manyMemories(world, ann, 20, "A note.");
  expect(await call("get_recent_activity")).not.toHaveProperty("truncated");
  await aMemory(ann);

  const { memories, ...others } = await call("get_recent_activity");

  expect(memories).toHaveLength(20);
  expect(others).toMatchObject({
    total: 21,
    truncated: true,
    hint: expect.stringContaining("certain types") as string,
  });
  expect((await ann.did(recentActivity, {})).truncated).toBe(false);
});

it.each([
  ["bug", "problem", "problems that are open"],
  ["Issue", "problem", "problems that are open"],
  ["exception", "error", "problems that are open"],
  ["bugfix", "fix", "filters by fix"],
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

  expect(await call("store_memory", { type, title: "A title", content: "x" })).not.toHaveProperty("hint");
});

it("names all unknown arguments of a call at once, and every one that the tool takes", async () => {
  await using world = await createWorld();
  const { call } = await anAgent(world);

  expect(await call("create_relationship", { begin: "x", end: "y", kind: "SOLVES" })).toEqual({
    error: {
      code: "bad_request",
      message:
        "begin, end, kind: are unknown; known are from_memory_id, to_memory_id, relationship_type, graph, strength, " +
        "confidence, context",
    },
  });
  expect(await call("get_memory", { title: "x" })).toMatchObject({
    error: { message: "title: is unknown; known are id, graph, content_from" },
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
