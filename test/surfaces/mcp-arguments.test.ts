import { expect, it } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { nameArguments } from "../../src/surfaces/mcp/argument-names.js";
import { readArguments } from "../../src/surfaces/mcp/arguments.js";
import { ask } from "../support/http.js";
import { anAgent, askMcp, callTool } from "../support/mcp.js";
import { aLink, memoriesTitled } from "../support/memories.js";
import { createWorld } from "../support/world.js";

it.each([
  [{ limit: "1" }, { limit: 1 }],
  [{ types: "problem" }, { types: ["problem"] }],
  [{ types: "problem, solution" }, { types: ["problem", "solution"] }],
  [{ types: '["problem"]' }, { types: ["problem"] }],
  [{ types: ["Problem"] }, { types: ["problem"] }],
  [{ types: [], tags: [] }, {}],
  [{ types: [""], tags: ["", " "] }, {}],
  [{ tags: "", project: "", created_after: "", graph: "", limit: "" }, {}],
  [{ tags: null, project: null, graph: null, limit: null, offset: null }, {}],
  [{ types: "null", tags: "null", created_after: "null", graph: "null", limit: "null" }, {}],
  [{ graph: "Personal" }, { graph: "personal" }],
  [
    { graph: ["personal"], limit: ["1"] },
    { graph: "personal", limit: 1 },
  ],
  [
    { memory_types: "problem", maxLimit: 1 },
    { types: ["problem"], limit: 1 },
  ],
  [{ tag: "a" }, { tags: ["a"] }],
  [{ created_after: "2020-01-31" }, { created_after: "2020-01-31T00:00:00Z" }],
  [{ created_after: "2020-01-31 08:30:00" }, { created_after: "2020-01-31T08:30:00Z" }],
  [{ created_after: "2020-01-31T08:30" }, { created_after: "2020-01-31T08:30:00Z" }],
  [{ created_after: "2020-01-31 08:30 UTC" }, { created_after: "2020-01-31T08:30:00Z" }],
])("takes a search with %j as one with %j", async (written, meant) => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  for (const type of ["problem", "solution", "general"])
    await callTool(url, ann.key, "store_memory", { type, title: `Needle ${type}`, content: "x", tags: ["a"] });
  const search = (args: object) => callTool(url, ann.key, "search_memories", { query: "needle", ...args });

  const [read, right] = [await search(written), await search(meant)];

  expect(right.answer["memories"]).not.toEqual([]);
  expect(read).toEqual(right);
});

it.each(["\ud800", "\0"])(
  "refuses a list of broken text as REST does, and searches not without it: %j",
  async (text) => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    await memoriesTitled(ann, "Needle");

    for (const list of ["types", "tags"]) {
      const { answer } = await callTool(url, ann.key, "search_memories", { query: "needle", [list]: [text] });

      const message = text === "\0" ? "must not contain the NUL character" : "must be well-formed Unicode";
      expect(answer).toMatchObject({ error: { code: "bad_request", message: `${list}: ${message}` } });
    }
  },
);

it("converts arguments in other forms when it stores and links", async () => {
  await using world = await createWorld();
  const { ann, call } = await anAgent(world);
  const written = { type: "Code Pattern", tags: "a, b", importance: "0.9", context: '{"project_path": "/app"}' };
  const stored = await call("store_memory", { title: "1", content: "[2]", summary: null, ...written });
  const [other] = await memoriesTitled(ann, "Other");

  expect(await call("get_memory", { id: `"${String(stored["id"])}"\n` })).toMatchObject({
    type: "code_pattern",
    title: "1",
    content: "[2]",
    tags: ["a", "b"],
    importance: 0.9,
    context: { project_path: "/app" },
  });
  const ends = { from_memory_id: `[${String(stored["id"])}]`, to_memory_id: `\`${other.id}\`` };
  const link = await call("create_relationship", { ...ends, relationship_type: "related to" });
  expect(link).toMatchObject({ from: stored["id"], to: other.id, type: "RELATED_TO" });
  const part = await call("get_memory", { id: stored["id"], content_from: "1" });
  expect(part["content"]).toBe("2]");
});

it.each([
  ["both", ["in", "out"]],
  ["all", ["in", "out"]],
  ["outgoing", ["out"]],
  ["Outbound", ["out"]],
  ["incoming", ["in"]],
  ["inbound", ["in"]],
])("follows relationships %s by another word for a direction", async (direction, found) => {
  await using world = await createWorld();
  const { ann, call } = await anAgent(world);
  const [before, here, after] = await memoriesTitled(ann, "Before", "Here", "After");
  await aLink(ann, before, here);
  await aLink(ann, here, after);

  const { memories } = await call("get_related_memories", { id: here.id, direction });

  expect((memories as Array<{ direction: string }>).map((one) => one.direction).toSorted()).toEqual(found);
  // A text that is no choice stays what it is.
  const { type } = await call("store_memory", { type: "incoming", title: "A mail", content: "x" });
  expect(type).toBe("incoming");
});

it("takes a whole number where the tool takes a text, as clients send that read each argument as JSON", async () => {
  await using world = await createWorld();
  const { call } = await anAgent(world);

  const stored = await call("store_memory", { type: "error", title: 1062, content: 40_001, tags: [500, "mysql"] });

  expect(stored).toMatchObject({ title: "1062", tags: ["500", "mysql"] });
  expect(await call("get_memory", { id: stored["id"] })).toMatchObject({ content: "40001" });
  expect(await call("search_memories", { query: 1062, tags: 500 })).toMatchObject({ memories: [{ title: "1062" }] });
  // Written, these may have been others: `1.10`, or digits that no number holds.
  for (const query of [1.1, 2 ** 53]) {
    expect(await call("search_memories", { query })).toMatchObject({ error: { message: "query: must be a string" } });
  }
});

it("takes all arguments as one text, as clients send that pass on what the model wrote", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const call = async (name: string, args: unknown) => {
    const { body } = await askMcp(url, ann.key, "tools/call", { name, arguments: args });
    return body.result as { isError?: true; content: [{ text: string }]; structuredContent?: object };
  };
  const note = { type: "fix", title: "Needle", content: `{"a": 1} ${"x".repeat(LIMITS.mcp.otherFormLength)}` };

  expect(await call("store_memory", JSON.stringify(note))).toMatchObject({ structuredContent: { title: "Needle" } });
  const found = { memories: [{ title: "Needle" }], total: 1 };
  expect(await call("search_memories", ' {"query": "needle", "limit": "1"}\n')).toMatchObject({
    structuredContent: found,
  });
  for (const none of ["", " ", null])
    expect(await call("get_recent_activity", none)).toMatchObject({ structuredContent: { total: 1 } });
  const deep = `{"query": ${"[".repeat(9_000)}${"]".repeat(9_000)}}`;
  for (const other of ["needle", '{"query": "needle"', '["needle"]', "7", "null", deep]) {
    const { isError, content } = await call("search_memories", other);
    expect([isError, content[0].text], other).toEqual([true, expect.stringContaining("arguments: must be an object")]);
  }
});

it("ignores what programs add to calls for themselves, which no agent can leave out", async () => {
  await using world = await createWorld();
  const { call } = await anAgent(world);

  const note = { type: "fix", title: "Needle", content: "x" };
  expect(await call("store_memory", { ...note, wait_for_previous: true })).toMatchObject({ title: "Needle" });
  const found = { memories: [{ title: "Needle" }] };
  expect(await call("search_memories", { query: "needle", toolCallId: "call_1" })).toMatchObject(found);
  const { error } = await call("search_memories", { query: "needle", wait_for_previous: false, wait: true });
  expect(error).toMatchObject({ message: expect.stringMatching(/^wait: is unknown; known are /) as string });
});

it("takes other names of arguments where only one input can be meant", async () => {
  await using world = await createWorld();
  const { ann, call } = await anAgent(world);
  const [one, two] = await memoriesTitled(ann, "One", "Two");

  const link = await call("create_relationship", { sourceId: one.id, to: two.id, relationType: "causes" });
  expect(link).toMatchObject({ from: one.id, to: two.id, type: "CAUSES" });
  expect(await call("find_path", { from: one.id, target_id: two.id, depth: 3 })).toMatchObject({
    steps: [{ id: one.id }, { id: two.id }],
  });
  const related = await call("get_related_memories", { memory_id: one.id, relationship_types: ["causes"], depth: 1 });
  expect(related).toMatchObject({ memories: [{ id: two.id }] });
  await call("update_memory", { memoryId: one.id, newTitle: "Uno", version: 1 });
  expect(await call("get_memory", { memory: [one.id] })).toMatchObject({ title: "Uno", version: 2 });
  const note = { category: "note", title: "Three", text: "Said", metadata: { source: "chat" }, keywords: ["a"] };
  const { id } = await call("store_memory", note);
  expect(await call("get_memory", { id })).toMatchObject({
    type: "note",
    content: "Said",
    context: { source: "chat" },
    tags: ["a"],
  });
});

it("takes a day until which something holds to its end, and a time without seconds", async () => {
  await using world = await createWorld();
  const { call } = await anAgent(world);
  const note = { type: "general", title: "A", content: "x", expires_at: "2999-12-31" };

  const { id } = await call("store_memory", note);
  expect(await call("get_memory", { id })).toMatchObject({ expires_at: "2999-12-31T23:59:59.000Z" });
  await call("update_memory", { id, expires_at: " 2999-06-30 " });
  expect(await call("get_memory", { id })).toMatchObject({ expires_at: "2999-06-30T23:59:59.000Z" });
  await call("update_memory", { id, expires_at: "2999-06-30 08:30+0200" });
  expect(await call("get_memory", { id })).toMatchObject({ expires_at: "2999-06-30T06:30:00.000Z" });
});

it("lets a change clear fields, and keeps text that may be intended", async () => {
  await using world = await createWorld();
  const { call } = await anAgent(world);
  const said = { type: "general", title: "A", content: "x", tags: ["a"], summary: "S" };
  const { id } = await call("store_memory", { ...said, expires_at: "2999-01-01T00:00:00Z" });

  // Some clients send this for what their model has left out, so it clears nothing; the answer shows it.
  expect(await call("update_memory", { id, title: "A", expires_at: "", importance: "" })).toMatchObject({
    expires_at: "2999-01-01T00:00:00.000Z",
    importance: 0.5,
  });
  await call("update_memory", { id, tags: [], expires_at: null });
  const emptied = await call("get_memory", { id });
  expect(emptied).toMatchObject({ title: "A", summary: "S", tags: [] });
  expect(emptied).not.toHaveProperty("expires_at");
  await call("update_memory", { id, summary: "", title: " B, c ", context: { project_path: "/new" } });
  expect(await call("get_memory", { id })).toMatchObject({
    summary: "",
    title: " B, c ",
    context: { project_path: "/new" },
  });
});

it("clears nothing for a client that sends null for all that its model has left out", async () => {
  await using world = await createWorld();
  const { call } = await anAgent(world);
  const note = { type: "fix", title: "A", content: "x", summary: "S", tags: ["a"], context: { project_path: "/app" } };
  const { id } = await call("store_memory", { ...note, expires_at: "2999-01-01T00:00:00Z" });
  const before = await call("get_memory", { id });
  const leftOut = { content: null, summary: null, tags: "null", context: "null", expires_at: null, graph: null };

  await call("update_memory", { id, title: "B", ...leftOut, expected_version: null });

  const updated = expect.any(String) as string;
  expect(await call("get_memory", { id })).toEqual({ ...before, title: "B", version: 2, updated_at: updated });
});

it("gives the same hint to a client that sends null for all that its model has left out", async () => {
  await using world = await createWorld();
  const { ann, call } = await anAgent(world);
  const [{ id }] = await memoriesTitled(ann, "Alone");

  const search = await call("search_memories", { query: "nothing", types: null, project: null, created_after: null });
  expect(search).toEqual(await call("search_memories", { query: "nothing" }));
  const walk = await call("get_related_memories", { id, types: null, direction: null, max_depth: null });
  expect(walk).toEqual(await call("get_related_memories", { id }));
});

it.each([
  ["search_memories", { query: "x", limit: "five" }, "limit: must be a whole number"],
  ["search_memories", { query: "x", types: ["??"] }, "types: must be lower-case words such as code_pattern"],
  ["search_memories", { query: null }, "query: "],
  ["search_memories", { query: "" }, "query: must have 1 to 1,000 characters"],
  ["search_memories", { query: "x", text: "" }, "text: is unknown"],
  ["search_memories", { query: "x", type: "fix", memory_type: "error" }, "type, memory_type: are unknown"],
  ["search_memories", { query: "x", created: "2020-01-31" }, "created: is unknown"],
  ["update_memory", { id: "x", add_tags: ["a"] }, "add_tags: is unknown"],
  ["get_memory", { id: "x", memory_id: "y" }, "memory_id: is unknown"],
  ["get_memory", { ids: ["x", "y"] }, "id: must be a string"],
  ["create_relationship", { id: "x", relationship_type: "CAUSES" }, "id: is unknown"],
  ["store_memory", { type: "general", title: "A", content: "x", context: "/app" }, "context: must be a JSON object"],
  ["search_memories", { query: "x", created_after: "last week" }, "created_after: must be a time with its zone"],
  ["update_memory", { id: "x", expires_at: "2999-01-01 08:30:00" }, "expires_at: must be a time with its zone"],
  ["update_memory", { id: "x", expires_at: "2999-02-30" }, "expires_at: must be a time with its zone"],
  ["update_memory", { id: "x", title: "" }, "title: must have 1 to 500 characters"],
  ["update_memory", { id: "x", tags: null }, "to change. tags: [] removes all tags"],
  ["update_memory", { id: "x", expires_at: "" }, "null removes the summary, context or expires_at"],
])("refuses a call of %s with %j, which may mean anything", async (name, args, message) => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();

  const { answer } = await callTool(url, ann.key, name, args);

  expect(answer).toMatchObject({ error: { message: expect.stringContaining(message) as string } });
});

it("names every mistake of a call in one refusal, and each once", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const refusal = async (name: string, args: object) => {
    const { answer } = await callTool(url, ann.key, name, args);
    return (answer as { error: { message: string } }).error.message;
  };
  const cut = "A text… [cut at character 6 of 9]";
  const note = { type: "??", title: "", content: cut, importance: 2, expires_at: "soon", add_tags: ["a"] };

  const stored = await refusal("store_memory", { ...note, graph: "mine" });
  for (const issue of [
    "add_tags: is unknown",
    "content: contains the note that an answer was cut",
    "expires_at: must be a time",
    "graph: must be one of personal, team",
    "importance: must be from 0 to 1",
    "title: must have 1 to 500",
    "type: must be a lower-case word",
  ]) {
    expect(stored.split(issue)).toHaveLength(2);
  }

  expect(await refusal("get_memory", { graph: "mine", content_from: -1, max_limit: 1 })).toBe(
    "max_limit: is unknown; known are id, graph, content_from; " +
      "content_from: must be a whole number, at least 0; graph: must be one of personal, team; id: is required",
  );
  expect(await refusal("store_memory", { ...note, importance: "high" })).toContain(
    "importance: must be a number from 0 to 1;",
  );
  for (const name of ["store_memory", "update_memory"])
    expect(await refusal(name, { project: "acme/app" })).toMatch(
      /^project: is unknown; known are .*; for project give \{"project_path": …\} in context; /,
    );
  expect(await refusal("store_memory", { add_tags: "a" })).not.toContain("; for ");
  expect(await refusal("store_memory", { "title.x": 1, title: "" })).toContain("title: must have 1 to 500");
  expect(await refusal("search_memories", { query: "", limit: 0, offset: "x" })).toBe(
    "offset: must be a whole number; limit: must be from 1 to 20; query: must have 1 to 1,000 characters",
  );
});

it("says at every door of a text that is too long how long it is, since an agent cannot count", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const [title, content] = ["😀".repeat(501), "x".repeat(60_000)];
  const note = { type: "general", title, content, summary: "", tags: ["x".repeat(101)] };

  const { answer } = await callTool(url, ann.key, "store_memory", note);
  const rest = await ask(`${url}/v1/memories`, { key: ann.key, body: { ...note, content: "", tags: [] } });

  const tooLong = { path: "title", message: "must have 1 to 500 characters, but has 501" };
  const empty = { path: "content", message: "must have 1 to 50,000 characters" };
  expect(rest.body).toMatchObject({ error: { details: [tooLong, empty] } });
  expect(answer).toEqual({
    error: {
      code: "bad_request",
      message:
        "title: must have 1 to 500 characters, but has 501; content: must have 1 to 50,000 characters, but has 60,000; " +
        "tags: must have 0 to 50 items of up to 100 characters",
    },
  });
});

it("refuses a context that was cut in an answer, also if it is sent as text", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const args = { type: "general", title: "t", content: "c", context: '{"a": 1, "…": "3 more fields"}' };

  const { isError, answer } = await callTool(url, ann.key, "store_memory", args);

  expect([isError, JSON.stringify(answer)]).toEqual([true, expect.stringContaining("read the rest first")]);
});

it.each([
  ["names", "a ,".repeat(330_000)],
  ["values", `[${"1,".repeat(400_000)}1]`],
  ["brackets", "[".repeat(9_000) + "]".repeat(9_000)],
])("makes nothing of a text of very many %s", (_what, types) => {
  const schema = { type: "array", items: { type: "string" } };
  const list = { name: "types", required: false, nullable: false, description: "", schema };

  const { types: read } = readArguments({ types }, [list], { isReading: true });

  expect(Array.isArray(read) ? read : [read]).toEqual([types]);
});

it("looks for no other names where more are unknown than there are inputs", () => {
  const field = { name: "id", description: "", required: true, nullable: false, schema: { type: "string" } };
  const args = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`memory_id_of_${index}`, ""]));

  expect(nameArguments({ memory_id: "1" }, [field])).toEqual({ id: "1" });
  expect(nameArguments(args, [field])).toBe(args);
});

it("renames no argument that may stand for two inputs, and no two that may stand for one", () => {
  const field = { name: "id", description: "", required: true, nullable: false, schema: { type: "string" } };
  const other = { ...field, name: "title" };

  for (const [args, fields] of [
    [{ memory_id: "1" }, [field, { ...field, name: "path" }]],
    [{ memory_id: "1", relation_id: "2" }, [field, other]],
  ] as const) {
    expect(nameArguments(args, fields)).toEqual(args);
  }
});

it("leaves a list unchanged that has more items than are allowed", () => {
  const types = Array.from({ length: LIMITS.text.itemsUnlessDeclared + 1 }, () => "Code Pattern");
  const field = {
    name: "types",
    description: "",
    required: false,
    nullable: false,
    schema: { type: "array", items: { type: "string", pattern: "^[a-z_]+$" } },
  };

  expect(readArguments({ types }, [field], { isReading: true })["types"]).toBe(types);
});
