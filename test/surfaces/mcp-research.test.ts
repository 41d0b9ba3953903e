import { expect, it } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { NIL_ID } from "../../src/operation/id.js";
import { NEW, OLD, askMcp, callTool, offered } from "../support/mcp.js";
import { aLink, aMemory } from "../support/memories.js";
import { aTeam } from "../support/teams.js";
import { createWorld } from "../support/world.js";

const { answerBytes } = LIMITS.mcp;
const search = "?tools=search,fetch";
const usual = offered.map(({ mcp }) => mcp?.name);

interface Found {
  readonly results: ReadonlyArray<{ readonly id: string; readonly title: string; readonly url: string }>;
}

interface Fetched {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly url: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** A user, and how ChatGPT searches and reads. */
async function aResearcher() {
  const world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const call = (name: string, args: object) => callTool(url, ann.key, name, args, { search });
  return {
    world,
    url,
    ann,
    call,
    find: async (query: string) => (await call("search", { query })).answer as unknown as Found,
    read: async (id: string) => (await call("fetch", { id })).answer as unknown as Fetched,
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

it.each([OLD, NEW])("lists the tools that the address names, and calls no others, in revision %s", async (revision) => {
  await using research = await aResearcher();
  const { url, ann, world } = research;
  const listed = async (address: string) => {
    const { body } = await askMcp(url, ann.key, "tools/list", {}, { revision, search: address });
    return ((body.result?.["tools"] ?? []) as Array<{ name: string }>).map(({ name }) => name);
  };

  expect(await listed(search)).toEqual(["search", "fetch"]);
  expect(await listed("?tools=search%2Cfetch&tools=search,%20get_memory")).toEqual(["search", "fetch", "get_memory"]);
  expect(await listed("")).toEqual(usual);
  expect(await listed("?other=search")).toEqual(usual);
  const told = async (name: string, address: string) => {
    const { status, body } = await askMcp(
      url,
      ann.key,
      "tools/call",
      { name, arguments: { query: "note" } },
      { revision, search: address },
    );
    return [status, body.error?.message];
  };
  expect(await told("search_memories", search)).toEqual([
    200,
    "Unknown tool: search_memories. With this key at this address there are: search, fetch.",
  ]);
  expect(await told("search", "")).toEqual([
    200,
    `Unknown tool: search. With this key at this address there are: ${usual.join(", ")}.`,
  ]);
  expect(world.bugs).toEqual([]);
});

it.each([
  ["an unknown name", "search,nothing"],
  ["no name", ""],
  ["an empty name", "search,,fetch"],
  ["a name of JavaScript", "search,__proto__"],
  ["a long name", "x".repeat(7_000)],
  ["many names", "search,".repeat(1_000)],
])("refuses %s in the address with the names that it takes", async (_what, tools) => {
  await using research = await aResearcher();
  const { url, ann, world } = research;

  for (const method of ["tools/list", "tools/call", "initialize"]) {
    const { status, body } = await askMcp(
      url,
      ann.key,
      method,
      { name: "search" },
      { revision: OLD, search: `?tools=${tools}` },
    );
    expect([status, body.id, body.error?.code]).toEqual([400, 1, -32_600]);
    expect(body.error?.message).toContain(`\`tools\` in the address takes ${usual.join(", ")}, search, fetch, and not`);
    expect(body.error?.message.length).toBeLessThan(500);
  }
  expect(world.bugs).toEqual([]);
});

it("gives instructions only together with a tool that they name", async () => {
  await using research = await aResearcher();
  const { url, ann } = research;
  const told = async (address: string) => {
    const { body } = await askMcp(url, ann.key, "initialize", {}, { revision: OLD, search: address });
    return body.result?.["instructions"];
  };

  expect(await told(search)).toBeUndefined();
  expect(await told("?tools=search_memories,store_memory")).toMatch(/search_memories.*store_memory/s);
  expect(await told("")).toMatch(/search_memories/);
});

it("finds memories, and reads each with its relationships and the address at which a person can", async () => {
  await using research = await aResearcher();
  const { url, ann, find, read, call, world } = research;
  const fix = await aMemory(ann, { type: "solution", title: "Retry with backoff", content: "Wait longer." });
  const bug = await aMemory(ann, {
    type: "problem",
    title: "Payments time out",
    content: "After 30 s.",
    summary: "Slow.",
    tags: ["pay", "slow"],
  });
  await aLink(ann, fix, bug, { relationshipType: "SOLVES" });
  const address = `${url}/graphql?memory=${bug.id}`;

  expect(await find("payments")).toEqual({ results: [{ id: bug.id, title: bug.title, url: address }] });
  const { metadata, ...others } = await read(bug.id);
  expect(others).toEqual({ id: bug.id, title: bug.title, text: "After 30 s.", url: address });
  const { type, summary, tags, created_at, relationships, relationships_total } = metadata;
  expect({ type, summary, tags, created_at, relationships_total }).toEqual({
    type: "problem",
    summary: "Slow.",
    tags: '["pay","slow"]',
    created_at: bug.createdAt.toISOString(),
    relationships_total: "1",
  });
  expect(JSON.parse(relationships ?? "")).toMatchObject([
    { type: "SOLVES", direction: "in", memory: { id: fix.id, title: fix.title } },
  ]);
  expect(Object.values(metadata).every((value) => typeof value === "string")).toBe(true);

  expect(await find("nothing of the kind")).toEqual({ results: [] });
  for (const id of [NIL_ID, `${NIL_ID}#5`, "an id of nobody"])
    expect(await call("fetch", { id })).toMatchObject({ isError: true, answer: { error: { code: "not_found" } } });
  for (const args of [{}, { query: "" }, { query: "a", graph: "team" }])
    expect(await call("search", args)).toMatchObject({ isError: true, answer: { error: { code: "bad_request" } } });
  const beyond = await call("fetch", { id: `${bug.id}#12` });
  expect(beyond.answer["error"]).toMatchObject({
    code: "bad_request",
    message: "id: the text has only 11 characters",
  });
  expect(world.bugs).toEqual([]);
});

it("cuts a long text with the id that reads on, to its end", async () => {
  await using research = await aResearcher();
  const { ann, call, world } = research;
  const text = Array.from({ length: 4_000 }, (_, n) => `\u{1F600} "${n}" é\n`).join("");
  const { id } = await aMemory(ann, {
    title: "\u{1F600}".repeat(250),
    content: text,
    context: { a: "b".repeat(9_000) },
  });

  const parts: string[] = [];
  let next: string | undefined = id;
  while (next !== undefined && parts.length < 40) {
    const { answer, bytes } = await call("fetch", { id: next });
    const { id: given, text: part, url } = answer as unknown as Fetched;
    expect(bytes).toBeLessThanOrEqual(answerBytes);
    expect([given, url.endsWith(`?memory=${id}`)]).toEqual([next, true]);
    const cut = /… \[cut at character (\d+) of (\d+)\] To read on, fetch (\S+#\1)\.$/.exec(part);
    expect(Number(cut?.[2] ?? text.length)).toBe(text.length);
    parts.push(part.slice(0, cut?.index));
    next = cut?.[3];
  }

  expect(parts.length).toBeGreaterThan(10);
  expect(parts.join("")).toBe(text);
  // The end of a text, its last half of a pair, and a client's own id.
  expect((await call("fetch", { id: `${id}#${text.length}` })).answer["text"]).toBe("");
  expect((await call("fetch", { id: `${id}#1` })).answer["text"]).toMatch(/^\uFFFD "0" é\n/);
  const own = await aMemory(ann, { clientId: "issue#42", content: "Ours." });
  expect((await call("fetch", { id: "issue#42" })).answer).toMatchObject({ id: own.id, text: "Ours." });
  expect(world.bugs).toEqual([]);
});

it("keeps every address whole where many long titles are found", async () => {
  await using research = await aResearcher();
  const { ann, call, world } = research;
  for (let n = 10; n < 30; n++) await aMemory(ann, { title: `Kafka ${n} ${"\u{1F600}".repeat(240)}` });

  const { answer, bytes } = await call("search", { query: "kafka" });

  const { results } = answer as unknown as Found;
  expect(bytes).toBeLessThanOrEqual(answerBytes);
  expect(results.length).toBeGreaterThan(5);
  expect(results.filter(({ id, url }) => !url.endsWith(`/graphql?memory=${id}`))).toEqual([]);
  expect(world.bugs).toEqual([]);
});

it("reads the graph of the key's team, charges one request a call, and needs the scope to read", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { owner, member } = await aTeam(world);
  await aMemory(owner, { title: "Kafka lags" });
  const left = async () => {
    const { headers } = await askMcp(
      url,
      member.key,
      "tools/call",
      { name: "search", arguments: { query: "kafka" } },
      { search },
    );
    return Number(/r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1]);
  };

  expect((await callTool(url, member.key, "search", { query: "kafka" }, { search })).answer).toMatchObject({
    results: [{ title: "Kafka lags" }],
  });
  expect((await left()) - (await left())).toBe(1);
  const writer = await world.user({ scopes: ["memories:write"] });
  const { body } = await askMcp(url, writer.key, "tools/list", {}, { search });
  expect(body.result?.["tools"]).toEqual([]);
  const refused = await askMcp(url, writer.key, "tools/call", { name: "fetch", arguments: { id: NIL_ID } }, { search });
  expect(refused.body.error?.message).toBe("Unknown tool: fetch. With this key at this address there are: none.");
  expect(world.bugs).toEqual([]);
});

it("names in a refusal only tools that the address offers to the key", async () => {
  await using research = await aResearcher();
  const { url, ann, world } = research;
  const writer = await world.user({ scopes: ["memories:write"] });
  const refusal = async (key: string, name: string, address: string) => {
    const { answer } = await callTool(url, key, name, { id: NIL_ID }, { search: address });
    return (answer as { error: { message: string } }).error.message;
  };

  expect(await refusal(ann.key, "fetch", search)).toBe("No memory of this graph has this id.");
  expect(await refusal(ann.key, "fetch", "?tools=fetch,search_memories")).toContain("`search_memories` finds memories");
  expect(await refusal(ann.key, "get_memory", "?tools=get_memory")).not.toContain("search_memories");
  expect(await refusal(writer.key, "delete_memory", "")).not.toContain("search_memories");
  expect(await refusal(ann.key, "delete_memory", "")).toContain("`search_memories` finds memories");
});
