import { expect, it } from "vitest";
import { ask } from "../support/http.js";
import { anAgent, callTool } from "../support/mcp.js";
import { aLink, aMemory, memoriesTitled } from "../support/memories.js";
import { aTeam } from "../support/teams.js";
import { createWorld } from "../support/world.js";

/** The answer to an agent's call that creates a relationship of this type. */
async function createLink(relationship_type: string) {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const [one, other] = await memoriesTitled(ann, "One", "Other");
  const ends = { from_memory_id: one.id, to_memory_id: other.id };
  const { answer } = await callTool(url, ann.key, "create_relationship", { ...ends, relationship_type });
  return answer as { type?: string; error?: { message: string } };
}

it.each([
  ["SOLVED_BY", "reads backwards: swap the two ids, and say SOLVES"],
  ["addressed_by", "reads backwards: swap the two ids, and say ADDRESSES"],
  ["PREVENTED_BY", "reads backwards: swap the two ids, and say PREVENTS"],
  ["REPLACED_BY", "reads backwards: swap the two ids, and say REPLACES"],
  ["SUPERSEDED_BY", "reads backwards: swap the two ids, and say REPLACES"],
  ["SUPERSEDES", "say REPLACES instead"],
  ["FIXES", "say SOLVES instead"],
  ["caused", "say CAUSES instead"],
  ["is_solved_by", "reads backwards: swap the two ids, and say SOLVES"],
])("refuses an agent the type %s, which no view follows, and says which one is meant", async (type, message) => {
  expect((await createLink(type)).error?.message).toBe(`relationship_type: ${message}`);
});

it.each(["SOLVES", "DEPRECATED_BY", "VALIDATED_BY", "OWNED_BY", "MENTIONS"])("lets an agent use %s", async (type) => {
  expect((await createLink(type)).type).toBe(type);
});

it.each([
  ["problem", "SOLVES", "solution"],
  ["problem", "ADDRESSES", "fix"],
  ["error", "SOLVES", "fix"],
])("refuses an agent that a memory of type %s %s one of type %s, and links them the other way", async (...types) => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const [from, relationship_type, to] = types;
  const [problem, solution] = [await aMemory(ann, { type: from }), await aMemory(ann, { type: to })];
  const link = (one: { id: string }, other: { id: string }) => {
    const ends = { from_memory_id: one.id, to_memory_id: other.id };
    return callTool(url, ann.key, "create_relationship", { ...ends, relationship_type });
  };
  const unresolved = async () => (await callTool(url, ann.key, "get_recent_activity")).answer["unresolved_problems"];

  expect((await link(problem, solution)).answer).toMatchObject({
    error: { message: `from_memory_id: is the ${from}, which the ${to} ${relationship_type}: swap the two ids` },
  });
  expect(await unresolved()).toHaveLength(1);
  expect((await link(solution, problem)).isError).toBe(false);
  expect(await unresolved()).toEqual([]);
  // A program may store what it has, as it is.
  expect((await aLink(ann, problem, solution, { relationshipType: relationship_type })).type).toBe(relationship_type);
});

it("names both ends of a new link, so that an agent notices a wrong id, if its key may read", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const [ann, writer] = [await world.user(), await world.user({ scopes: ["memories:write"] })];
  const linkOf = async (actor: typeof ann) => {
    const [one, other] = await memoriesTitled(actor, "One", "Other");
    const ends = { from_memory_id: one.id, to_memory_id: other.id, relationship_type: "CAUSES" };
    return (await callTool(url, actor.key, "create_relationship", ends)).answer;
  };

  expect(await linkOf(ann)).toMatchObject({ type: "CAUSES", from_title: "One", to_title: "Other" });
  const unread = await linkOf(writer);
  expect(unread).toMatchObject({ type: "CAUSES" });
  expect(JSON.stringify(unread)).not.toContain("Other");
  // REST answers as documented.
  const [three, four] = await memoriesTitled(ann, "Three", "Four");
  const body = { from_memory_id: three.id, to_memory_id: four.id, relationship_type: "CAUSES" };
  expect((await ask(`${url}/v1/relationships`, { key: ann.key, body })).body).not.toHaveProperty("to_title");
});

it.each([
  ["SOLVES", "problem"],
  ["ADDRESSES", "error"],
])("refuses an agent that a task %s a %s, which is open until the task is done", async (relationship_type, type) => {
  await using world = await createWorld();
  const { ann, call } = await anAgent(world);
  const [task, problem] = [await aMemory(ann, { type: "task" }), await aMemory(ann, { type })];
  const ends = { from_memory_id: task.id, to_memory_id: problem.id };
  const open = async () => (await call("get_recent_activity"))["unresolved_problems"];

  expect(await call("create_relationship", { ...ends, relationship_type })).toMatchObject({
    error: {
      message:
        "from_memory_id: is a task, which may be only planned: say RELATED_TO. If it is done, first change its " +
        "type to solution by update_memory",
    },
  });
  await call("create_relationship", { ...ends, relationship_type: "RELATED_TO" });
  expect(await open()).toHaveLength(1);
  await call("update_memory", { id: task.id, type: "solution" });
  expect(await call("create_relationship", { ...ends, relationship_type })).toHaveProperty("id");
  expect(await open()).toEqual([]);
  const todo = { from_memory_id: (await aMemory(ann, { type: "todo" })).id, to_memory_id: problem.id };
  expect(await call("create_relationship", { ...todo, relationship_type })).toMatchObject({
    error: { message: expect.stringMatching(/^from_memory_id: is a todo, which may be only planned/) as string },
  });
  // A program may store what it has, as it is.
  const other = await aMemory(ann, { type: "task" });
  expect((await aLink(ann, other, problem, { relationshipType: relationship_type })).type).toBe(relationship_type);
});

it.each([
  ["problem", "CAUSES", "solution"],
  ["problem", "SOLVES", "problem"],
  ["task", "SOLVES", "solution"],
  ["task", "RELATED_TO", "problem"],
  ["solution", "SOLVES", "fix"],
])("lets an agent say that a memory of type %s %s one of type %s", async (from, relationship_type, to) => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const [one, other] = [await aMemory(ann, { type: from }), await aMemory(ann, { type: to })];
  const ends = { from_memory_id: one.id, to_memory_id: other.id };

  expect((await callTool(url, ann.key, "create_relationship", { ...ends, relationship_type })).isError).toBe(false);
});

it("lets programs use the types that it refuses an agent", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const [one, other] = await memoriesTitled(ann, "One", "Other");

  expect((await aLink(ann, one, other, { relationshipType: "SOLVED_BY" })).type).toBe("SOLVED_BY");
});

it.each([
  ["REPLACES", "REPLACES"],
  ["REPLACES", "DEPRECATED_BY"],
  ["DEPRECATED_BY", "REPLACES"],
  ["DEPRECATED_BY", "DEPRECATED_BY"],
])("does not let an agent make two memories replace each other: first by %s, then by %s", async (first, second) => {
  await using world = await createWorld();
  const { ann, call } = await anAgent(world);
  const [old, newer] = await memoriesTitled(ann, "Old", "Newer");
  const replaces = (one: { id: string }, other: { id: string }, type: string) =>
    type === "REPLACES" ? ([one, other] as const) : ([other, one] as const);
  await aLink(ann, ...replaces(newer, old, first), { relationshipType: first });
  const [from, to] = replaces(old, newer, second);
  const link = (relationship_type: string) =>
    call("create_relationship", { from_memory_id: from.id, to_memory_id: to.id, relationship_type });

  const path = second === "REPLACES" ? "to_memory_id" : "from_memory_id";
  expect(await link(second)).toMatchObject({
    error: { message: expect.stringContaining(`${path}: REPLACES the other already`) as string },
  });
  expect(await link("RELATED_TO")).toMatchObject({ type: "RELATED_TO" });
  const { memories } = await call("get_related_memories", { id: newer.id });
  expect(memories).toMatchObject([{ title: "Old", superseded_by: { id: newer.id, title: "Newer" } }]);
});

it("does not let an agent make memories replace each other in a circle, by either name", async () => {
  await using world = await createWorld();
  const { ann, call } = await anAgent(world);
  const [first, second, third, other] = await memoriesTitled(ann, "First", "Second", "Third", "Other");
  await aLink(ann, second, first, { relationshipType: "REPLACES" });
  await aLink(ann, second, third, { relationshipType: "DEPRECATED_BY" });
  const link = (from: { id: string }, to: { id: string }, relationship_type: string) =>
    call("create_relationship", { from_memory_id: from.id, to_memory_id: to.id, relationship_type });
  const refusal = "REPLACES the other already, by way of others. Read them: ";

  expect(await link(first, third, "REPLACES")).toMatchObject({
    error: { message: expect.stringContaining(`to_memory_id: ${refusal}`) as string },
  });
  expect(await link(third, first, "DEPRECATED_BY")).toMatchObject({
    error: { message: expect.stringContaining(`from_memory_id: ${refusal}`) as string },
  });
  for (const replaced of [first, second, third]) {
    expect(await link(other, replaced, "REPLACES")).not.toHaveProperty("error");
  }
});

it("finds the one that is replaced also among very many that replace a memory", async () => {
  await using world = await createWorld();
  const { ann, call } = await anAgent(world);
  const [old] = await memoriesTitled(ann, "Old");
  const newer = await memoriesTitled(ann, ...Array.from({ length: 25 }, (_, number) => `Newer ${number}`));
  for (const one of newer) await aLink(ann, one, old, { relationshipType: "REPLACES" });

  for (const one of newer) {
    const link = { from_memory_id: old.id, to_memory_id: one.id, relationship_type: "REPLACES" };
    expect(await call("create_relationship", link)).toMatchObject({
      error: { message: expect.stringContaining("to_memory_id: REPLACES the other already. ") as string },
    });
  }
});

it("ends where memories that programs made replace each other in a circle", async () => {
  await using world = await createWorld();
  const { ann, call } = await anAgent(world);
  const [one, two, three, other] = await memoriesTitled(ann, "One", "Two", "Three", "Other");
  for (const [from, to] of [
    [one, two],
    [two, three],
    [three, one],
  ] as const) {
    await aLink(ann, from, to, { relationshipType: "REPLACES" });
  }

  const link = { from_memory_id: one.id, to_memory_id: other.id, relationship_type: "REPLACES" };
  expect(await call("create_relationship", link)).not.toHaveProperty("error");
});

it("lets only one of two agents win who replace each other's memory at the same moment", async () => {
  await using world = await createWorld();
  const { ann, call } = await anAgent(world);
  for (let round = 0; round < 10; round++) {
    const [one, other] = await memoriesTitled(ann, "One", "Other");
    const replace = (from_memory_id: string, to_memory_id: string) =>
      call("create_relationship", { from_memory_id, to_memory_id, relationship_type: "REPLACES" });

    const answers = await Promise.all([replace(one.id, other.id), replace(other.id, one.id)]);

    expect(answers.filter(({ error }) => error)).toHaveLength(1);
  }
});

it("lets an agent say by both names that a memory replaces another", async () => {
  await using world = await createWorld();
  const { ann, call } = await anAgent(world);
  const [old, newer] = await memoriesTitled(ann, "Old", "Newer");
  await aLink(ann, newer, old, { relationshipType: "REPLACES" });
  const turned = { from_memory_id: old.id, to_memory_id: newer.id };

  expect(await call("create_relationship", { ...turned, relationship_type: "DEPRECATED_BY" })).not.toHaveProperty(
    "error",
  );
});

it.each([
  ["create_relationship", { relationship_type: "SOLVES" }],
  ["find_path", {}],
])("says to an agent that both ends of %s must be in one graph", async (tool, others) => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { member: ann } = await aTeam(world);
  const own = await aMemory(ann, { graph: "personal" });
  const shared = await aMemory(ann);
  const ends = { from_memory_id: own.id, to_memory_id: shared.id, ...others };

  for (const graph of ["team", "personal"]) {
    const { isError, answer } = await callTool(url, ann.key, tool, { ...ends, graph });
    expect([isError, answer]).toMatchObject([
      true,
      { error: { code: "not_found", message: expect.stringContaining("both must be in one graph") as string } },
    ]);
  }
});

it("says to an agent that follows another name of a type how it is called", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const [one, other] = await memoriesTitled(ann, "One", "Other");
  await aLink(ann, one, other, { relationshipType: "SOLVES" });
  const hintOf = async (tool: string, args: object) => (await callTool(url, ann.key, tool, args)).answer["hint"];
  const ends = { from_memory_id: one.id, to_memory_id: other.id };

  expect(await hintOf("get_related_memories", { id: other.id, types: ["solved_by", "USES"] })).toMatch(
    /^Ask for SOLVES instead of SOLVED_BY\. No relationship/,
  );
  expect(await hintOf("find_path", { ...ends, types: ["FIXES"] })).toMatch(
    /^Ask for SOLVES instead of FIXES\. No path/,
  );
  expect(await hintOf("find_path", { ...ends, types: ["USES"] })).toMatch(/^No path/);
});
