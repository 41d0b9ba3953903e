import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import express from "express";
import { expect, it } from "vitest";
import { type Answer, type Ask, ask } from "../support/http.js";
import { manyLinks, manyMemories } from "../support/memories.js";
import { LIMITS } from "../../src/limits.js";
import { Unavailable } from "../../src/operation/failure.js";
import { backendAliases } from "../../src/surfaces/rest/aliases/backend-aliases.js";
import { backendMemoryOf } from "../../src/surfaces/rest/aliases/forms.js";
import { answerForAliases } from "../../src/surfaces/rest/aliases/router.js";
import { createWorld } from "../support/world.js";

type Fields = Readonly<Record<string, unknown>>;

/** A server, and the requests that the published cloud backend sends to it. */
async function startServer(wishes: Parameters<typeof createWorld>[0] = {}) {
  const world = await createWorld(wishes);
  const { url } = await world.serve();
  const ann = await world.user();
  const headers = { "x-api-key": ann.key, "user-agent": "memorygraph-mcp/1.0" };
  const call = (path: string, wish: Ask = {}): Promise<Answer> => ask(`${url}${path}`, { headers, ...wish });
  const store = async (wishes: Fields): Promise<Fields> => {
    const said = { type: "solution", title: "A title", content: "Some content.", importance: 0.5, confidence: 0.8 };
    return (await call("/memories", { body: { ...said, ...wishes } })).body as Fields;
  };
  const link = (from: unknown, to: unknown, wishes: Fields = {}) => {
    const ends = { from_memory_id: from, to_memory_id: to, relationship_type: "SOLVES" };
    return call("/relationships", { body: { ...ends, strength: 0.5, confidence: 0.8, ...wishes } });
  };
  const search = (body: Fields) => call("/search/advanced", { body });
  return { world, url, ann, call, store, link, search, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

const listOf = ({ body }: Answer, list = "memories"): Fields[] =>
  (body as Readonly<Record<string, Fields[]>>)[list] ?? [];
const titlesOf = (answer: Answer): unknown[] => listOf(answer).map(({ title }) => title);

it("connects without a key, and charges no budget", async () => {
  await using server = await startServer();

  const { status, body, headers } = await ask(`${server.url}/health`);

  expect([status, body]).toEqual([200, { status: "healthy", version: expect.any(String) as string }]);
  expect(headers.get("ratelimit")).toBeNull();
});

it("says in the status line why it refuses, since the backend shows nothing else", async () => {
  await using server = await startServer();
  const headers = { "x-api-key": server.ann.key, "content-type": "application/json" };
  const body = JSON.stringify({ type: "fix", title: "A title", content: "c".repeat(50_001) });

  const { status, statusText } = await fetch(`${server.url}/memories`, { method: "POST", headers, body });

  expect([status, statusText]).toEqual([400, "content: must have 1 to 50,000 characters, but has 50,001"]);
});

it("leaves out of a status line what no client or proxy takes in one", async () => {
  const message = "größe: is…\r\nX-Other: 1";
  const answer = answerForAliases(() => ({ error: { code: "bad_request", message } }));
  const app = express().use((_request, response) => void response.status(400).json(answer(undefined, response)));
  await using server = app.listen(0);
  await once(server, "listening");

  const got = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/memories`);

  expect([got.status, got.statusText, got.headers.get("x-other")]).toEqual([400, "gr e: is X-Other: 1", null]);
  expect(await got.json()).toMatchObject({ detail: message });
});

it("stores under the client's id, and replaces the memory that has it", async () => {
  await using server = await startServer();
  const { call } = server;
  const id = randomUUID();
  const context = { project_path: "/a", files_involved: ["src/a.ts"], additional_metadata: { key: 1 } };
  const said = { id, type: "fix", title: "A title", content: "Some content.", importance: 0.7, confidence: 0.4 };

  const stored = await call("/memories", { body: { ...said, tags: ["one"], summary: "In short.", context } });
  const replaced = await call("/memories", { body: { ...said, title: "Another" } });
  const read = await call(`/memories/${id}`);
  const nameless = await call("/memories", { body: { ...said, id: "" } });

  expect([nameless.status, nameless.body]).toMatchObject([201, { id: expect.stringMatching(/^[\da-f-]{36}$/) }]);
  expect([stored.status, stored.body]).toMatchObject([201, { ...said, tags: ["one"], summary: "In short.", context }]);
  expect([replaced.status, replaced.body]).toMatchObject([
    200,
    { id, title: "Another", tags: [], summary: null, context: null },
  ]);
  expect([read.status, read.body]).toEqual([200, replaced.body]);
});

it("says where it reads what it has created, whatever the client's id is", async () => {
  await using server = await startServer();
  const { url, ann, call, link } = server;
  const said = { type: "fix", title: "A title", content: "Some content." };
  const stored = [
    await call("/memories", { body: { ...said, id: "recent" } }),
    await call("/memories", { body: { ...said, id: "a/b" } }),
    await call("/api/v1/memories", { body: said }),
  ];
  const linked = await link("recent", "a/b");

  for (const { status, body, headers } of stored) {
    const read = await call(headers.get("location") ?? "");
    expect([status, read.status, read.body]).toEqual([201, 200, body]);
  }
  const { id } = linked.body as Fields;
  const read = await ask(`${url}${linked.headers.get("location")}`, { key: ann.key });
  expect([linked.status, read.status, read.body]).toMatchObject([201, 200, { id }]);
});

it("replaces a memory by the id that the service gave it", async () => {
  await using server = await startServer();
  const { call, store, search } = server;
  const { id } = await store({ title: "Without an id", tags: ["one"] });

  const again = await call("/memories", { body: { id, type: "fix", title: "Again", content: "Other content." } });

  expect([again.status, again.body]).toMatchObject([200, { id, title: "Again", tags: [] }]);
  expect(titlesOf(await search({ limit: 10 }))).toEqual(["Again"]);
});

it("prefers a key in the usual header", async () => {
  await using server = await startServer();
  const { world, url } = server;
  const [ann, bob] = [await world.user(), await world.user()];
  const statusFor = async (key: string, other: string) =>
    (await ask(`${url}/memories/recent`, { key, headers: { "x-api-key": other } })).status;

  expect([await statusFor(ann.key, "mg_live_wrong"), await statusFor("mg_live_wrong", bob.key)]).toEqual([200, 401]);
});

it("stores with a write-only key", async () => {
  await using server = await startServer();
  const bob = await server.world.user({ scopes: ["memories:write"] });
  const body = { id: randomUUID(), type: "fix", title: "A title", content: "Some content." };
  const store = () => ask(`${server.url}/memories`, { headers: { "x-api-key": bob.key }, body });

  expect([(await store()).status, (await store()).status]).toEqual([201, 200]);
});

it("reads, changes and deletes by the client's id", async () => {
  await using server = await startServer();
  const { call, store } = server;
  const memory = await store({ id: "m 1/a", title: "A title" });
  const path = `/memories/${encodeURIComponent("m 1/a")}`;

  const changed = await call(path, { method: "PUT", body: { title: "Another", unheard_of: true } });
  const unchanged = await call(path, { method: "PUT", body: {} });
  const deleted = await call(path, { method: "DELETE" });

  expect([changed.status, changed.body]).toMatchObject([
    200,
    { id: memory["id"], title: "Another", content: "Some content." },
  ]);
  expect(unchanged.body).toEqual(changed.body);
  expect([deleted.status, deleted.body]).toEqual([204, ""]);
  expect((await call(path)).status).toBe(404);
  expect((await call(path, { method: "DELETE" })).status).toBe(404);
  expect((await call(path, { method: "PUT", body: { title: "x" } })).status).toBe(404);
});

it("cuts titles and summaries to the lengths that the published parser accepts", async () => {
  await using server = await startServer();
  const { call, store } = server;
  await store({ id: "long", title: "\u{1F600}".repeat(201), summary: "x".repeat(600) });
  await store({ id: "right", title: "x".repeat(200), summary: "x".repeat(500) });

  const long = (await call("/memories/long")).body as { title: string; summary: string };
  const right = (await call("/memories/right")).body as { title: string; summary: string };

  expect(long.title).toBe(`${"\u{1F600}".repeat(199)}…`);
  expect(long.summary).toBe(`${"x".repeat(499)}…`);
  expect([right.title.length, right.summary.length]).toEqual([200, 500]);
});

it("keeps the full texts when its tool sends back the cut ones", async () => {
  await using server = await startServer();
  const { ann, call, store } = server;
  const long = { title: "t".repeat(300), summary: "s".repeat(600) };
  await store({ id: "long", ...long });
  const shown = (await call("/memories/long")).body as Fields;
  const { title, content, summary } = shown;

  const changed = await call("/memories/long", {
    method: "PUT",
    body: { title, content, summary, tags: ["new"], importance: 0.9 },
  });
  const kept = await ask(`${server.url}/v1/memories/long`, { key: ann.key });
  await call("/memories/long", { method: "PUT", body: { title: "Short…", summary } });
  const renamed = await ask(`${server.url}/v1/memories/long`, { key: ann.key });

  expect([changed.status, changed.body]).toMatchObject([200, { title, summary, tags: ["new"], importance: 0.9 }]);
  expect(kept.body).toMatchObject({ ...long, tags: ["new"] });
  expect(renamed.body).toMatchObject({ ...long, title: "Short…" });
});

it("answers a repetition by its Idempotency-Key, though the texts that it sends are by then those that it is shown", async () => {
  await using server = await startServer();
  const { id } = await server.store({});
  const headers = { "x-api-key": server.ann.key, "idempotency-key": "k" };
  const send = (importance: number) =>
    server.call(`/memories/${String(id)}`, { method: "PUT", headers, body: { title: "Another title", importance } });

  const [first, again, other] = [await send(0.9), await send(0.9), await send(0.8)];

  expect([first.status, again.status, again.body]).toEqual([200, 200, first.body]);
  expect(other.body).toMatchObject({ error: { reason: "idempotency_key_reused" } });
});

it("stores no cut text while it cannot read the stored one", async () => {
  const ran: string[] = [];
  const run = (operation: string) => {
    ran.push(operation);
    return Promise.reject(new Unavailable("busy"));
  };
  const body = { id: "one", title: `${"t".repeat(199)}…` };
  for (const [method, path] of [
    ["PUT", "/memories/:id"],
    ["POST", "/memories"],
  ]) {
    const alias = backendAliases.find((each) => each.method === method && each.path === path);
    await expect(alias?.answer({ id: "one", query: {}, body, pause: async () => {} }, run)).rejects.toBeInstanceOf(
      Unavailable,
    );
  }
  expect(ran).toEqual(["memory", "memory"]);
});

it("keeps the blanks around a text that its tool sends back without them", async () => {
  await using server = await startServer();
  const { ann, call, store } = server;
  const stored = { title: ` ${"t".repeat(300)}`, content: "    indented\n\nlast\n", summary: " In short. " };
  await store({ id: "blanks", ...stored });
  await store({ id: "empty", content: "  \n" });
  const read = async (id: string) => (await ask(`${server.url}/v1/memories/${id}`, { key: ann.key })).body;
  const change = async (id: string, wishes: Fields) => {
    const { title, content, summary } = (await call(`/memories/${id}`)).body as Readonly<Record<string, string>>;
    // As the client's parser leaves them.
    const body = { title: title?.trim(), content: content?.trim(), summary, importance: 0.9, ...wishes };
    return (await call(`/memories/${id}`, { method: "PUT", body })).status;
  };

  expect([await change("blanks", {}), await read("blanks")]).toMatchObject([200, { ...stored, importance: 0.9 }]);
  expect([await change("empty", {}), await read("empty")]).toMatchObject([200, { content: "  \n", importance: 0.9 }]);
  expect([await change("blanks", { content: "last" }), await read("blanks")]).toMatchObject([
    200,
    { ...stored, content: "last" },
  ]);
});

it("keeps the full texts when its import stores the cut ones of its export", async () => {
  await using server = await startServer();
  const { ann, call, store } = server;
  const long = { title: "t".repeat(300), summary: "s".repeat(600) };
  await store({ id: "long", ...long });
  await store({ id: "blank", title: ` ${long.title}` });
  const { title, content, summary } = (await call("/memories/long")).body as Fields;
  const blank = (await call("/memories/blank")).body as { readonly title: string };

  const again = await store({ id: "long", title, content, summary, importance: 0.9 });
  // As the client's parser leaves it.
  await store({ id: "blank", title: blank.title.trim() });
  await store({ id: "new", title: `${"n".repeat(199)}…` });
  const kept = await ask(`${server.url}/v1/memories/long`, { key: ann.key });

  expect(again).toMatchObject({ id: "long", title, summary, importance: 0.9 });
  expect(kept.body).toMatchObject({ ...long, importance: 0.9 });
  expect((await ask(`${server.url}/v1/memories/blank`, { key: ann.key })).body).toMatchObject({
    title: ` ${long.title}`,
  });
});

it("changes and stores with a key that may not read", async () => {
  await using server = await startServer();
  const { world, url } = server;
  const { key } = await world.user({ scopes: ["memories:write"] });
  const said = { id: "one", type: "fix", title: `${"t".repeat(199)}…`, content: "x" };
  const call = async (path: string, wish: Ask) =>
    (await ask(`${url}${path}`, { headers: { "x-api-key": key }, ...wish })).status;

  expect([
    await call("/memories", { body: said }),
    await call("/memories", { body: said }),
    await call("/memories/one", { method: "PUT", body: { title: said.title, content: "y" } }),
  ]).toEqual([201, 200, 200]);
});

it("shows the part of a context that the published parser accepts, and keeps the rest", async () => {
  await using server = await startServer();
  const { ann, call, store } = server;
  const fit = { project_path: "/a", languages: ["python"], additional_metadata: { key: 1 }, role: 5, ["__proto__"]: 1 };
  const unfit = { git_branch: 7, frameworks: "express", files_involved: null, technologies: ["a", 1] };
  await store({ id: "mixed", context: { ...fit, ...unfit } });

  const shown = await call("/memories/mixed");
  const kept = await ask(`${server.url}/v1/memories/mixed`, { key: ann.key });

  expect((shown.body as Fields)["context"]).toEqual(fit);
  expect((kept.body as Fields)["context"]).toEqual({ ...fit, ...unfit });
});

it("does not copy a context that the published parser accepts: there may be hundreds of 2,000 entries", () => {
  const context = { project_path: "/a", ...Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [n, n])) };

  expect(backendMemoryOf({ context })["context"]).toBe(context);
});

it("answers at the paths of earlier versions", async () => {
  await using server = await startServer();
  const { call, store, link, search } = server;
  await store({ id: "one", title: "Redis one" });
  await store({ id: "two", title: "Redis two" });
  await link("one", "two");

  const searched = await call("/memories/search", { body: { query: "redis", limit: 20 } });
  const recalled = await call("/memories/recall", { body: { query: "redis", limit: 20 } });
  const related = await call("/memories/one/related?max_depth=1");

  expect([searched.status, searched.body]).toEqual([200, (await search({ query: "redis", limit: 20 })).body]);
  expect([recalled.status, recalled.body]).toEqual([200, searched.body]);
  expect([related.status, related.body]).toEqual([200, (await call("/search/memories/one/related?max_depth=1")).body]);
});

it("says with the status that the client displays that a graph is full", async () => {
  await using server = await startServer({ storage: { ...LIMITS.storage, pro: { memories: 0, bytes: 0 } } });

  const { status, body } = await server.call("/memories", { body: { type: "fix", title: "A", content: "x" } });

  expect([status, body]).toMatchObject([
    403,
    { error: { reason: "graph_full" }, detail: expect.stringContaining("full") as string },
  ]);
});

it("searches by words, and filters by any tag, types, importance and project", async () => {
  await using server = await startServer();
  const { call, store, search } = server;
  await store({ title: "Redis red", tags: ["red"], context: { project_path: "/a" } });
  await store({ title: "Redis blue", tags: ["blue"], type: "problem", importance: 0.9 });
  await store({ title: "Redis plain", tags: ["a,b"] });

  expect(titlesOf(await search({ tags: ["red", "blue"], limit: 20 }))).toEqual(["Redis blue", "Redis red"]);
  expect(titlesOf(await search({ tags: ["a,b"], limit: 20 }))).toEqual(["Redis plain"]);
  expect(titlesOf(await search({ query: "redis", memory_types: ["problem"], limit: 20 }))).toEqual(["Redis blue"]);
  expect(titlesOf(await search({ query: "redis", min_importance: 0.8, limit: 20 }))).toEqual(["Redis blue"]);
  expect(titlesOf(await search({ project_path: "/a", limit: 20 }))).toEqual(["Redis red"]);
  const recalled = await call("/search/recall", { body: { query: "what about redis", limit: 2, memory_types: [] } });
  expect([recalled.status, listOf(recalled).length]).toEqual([200, 2]);
  expect(listOf(recalled)[0]).toHaveProperty("content", "Some content.");
});

it("reads a graph page by page, a thousand memories at a time", async () => {
  await using server = await startServer();
  const { world, ann, search } = server;
  await world.database.pool.query(
    `INSERT INTO memory (graph_id, id, type, title, content, tags, created_by, created_at, updated_by, updated_at)
     SELECT $1, gen_random_uuid(), 'general', 'Note ' || n, 'Something.', '{}', $2, now(), $2, now()
     FROM generate_series(1, 1205) AS n`,
    [ann.caller.personalGraphId, ann.caller.userId],
  );

  const first = listOf(await search({ limit: 1_000 }));
  const second = listOf(await search({ limit: 1_000, offset: 1_000 }));
  // A search ranks no more hits than these.
  for (const offset of [1_000, 1_001]) {
    const beyond = await search({ query: "note", offset });
    expect([beyond.status, listOf(beyond)]).toEqual([200, []]);
  }

  expect([first.length, second.length]).toEqual([1_000, 205]);
  expect(listOf(await search({}))).toHaveLength(20);
  expect(new Set([...first, ...second].map(({ id }) => id)).size).toBe(1_205);
});

it("says that memories are too large for one page instead of leaving some out", async () => {
  await using server = await startServer();
  const { world, ann, search } = server;
  await world.database.pool.query(
    `INSERT INTO memory (graph_id, id, type, title, content, tags, created_by, created_at, updated_by, updated_at)
     SELECT $1, gen_random_uuid(), 'general', 'Note ' || n, repeat('x', 50000), '{}', $2, now(), $2, now()
     FROM generate_series(1, 260) AS n`,
    [ann.caller.personalGraphId, ann.caller.userId],
  );

  const all = await search({ limit: 1_000 });
  const some = await search({ limit: 120 });

  expect([all.status, all.body]).toMatchObject([400, { detail: expect.stringContaining("ask for fewer") as string }]);
  expect([some.status, listOf(some).length]).toEqual([200, 120]);
});

it("links memories, answers a repetition the same, and follows the links", async () => {
  await using server = await startServer();
  const { call, store, link } = server;
  const one = await store({ id: "one", title: "One" });
  const two = await store({ id: "two", title: "Two" });
  const made = await link("one", "two", { context: "x".repeat(10_000) });
  await link("one", "two", { relationship_type: "CAUSES", strength: 0.9 });
  await link("two", "one", { relationship_type: "FOLLOWS" });
  const again = await link("one", "two");
  const related = async (id: string, wishes: string) =>
    listOf(await call(`/search/memories/${id}/related?${wishes}`), "related_memories");

  expect([made.status, again.status, again.body]).toEqual([201, 200, made.body]);
  expect(await related("one", "max_depth=1")).toEqual([
    { memory: two, relationship: { type: "CAUSES", strength: 0.9, confidence: 0.8, context: null } },
    { memory: two, relationship: { type: "SOLVES", strength: 0.5, confidence: 0.8, context: "x".repeat(10_000) } },
  ]);
  expect((await related("two", "max_depth=1")).map(({ memory }) => memory)).toEqual([one]);
  expect(await related("two", "max_depth=2")).toHaveLength(3);
  // Only exporters send exactly max_depth=1 without types.
  for (const wishes of ["", "max_depth=0", "max_depth=one"]) expect(await related("two", wishes)).toHaveLength(3);
  expect(await related("two", "max_depth=1&relationship_types=SOLVES,CAUSES")).toHaveLength(2);
  expect((await call("/search/memories/nobody/related?max_depth=1")).status).toBe(404);
});

it("exports every relationship once, in the right direction", async () => {
  await using server = await startServer();
  const { call, store, link, search } = server;
  for (const id of ["a", "b", "c", "d"]) await store({ id });
  const links = [
    ["a", "b"],
    ["b", "a"],
    ["b", "c"],
    ["c", "a"],
    ["c", "d"],
  ] as const;
  for (const [from, to] of links) await link(from, to);

  const exported: unknown[] = [];
  for (const { id } of listOf(await search({ limit: 1_000 }))) {
    const found = await call(`/search/memories/${String(id)}/related?max_depth=1`);
    for (const { memory } of listOf(found, "related_memories")) exported.push([id, (memory as Fields)["id"]]);
  }

  expect(exported.sort()).toEqual([...links].sort());
  const nearest = await call("/search/memories/a/related");
  expect(listOf(nearest, "related_memories")).toHaveLength(3);
});

it("refuses to export more relationships than fit into one answer, and shows other requests the nearest", async () => {
  await using server = await startServer();
  const { world, ann, call, store } = server;
  const hub = await store({ title: "Hub" });
  const others = await manyMemories(world, ann, 1_001);
  await manyLinks(
    world,
    ann,
    others.map(({ id }) => [String(hub["id"]), id] as const),
  );
  const related = (wishes: string) => call(`/search/memories/${String(hub["id"])}/related?${wishes}`);

  const [exported, walk, typed] = [
    await related("max_depth=1"),
    await related("max_depth=2"),
    await related("max_depth=1&relationship_types=RELATED_TO"),
  ];
  await world.database.pool.query("DELETE FROM relationship WHERE to_id = $1", [others[0]?.id]);

  expect([exported.status, exported.body]).toMatchObject([
    400,
    { detail: expect.stringContaining("more than 1,000 relationships") as string },
  ]);
  expect([walk, typed].map((answer) => listOf(answer, "related_memories").length)).toEqual([1_000, 1_000]);
  expect(listOf(await related("max_depth=1"), "related_memories")).toHaveLength(1_000);
});

it("refuses exports and searches whose memories are too large for one answer", async () => {
  await using server = await startServer();
  const { world, ann, call, store, search } = server;
  const hub = await store({ title: "Hub" });
  const others = await manyMemories(world, ann, 90, `needle ${"x".repeat(49_000)}`);
  await manyLinks(
    world,
    ann,
    others.map(({ id }) => [String(hub["id"]), id] as const),
  );

  const exported = await call(`/search/memories/${String(hub["id"])}/related?max_depth=1`);
  const found = await search({ query: "note", limit: 90 });

  expect([exported.status, exported.body]).toMatchObject([400, { detail: expect.stringContaining("4 MiB") as string }]);
  expect([found.status, found.body]).toMatchObject([
    400,
    { detail: expect.stringContaining("ask for fewer") as string },
  ]);
  expect(listOf(await search({ query: "note", limit: 20 }))).toHaveLength(20);
});

it("shows recent activity and statistics", async () => {
  await using server = await startServer();
  const { call, store, link } = server;
  expect((await call("/graphs/statistics")).body).toMatchObject({
    avg_importance: { avg_importance: 0 },
    avg_confidence: { avg_confidence: 0 },
  });
  const problem = await store({ title: "Problem", type: "problem", importance: 1, context: { project_path: "/a" } });
  const solved = await store({ title: "Solved", type: "error" });
  const fix = await store({ title: "Fix", type: "fix" });
  await link(fix["id"], solved["id"]);

  const recent = await call("/memories/recent?days=7&project=");
  const here = await call("/memories/recent?days=9999&project=%2Fa");
  const statistics = await call("/graphs/statistics");

  expect([recent.status, recent.body]).toEqual([
    200,
    {
      total_count: 3,
      memories_by_type: { problem: 1, error: 1, fix: 1 },
      recent_memories: [fix, solved, problem],
      unresolved_problems: [problem],
      days: 7,
      project: null,
    },
  ]);
  expect((await call("/memories/recent")).body).toMatchObject({ days: 7 });
  expect(here.body).toMatchObject({ total_count: 1, recent_memories: [problem], days: 365, project: "/a" });
  expect([statistics.status, statistics.body]).toEqual([
    200,
    {
      total_memories: { count: 3 },
      memories_by_type: { problem: 1, error: 1, fix: 1 },
      total_relationships: { count: 1 },
      avg_importance: { avg_importance: expect.closeTo(2 / 3) as number },
      avg_confidence: { avg_confidence: expect.closeTo(0.8) as number },
    },
  ]);
});

it("tells the wait in whole seconds when a rate limit is reached", async () => {
  await using server = await startServer();
  const { world, url } = server;
  const bob = await world.user({ plan: "free" });
  const headers = { "x-api-key": bob.key };

  const answers: Answer[] = [];
  for (let count = 0; count <= 60; count++) answers.push(await ask(`${url}/memories/recent`, { headers }));

  expect(answers.slice(0, 60).map(({ status }) => status)).toEqual(Array<number>(60).fill(200));
  const { status, headers: told, body } = answers[60] ?? {};
  expect(status).toBe(429);
  expect(told?.get("retry-after")).toMatch(/^[1-9]\d*$/);
  expect(body).toMatchObject({ error: { code: "rate_limited" }, detail: expect.any(String) as string });
});

it("lists expired memories, and relationships to them, only for exporters", async () => {
  await using server = await startServer();
  const { ann, call, store, link, search, url } = server;
  const lasting = await store({ title: "Lasting", tags: ["one"] });
  const passing = await store({ title: "Passing", tags: ["one"] });
  await link(lasting["id"], passing["id"]);
  const past = new Date(Date.now() - 1_000).toISOString();
  await server.world.services.database.models.memory.updateMany({
    where: { title: "Passing" },
    data: { expiresAt: past },
  });
  const bearer = { headers: { authorization: `Bearer ${ann.key}` } };

  const whole = await search({ limit: 1_000, offset: 0 });
  const whole2 = await ask(`${url}/api/v1/memories?limit=100`, bearer);
  const walked = await call(`/search/memories/${String(lasting["id"])}/related?max_depth=1`);
  const others = [
    await search({ limit: 1_000, tags: ["one"] }),
    await search({ limit: 1_000, query: "title passing content" }),
    await call("/search/recall", { body: { limit: 10 } }),
    await ask(`${url}/api/v1/memories/recall?limit=10`, bearer),
  ];

  expect([titlesOf(whole), titlesOf(whole2)]).toEqual([
    ["Passing", "Lasting"],
    ["Passing", "Lasting"],
  ]);
  expect(listOf(walked, "related_memories")).toMatchObject([{ memory: { title: "Passing" } }]);
  for (const other of others) expect(titlesOf(other)).not.toContain("Passing");
});

it("names fields in refusals as the client does", async () => {
  await using server = await startServer();
  const { call, search, store } = server;
  const { id } = await store({ title: "One" });
  const said = { type: "fix", title: "A title", content: "Some content." };
  const refusals = {
    id: await call("/memories", { body: { ...said, id: "x".repeat(201) } }),
    "memory_types.1": await search({ memory_types: ["fix", 5] }),
    project_path: await search({ project_path: 5 }),
    relationship_types: await call(`/search/memories/${String(id)}/related?relationship_types=solves`),
    "": await call("/search/advanced", { body: [] }),
  };

  for (const [field, { status, body }] of Object.entries(refusals)) {
    const { error } = body as { error: { details: Array<{ path: string }> } };
    expect([field, status, error.details.map(({ path }) => path)]).toEqual([field, 400, [field]]);
  }
});

it("takes a list of blank items as no filter", async () => {
  await using server = await startServer();
  const { search, store } = server;
  await store({ title: "One", tags: ["a"] });

  for (const tags of [[], [""], [" "], ["\u200b", null], ""]) expect(titlesOf(await search({ tags }))).toEqual(["One"]);
});
