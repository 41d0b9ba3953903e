import { expect, it, vi } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { beginningOf, listOf, shorten } from "../../src/surfaces/rest/aliases/values.js";
import { aMemory } from "../support/memories.js";
import { type Answer, type Ask, ask } from "../support/http.js";
import { exchange } from "../support/socket.js";
import { createWorld } from "../support/world.js";

type Fields = Readonly<Record<string, unknown>>;

/** A server, and the requests that the published SDKs send to it. */
async function startServer() {
  const world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const call = (path: string, wish: Ask = {}): Promise<Answer> =>
    ask(`${url}/api/v1${path}`, { key: ann.key, ...wish });
  const make = async (wishes: Fields): Promise<Fields> => {
    const said = { type: "solution", title: "A title", content: "Some content.", tags: [], importance: 0.5, ...wishes };
    return (await call("/memories", { body: said })).body as Fields;
  };
  const link = (from: unknown, to: unknown, wishes: Fields = {}) => {
    const ends = { from_memory_id: from, to_memory_id: to, relationship_type: "SOLVES" };
    return call("/relationships", { body: { ...ends, strength: 0.5, confidence: 0.8, ...wishes } });
  };
  return { world, url, ann, call, make, link, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

const titlesOf = ({ body }: Answer, list = "memories"): unknown[] =>
  (body as Readonly<Record<string, Fields[]>>)[list]?.map(({ title }) => title) ?? [];

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.(\d{3}|\d{6})Z$/;

it("stores, reads, changes and deletes a memory", async () => {
  await using server = await startServer();
  const { call } = server;
  const context = { session_id: "s-1", role: "user" };
  const said = { type: "conversation", title: "A title", content: "Some content.", tags: ["One"], importance: 0.7 };

  const stored = await call("/memories", { body: { ...said, context, summary: "In short.", unheard_of: 1 } });
  const memory = stored.body as Fields;
  const read = await call(`/memories/${memory["id"]}?include_relationships=true`);
  const changed = await call(`/memories/${memory["id"]}`, { method: "PATCH", body: { title: "Another" } });
  const unchanged = await call(`/memories/${memory["id"]}`, { method: "PATCH", body: {} });
  const deleted = await call(`/memories/${memory["id"]}`, { method: "DELETE" });
  const gone = await call(`/memories/${memory["id"]}?include_relationships=false`);

  expect(stored.status).toBe(201);
  expect(memory).toEqual({
    ...said,
    tags: ["one"],
    context,
    summary: "In short.",
    confidence: 0.8,
    id: expect.any(String) as string,
    created_at: expect.stringMatching(TIME) as string,
    updated_at: expect.stringMatching(TIME) as string,
  });
  expect([read.status, read.body]).toEqual([200, memory]);
  expect([changed.status, changed.body]).toMatchObject([
    200,
    { ...memory, title: "Another", updated_at: expect.any(String) as string },
  ]);
  expect([unchanged.status, unchanged.body]).toEqual([200, changed.body]);
  expect([deleted.status, deleted.body]).toEqual([204, ""]);
  expect([gone.status, gone.body]).toMatchObject([
    404,
    { error: { code: "not_found" }, detail: expect.any(String) as string },
  ]);
});

it("lists without a query, newest first, and filters by all tags, types and importance", async () => {
  await using server = await startServer();
  const { call, make } = server;
  await make({ title: "Red", tags: ["red"], importance: 0.2 });
  await make({ title: "Both", tags: ["red", "blue"], type: "problem" });
  await make({ title: "Blue", tags: ["blue"], importance: 0.9 });

  expect(titlesOf(await call("/memories?limit=20&offset=0"))).toEqual(["Blue", "Both", "Red"]);
  expect(titlesOf(await call("/memories?limit=1&offset=1"))).toEqual(["Both"]);
  expect(titlesOf(await call("/memories?limit=20&offset=3"))).toEqual([]);
  expect(titlesOf(await call("/memories?limit=20&offset=0&tags=red&tags=blue"))).toEqual(["Both"]);
  expect(titlesOf(await call("/memories?limit=20&offset=0&tags=red%2Cblue"))).toEqual(["Both"]);
  expect(titlesOf(await call("/memories?limit=20&offset=0&memory_types=problem,task"))).toEqual(["Both"]);
  expect(titlesOf(await call("/memories?limit=20&offset=0&memory_types=&tags="))).toHaveLength(3);
  expect(titlesOf(await call("/memories?limit=20&offset=0&min_importance=0.5"))).toEqual(["Blue", "Both"]);
});

it("finds a tag with a comma, ids that equal route names, and queries in any script", async () => {
  await using server = await startServer();
  const { url, ann, call, make } = server;
  await make({ title: "Joined", tags: ["a,b", "c"] });
  await make({ title: "Apart", tags: ["a", "b", "c"] });
  for (const id of ["recent", "recall"]) {
    await ask(`${url}/memories`, { key: ann.key, body: { id, type: "note", title: id, content: "x" } });
  }
  const search = new URLSearchParams({ query: "記".repeat(1_000), tags: "c" });

  expect(titlesOf(await call("/memories?tags=a%252Cb,c"))).toEqual(["Joined"]);
  expect(titlesOf(await call("/memories?tags=a,b"))).toEqual(["Apart"]);
  expect(await call("/memories/%72ecall")).toMatchObject({ status: 200, body: { title: "recall" } });
  expect(await ask(`${url}/memories/%72ecent`, { key: ann.key })).toMatchObject({ body: { title: "recent" } });
  expect(await call(`/memories/recall?${search.toString()}`)).toMatchObject({ status: 200, body: { memories: [] } });
});

it("takes a comma as part of a tag from the SDK for Python, which repeats lists", async () => {
  await using server = await startServer();
  const { call, make } = server;
  const tag = "session:Smith, Ann";
  await make({ title: "First", tags: [tag, "role:human"] });
  await make({ title: "Second", tags: [tag, "role:ai"] });
  await make({ title: "Apart", tags: ["session:Smith", "Ann"] });
  const titlesFor = async (search: string, ...tags: string[]) => {
    const query = new URLSearchParams(tags.map((name): [string, string] => ["tags", name])).toString();
    const headers = { "user-agent": "python-httpx/0.28.1" };
    return titlesOf(await call(`/memories?limit=20&offset=0&${search}&${query}`, { headers }));
  };

  expect(await titlesFor("", tag)).toEqual(["Second", "First"]);
  expect(await titlesFor("query=second", tag)).toEqual(["Second"]);
  expect(await titlesFor("", tag, "role:human")).toEqual(["First"]);
  expect(await titlesFor("", "session:Smith", "ann")).toEqual(["Apart"]);
  expect(await titlesFor("query=session,smith,ann&memory_types=solution,task", "ann")).toEqual(["Apart"]);
  expect(await titlesFor("", "")).toHaveLength(3);
});

it("returns whole memories for searches and recalls", async () => {
  await using server = await startServer();
  const { call, make } = server;
  const found = await make({ title: "Redis timeout", content: "Wait longer.", context: { project_path: "/a" } });
  await make({ title: "Redis elsewhere", context: { project_path: "/b" } });
  await make({ title: "Another thing" });

  const searched = await call("/memories?limit=20&offset=0&query=redis+timeout");
  const recalled = await call("/memories/recall?query=redis&limit=20&project_path=%2Fa");
  const long = await call(`/memories/recall?query=${"redis+".repeat(400)}&limit=20`);

  expect(searched.status).toBe(200);
  expect((searched.body as { memories: Fields[] }).memories[0]).toEqual(found);
  expect([recalled.status, recalled.body]).toEqual([200, { memories: [found] }]);
  expect([long.status, titlesOf(long).length]).toEqual([200, 2]);
  expect(titlesOf(await call("/memories?limit=20&offset=1000&query=redis"))).toEqual([]);
});

it("answers a search for one memory with the one whose title equals the query", async () => {
  await using server = await startServer();
  const { call, make } = server;
  for (const title of ["task_1", "task_1_result", "task_1 (old)"]) await make({ title });
  const first = async (query: string) => titlesOf(await call(`/memories?limit=1&offset=0&query=${query}`));

  expect(await first("task_1")).toEqual(["task_1"]);
  expect(await first("result")).toEqual(["task_1_result"]);
  expect(await first("nothing")).toEqual([]);
});

it("links memories, and answers a repetition with the existing relationship", async () => {
  await using server = await startServer();
  const { make, link } = server;
  const [one, two] = [await make({}), await make({})];

  const first = await link(one["id"], two["id"], { context: "Since Tuesday." });
  const again = await link(one["id"], two["id"], { strength: 0.9 });

  expect(first.status).toBe(201);
  expect(first.body).toEqual({
    from_memory_id: one["id"],
    to_memory_id: two["id"],
    relationship_type: "SOLVES",
    strength: 0.5,
    confidence: 0.8,
    context: "Since Tuesday.",
    id: expect.any(String) as string,
    created_at: expect.stringMatching(TIME) as string,
  });
  expect([again.status, again.body]).toEqual([200, first.body]);
});

it("follows relationships in both directions", async () => {
  await using server = await startServer();
  const { call, make, link } = server;
  const [one, two, three] = [await make({ title: "1" }), await make({ title: "2" }), await make({ title: "3" })];
  await link(one["id"], two["id"]);
  await link(three["id"], two["id"], { relationship_type: "CAUSES", strength: 0.3 });

  const near = await call(`/memories/${two["id"]}/related?max_depth=1`);
  const far = await call(`/memories/${one["id"]}/related?max_depth=99`);
  const typed = await call(
    `/memories/${two["id"]}/related?max_depth=1&relationship_types=CAUSES&relationship_types=FIXES`,
  );

  expect([near.status, near.body]).toEqual([
    200,
    {
      related: [
        { memory: one, relationship_type: "SOLVES", strength: 0.5, depth: 1 },
        { memory: three, relationship_type: "CAUSES", strength: 0.3, depth: 1 },
      ],
    },
  ]);
  expect((far.body as { related: Fields[] }).related.map(({ depth }) => depth)).toEqual([1, 2]);
  expect((typed.body as { related: Fields[] }).related.map(({ memory }) => memory)).toEqual([three]);
});

it("reads types as Python writes enum members into a query", async () => {
  await using server = await startServer();
  const { call, make, link } = server;
  const [pattern, task] = [await make({ title: "A", type: "code_pattern" }), await make({ title: "B", type: "task" })];
  await link(pattern["id"], task["id"], { relationship_type: "LEADS_TO" });

  const types = "memory_types=MemoryType.CODE_PATTERN&memory_types=problem";
  const near = `/memories/${task["id"]}/related?max_depth=1&relationship_types=RelationshipType`;

  expect(titlesOf(await call(`/memories?limit=20&offset=0&${types}`))).toEqual(["A"]);
  expect(titlesOf(await call(`/memories/recall?query=title&limit=20&${types}`))).toEqual([]);
  expect((await call(`${near}.LEADS_TO`)).body).toMatchObject({ related: [{ relationship_type: "LEADS_TO" }] });
  expect((await call(`${near}.SOLVES`)).body).toEqual({ related: [] });
});

it("accepts the key in either header, lowers limits to the maximum, and says in `detail` what is wrong", async () => {
  await using server = await startServer();
  const { url, ann, call } = server;
  const path = `${url}/api/v1/memories`;

  const statuses = await Promise.all(
    [
      ask(path, { headers: { "x-api-key": ann.key } }),
      ask(path, { headers: { "x-api-key": `${ann.key}x` } }),
      ask(path),
      call("/memories?limit=100000"),
      call("/memories?limit=0&offset=-1"),
      call("/memories?limit=many"),
      call("/memories?min_importance=2"),
      call("/memories", { body: { type: "solution", title: "" } }),
      call("/memories", { body: "[1]" }),
      call("/memories", { method: "PUT", body: {} }),
      call("/unheard-of"),
      call("/relationships", { body: { from_memory_id: "a", to_memory_id: "b", relationship_type: "SOLVES" } }),
    ].map(async (asked) => {
      const { status, body } = await asked;
      const { error, detail } = body as { error?: { message: string }; detail?: string };
      return [status, detail === error?.message ? "told" : detail];
    }),
  );

  expect(statuses).toEqual([
    [200, "told"],
    [401, "told"],
    [401, "told"],

    [200, "told"],
    [200, "told"],
    [200, "told"],

    [400, "told"],
    [400, "told"],
    [400, "told"],
    [405, "told"],
    [404, "told"],
    [404, "told"],
  ]);
});

it("says in `detail` what is wrong, whatever refuses the request, at every path below those of the aliases", async () => {
  await using server = await startServer();
  const { url, ann } = server;
  const tooLong = `query=${"a".repeat(LIMITS.http.urlBytes)}`;
  const paths = ["/api", "/api/v2/memories", "/memories/a/b", "/relationships/a", "/search", "/graphs/none"];
  const refused = [
    ...(await Promise.all(paths.map((path) => ask(url + path, { key: ann.key })))),
    await ask(`${url}/memories`, { method: "TRACE" }),
    await ask(`${url}/search/advanced?${tooLong}`, { key: ann.key }),
  ];

  expect(refused.map(({ status }) => status)).toEqual([...paths.map(() => 404), 405, 413]);
  for (const { body } of refused) {
    const { error, detail } = body as { error: { message: string }; detail: string };
    expect(detail).toBe(error.message);
  }
  const ours = await ask(`${url}/v1/nothing`);
  expect(Object.keys(ours.body as object)).toEqual(["error"]);
});

it.each([
  [413, "a head that the parser does not read to its end", `X-Long: ${"a".repeat(4 * LIMITS.http.headBytes)}`],
  [413, "an extension of a chunk that is too long", `Transfer-Encoding: chunked\r\n\r\n1;${"a".repeat(1_000_000)}`],
  [400, "a header that is none", "X Long"],
])("answers %i with `detail` to %s, of which no path is known", async (status, _what, head) => {
  await using server = await startServer();

  const answer = await exchange(server.url, `POST /memories HTTP/1.1\r\nHost: a\r\n${head}\r\n\r\n`);

  const [first = "", body = ""] = answer.split("\r\n\r\n");
  expect(first).toContain(`HTTP/1.1 ${status} `);
  const { error, detail } = JSON.parse(body) as { error: { message: string }; detail: string };
  expect(detail).toBe(error.message);
});

it("refuses access to other users' memories", async () => {
  await using server = await startServer();
  const { world, call } = server;
  const bobs = await aMemory(await world.user(), { title: "Secret" });

  const asked = [
    call(`/memories/${bobs.id}`),
    call(`/memories/${bobs.id}`, { method: "PATCH", body: { title: "Mine" } }),
    call(`/memories/${bobs.id}`, { method: "DELETE" }),
    call(`/memories/${bobs.id}/related?max_depth=1`),
  ];

  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([404, 404, 404, 404]);
  expect(titlesOf(await call("/memories?query=secret"))).toEqual([]);
});

it("splits only as much of a list as it needs to refuse it", () => {
  expect(listOf(",".repeat(500_000))).toHaveLength(LIMITS.text.itemsUnlessDeclared + 1);
});

it("looks at no more of a long text than it keeps", () => {
  const split = vi.spyOn(Array, "from");
  const long = "a😀".repeat(250_000);
  const kept = [beginningOf(long, 3), shorten(long, 3), shorten("😀😀😀", 3), shorten("😀😀😀a", 3)];
  const lengths = split.mock.calls.map(([text]) => (text as string).length);
  split.mockRestore();

  expect(kept).toEqual(["a😀a", "a😀…", "😀😀😀", "😀😀…"]);
  expect(lengths).toEqual([6, 4, 7, 6, 7]);
});

it.each(["a", "\u0958", "\ufb2c", "\u{1d160}", "😀", "\u200b", "\u3164", " "])(
  "cuts and never refuses a long query: %j",
  async (text) => {
    await using server = await startServer();
    for (const length of [1, 500, 999, 1_000, 1_001]) {
      const body = { query: text.repeat(length) };
      const found = await ask(`${server.url}/search/recall`, { key: server.ann.key, body });
      expect([length, found]).toMatchObject([length, { status: 200, body: { memories: [] } }]);
    }
    const search = new URLSearchParams({ query: text.repeat(400) });
    expect(await server.call(`/memories/recall?${search.toString()}`)).toMatchObject({ status: 200 });
  },
);

it("names fields in refusals as the client does", async () => {
  await using server = await startServer();
  const { call, make } = server;
  const { id } = await make({ title: "One" });
  const long = "x".repeat(501);
  const refusals = {
    memory_types: await call("/memories?memory_types=Bad%20type"),
    relationship_types: await call(`/memories/${String(id)}/related?relationship_types=solves`),
    project_path: await call(`/memories/recall?query=a&project_path=${long}`),
    min_importance: await call("/memories?min_importance=2"),
  };

  for (const [field, { status, body }] of Object.entries(refusals)) {
    const { error, detail } = body as { error: { details: Array<{ path: string }> }; detail: string };
    expect([field, status, error.details.map(({ path }) => path)]).toEqual([field, 400, [field]]);
    expect(detail).toMatch(new RegExp(`^${field}: `));
  }
});
