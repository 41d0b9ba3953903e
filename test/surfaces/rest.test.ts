import { expect, it } from "vitest";
import { createMemory } from "../../src/features/memories/create-memory.js";
import { putMemory } from "../../src/features/memories/put-memory.js";
import { operations } from "../../src/operations.js";
import { ask } from "../support/http.js";
import { aLink, aMemory, memoriesTitled } from "../support/memories.js";
import { messageOf } from "../support/mcp.js";
import { createWorld } from "../support/world.js";

const NOTE = { type: "solution", title: "Retry with backoff", content: "Wait longer after each failure." };
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

it("answers a creation with the whole memory, its Location and its version", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();

  const made = await ask(`${url}/v1/memories`, { key: ann.key, body: { ...NOTE, tags: ["net"], importance: 0.1 } });

  const { id } = made.body as { id: string };
  expect(made.status).toBe(201);
  expect(made.headers.get("location")).toBe(`/v1/memories/${id}`);
  expect(made.headers.get("etag")).toBe('"1"');
  expect(made.headers.get("content-type")).toBe("application/json; charset=utf-8");
  expect(made.body).toEqual({
    id,
    ...NOTE,
    summary: null,
    tags: ["net"],
    importance: 0.1,
    context: null,
    confidence: 0.8,
    client_id: null,
    expires_at: null,
    superseded_by: null,
    created_at: TIME,
    updated_at: TIME,
    version: 1,
    created_by: ann.caller.userId,
    relationships: [],
    relationships_total: 0,
  });
  const got = await ask(`${url}${made.headers.get("location")}`, { key: ann.key });
  expect([got.status, got.body, got.headers.get("etag")]).toEqual([200, made.body, '"1"']);
});

it("names in Location the path at the public URL, which a proxy may have put below another path", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({ PUBLIC_URL: "https://example.com/memory" });
  const ann = await world.user();

  const made = await ask(`${url}/v1/memories`, { key: ann.key, body: NOTE });

  expect(made.headers.get("location")).toBe(`/memory/v1/memories/${(made.body as { id: string }).id}`);
});

it("returns relationships, related memories and hits with the documented fields only", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const [fix, problem] = await memoriesTitled(ann, "Fix", "Problem");
  const get = async (path: string) => (await ask(url + path, { key: ann.key })).body;
  const link = { from_memory_id: fix.id, to_memory_id: problem.id, relationship_type: "SOLVES" };
  const made = await ask(`${url}/v1/relationships`, { key: ann.key, body: link });

  const { id } = made.body as { id: string };
  const certainty = { strength: 0.5, confidence: 0.8 };
  const relationship = { id, from: fix.id, to: problem.id, type: "SOLVES", ...certainty, created_at: TIME };
  expect(made.status).toBe(201);
  expect(made.body).toEqual({ ...relationship, context: null });
  expect(await get(made.headers.get("location") ?? "")).toEqual(made.body);
  expect(await get(`/v1/memories/${fix.id}`)).toMatchObject({
    relationships: [
      { ...relationship, direction: "out", memory: { id: problem.id, type: "general", title: "Problem" } },
    ],
  });
  const related = { id: problem.id, type: "general", title: "Problem", relationship: "SOLVES" };
  expect(await get(`/v1/memories/${fix.id}/related?types=SOLVES`)).toEqual({
    memories: [{ ...related, direction: "out", depth: 1, via_memory_id: null, strength: 0.5 }],
    truncated: false,
  });
  expect(await get("/v1/memories/search?query=problem&limit=5")).toEqual({
    memories: [
      {
        id: problem.id,
        type: "general",
        title: "Problem",
        relevance: 0.995,
        summary: null,
        tags: [],
        updated_at: problem.updatedAt.toISOString(),
        snippet: problem.content,
        matches: null,
        superseded_by: null,
        solved_by: { id: fix.id, title: "Fix" },
      },
    ],
    meaning: false,
    total: 1,
    total_is_capped: false,
    unknown_words: [],
    truncated: false,
  });
});

it("updates a memory by PATCH and PUT in the same way: absent fields are kept, null clears", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();

  for (const method of ["PATCH", "PUT"]) {
    const { id } = await ann.did(createMemory, { ...NOTE, summary: "Short" });
    const change = (body: object) => ask(`${url}/v1/memories/${id}`, { key: ann.key, method, body });
    expect((await change({ title: "Another" })).body).toMatchObject({ title: "Another", summary: "Short", version: 2 });
    const cleared = await change({ summary: null });
    expect(cleared.body).toMatchObject({ title: "Another", summary: null });
    expect([cleared.status, cleared.headers.get("etag")]).toEqual([200, '"3"']);
    expect((await change({ title: null })).status).toBe(400);
  }
});

it("says what is wrong with a query string: a value given twice, a plus sign that means a space", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  const problemsOf = async (query: string) => {
    const { status, body } = await ask(`${url}/v1/memories?${query}`, { key });
    return [status, (body as { error?: { message?: string } }).error?.message];
  };

  for (const name of ["limit", "project", "include_expired", "created_after"]) {
    expect(await problemsOf(`${name}=1&${name}=2`)).toEqual([400, `${name}: is given twice`]);
  }
  expect(await problemsOf("types=fix&types=task")).toEqual([200, undefined]);
  const time = "2026-01-01T00:00:00+02:00";
  expect(await problemsOf(`created_after=${time}`)).toEqual([400, expect.stringContaining("%2B") as string]);
  expect(await problemsOf(`created_after=${encodeURIComponent(time)}`)).toEqual([200, undefined]);
});

it("says that what the path or a header has is left out elsewhere, and names only what can be given there", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const [{ id }, other] = await memoriesTitled(ann, "One", "Other");
  const detailsOf = async (method: string, query: string, body?: object) => {
    const answer = await ask(`${url}/v1/memories/${id}${query}`, { key: ann.key, method, ...(body ? { body } : {}) });
    return [answer.status, (answer.body as { error?: { details?: object } }).error?.details];
  };

  const isInPath = [{ path: "id", message: "is in the path; leave it out here" }];
  expect(await detailsOf("GET", `?id=${other.id}`)).toEqual([400, isInPath]);
  expect(await detailsOf("PATCH", "", { id, title: "Two" })).toEqual([400, isInPath]);
  expect(await detailsOf("PATCH", `?id=${other.id}`, { title: "Two" })).toEqual([400, isInPath]);
  const version = { headers: { "if-match": '"1"' }, body: { expected_version: 1, title: "Two" } };
  expect((await ask(`${url}/v1/memories/${id}`, { key: ann.key, method: "PATCH", ...version })).body).toMatchObject({
    error: { details: [{ path: "expected_version", message: "is in a header; leave it out here" }] },
  });
  const twice = await ask(`${url}/v1/memories?graph=personal`, { key: ann.key, body: { ...NOTE, graph: "personal" } });
  expect(twice.body).toMatchObject({ error: { details: [{ path: "graph", message: "is given twice" }] } });
  const unknown = [{ path: "nope", message: "is unknown; known is graph" }];
  expect(await detailsOf("GET", "?nope=1")).toEqual([400, unknown]);
  const { body } = await ask(`${url}/teams/${id}/leave`, { key: ann.key, body: { nope: 1 } });
  expect(body).toMatchObject({ error: { details: [{ path: "nope", message: "is unknown; remove it" }] } });
});

it("finds memories whose client ids are path segments, encoded as documented", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const words = operations.flatMap(({ rest }) => /^\/v1\/memories\/([\w-]+)$/.exec(rest.path)?.[1] ?? []);

  expect(words).toEqual(expect.arrayContaining(["search", "bulk"]));
  for (const word of words) {
    const { id } = await ann.did(putMemory, { ...NOTE, clientId: word });
    const encoded = `%${word.charCodeAt(0).toString(16)}${word.slice(1)}`;
    const found = await ask(`${url}/v1/memories/${encoded}`, { key: ann.key });
    expect(found).toMatchObject({ status: 200, body: { id, client_id: word } });
  }
});

it("reads numbers as doubles, and the last of duplicate names, as documented", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  const sent = `{"type": "fix", "title": "A", "title": "B", "content": "C", "context": {"id": 9007199254740993, "is": 1, "is": "x"}}`;
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const answer = await fetch(`${url}/v1/memories`, { method: "POST", headers, body: sent });

  expect(await answer.json()).toMatchObject({ title: "B", context: { id: 9_007_199_254_740_992, is: "x" } });
});

it("deletes with 204 and no body", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const { id } = await aMemory(ann);

  const { status, body, headers } = await ask(`${url}/v1/memories/${id}`, { key: ann.key, method: "DELETE" });

  expect([status, body, headers.get("content-type")]).toEqual([204, "", null]);
  expect((await ask(`${url}/v1/memories/${id}`, { key: ann.key, method: "DELETE" })).status).toBe(404);
});

it("answers HEAD like GET, without the body", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const { id } = await aMemory(ann);

  for (const path of [`/v1/memories/${id}`, "/v1/memories/search?query=note", "/me"]) {
    const [head, get] = [
      await ask(url + path, { key: ann.key, method: "HEAD" }),
      await ask(url + path, { key: ann.key }),
    ];
    expect([head.status, head.body, head.headers.get("etag")]).toEqual([200, "", get.headers.get("etag")]);
    expect(head.headers.get("content-type")).toBe(get.headers.get("content-type"));
  }
});

it("answers 405 with the allowed methods to clients with a key, and 404 elsewhere to all", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const { id } = await aMemory(ann);
  const allowed: Readonly<Record<string, readonly [method: string, allow: string[]]>> = {
    "/v1/memories": ["DELETE", ["GET", "HEAD", "POST", "PUT"]],
    [`/v1/memories/${id}`]: ["POST", ["DELETE", "GET", "HEAD", "PATCH", "PUT"]],
    "/v1/memories/search": ["POST", ["GET", "HEAD"]],
    "/v1/relationships": ["DELETE", ["GET", "HEAD", "POST"]],
    "/keys": ["PUT", ["GET", "HEAD", "POST"]],
  };

  for (const [path, [method, allow]] of Object.entries(allowed)) {
    const { status, headers, body } = await ask(url + path, { key: ann.key, method });
    expect([status, body]).toMatchObject([405, { error: { code: "method_not_allowed" } }]);
    expect(headers.get("allow")?.split(", ").toSorted()).toEqual(allow);
    expect((await ask(url + path, { method })).status).toBe(401);
  }
  expect((await ask(`${url}/v1/nothing`, { key: ann.key })).body).toMatchObject({ error: { code: "not_found" } });
  expect((await ask(`${url}/v1/nothing`)).status).toBe(404);
});

it("reads a list given repeatedly or joined by commas", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await aMemory(ann, { title: "A", type: "fix", tags: ["x", "y"] });
  await aMemory(ann, { title: "B", type: "task", tags: ["x"] });
  await aMemory(ann, { title: "C", type: "error" });
  const titles = async (query: string) => {
    const { body } = await ask(`${url}/v1/memories?${query}`, { key: ann.key });
    return (body as { memories: Array<{ title: string }> }).memories.map(({ title }) => title);
  };

  expect(await titles("types=fix,task")).toEqual(["B", "A"]);
  expect(await titles("types=fix&types=task")).toEqual(["B", "A"]);
  expect(await titles("types=fix&types=task,error")).toEqual(["C", "B", "A"]);
  expect(await titles("tags=x,y")).toEqual(["A"]);
  expect(await titles("tags=x&tags=y&min_importance=0.5&limit=1")).toEqual(["A"]);
});

it("refuses an empty list in a query string, as everywhere: a filter of nothing is left out", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await aMemory(ann, { tags: ["x"] });

  for (const path of ["/v1/memories?tags=", "/v1/memories?types=", "/v1/memories/search?query=a&tags="]) {
    const { status, body } = await ask(url + path, { key: ann.key });
    expect([path, status, body]).toMatchObject([
      path,
      400,
      { error: { message: expect.stringMatching(/must have 1 to \d+ items/) as string } },
    ]);
  }
});

it("continues a list by the cursor of the previous page", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await memoriesTitled(ann, "One", "Two", "Three");
  interface Page {
    memories: Array<{ title: string }>;
    next_cursor: string | null;
  }
  const page = async (query: string) =>
    (await ask(`${url}/v1/memories?limit=2${query}`, { key: ann.key })).body as Page;

  const first = await page("");
  const second = await page(`&cursor=${first.next_cursor}`);

  expect([...first.memories, ...second.memories].map(({ title }) => title)).toEqual(["Three", "Two", "One"]);
  expect(second.next_cursor).toBeNull();
});

it("says what is wrong with each field, by its name in REST", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const wrong = { from_memory_id: 1.5, relationship_type: "SOLVES", fromMemoryId: "x", strength: "1" };

  const misread = await ask(`${url}/v1/relationships`, { key: ann.key, body: wrong });
  const outOfBounds = await ask(`${url}/v1/memories/x/related?max_depth=6`, { key: ann.key });

  const { error } = misread.body as { error: Record<string, unknown> };
  expect([misread.status, Object.keys(error)]).toEqual([400, ["code", "message", "details"]]);
  expect(error).toMatchObject({
    code: "bad_request",
    details: [
      { path: "fromMemoryId", message: expect.stringMatching(/^is unknown; known are .*from_memory_id/) as string },
      { path: "strength", message: "must be a number" },
      { path: "from_memory_id", message: "must be a string" },
      { path: "to_memory_id", message: "is required" },
    ],
  });
  expect(outOfBounds.body).toMatchObject({ error: { details: [{ path: "max_depth" }] } });
});

it.each(["types[]=fix&types[]=task", "types[0]=fix", "types%5B%5D=fix"])(
  "says how to write the list of ?%s, which is how axios writes lists",
  async (query) => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();

    const answer = await ask(`${url}/v1/memories?${query}&limit[]=1`, { key: ann.key });

    const path = expect.stringMatching(/^types\[0?\]$/) as string;
    const unknown = expect.stringMatching(/^is unknown; known are /) as string;
    const details = [
      { path, message: "is unknown; write a list as types=A,B" },
      { path: "limit[]", message: unknown },
    ];
    expect(answer.body).toMatchObject({ error: { details } });
  },
);

it("returns the reason of a conflict, and the details to resolve it", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const [from, to] = await memoriesTitled(ann, "From", "To");
  const { id } = await aLink(ann, from, to, { relationshipType: "SOLVES" });

  const { status, body } = await ask(`${url}/v1/relationships`, {
    key: ann.key,
    body: { from_memory_id: from.id, to_memory_id: to.id, relationship_type: "SOLVES" },
  });

  expect(status).toBe(409);
  expect(body).toMatchObject({ error: { code: "conflict", reason: "relationship_exists", details: { id } } });
});

it("checks the key, then the format, the fields, the scope, and finally whether the object exists", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const reader = await world.user({ scopes: ["memories:read"] });
  const writer = await world.user({ scopes: ["memories:write"] });
  const [form, json] = [{ "content-type": "text/plain" }, { "content-type": "application/json" }];
  const patch = async (key: string | undefined, headers: Record<string, string>, body: string) => {
    const request = { method: "PATCH", headers, body, ...(key === undefined ? {} : { key }) };
    return (await ask(`${url}/v1/memories/unknown`, request)).status;
  };

  expect(await patch(undefined, form, "{")).toBe(401);
  expect(await patch(reader.key, form, "{")).toBe(415);
  expect(await patch(reader.key, json, "{")).toBe(400);
  expect(await patch(reader.key, json, '{"title": ""}')).toBe(400);
  expect(await patch(reader.key, json, '{"title": "New"}')).toBe(403);
  expect(await patch(writer.key, json, '{"title": "New"}')).toBe(404);
});

it("gives every answer a request id: the client's own if it is valid", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const idOf = async (given?: string) => {
    const headers: Record<string, string> = given === undefined ? {} : { "x-request-id": given };
    return (await ask(`${url}/v1/nothing`, { headers })).headers.get("x-request-id");
  };

  expect(await idOf("trace-1/~")).toBe("trace-1/~");
  for (const given of [undefined, "", "two words", "x".repeat(129), "caf\u00e9"]) {
    expect(await idOf(given)).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  }
  expect(world.log.join("")).toContain('"request_id":"trace-1/~"');
});

it("shows no details of a bug to the client, and logs all except what the client sent", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await world.database.pool.query("ALTER TABLE memory ADD CHECK (title <> 'Hush')");

  const { status, body } = await ask(`${url}/v1/memories`, { key: ann.key, body: { ...NOTE, title: "Hush" } });

  const message = "Something went wrong on our side.";
  expect([status, body]).toEqual([500, { error: { code: "internal_error", message } }]);
  expect(world.bugs).toMatchObject([
    { err: { code: "23514", stack: expect.stringContaining("create-memory") as string } },
  ]);
  expect(world.log.join("")).not.toContain("Hush");
});

it("shows no details of a bug on a page or to an agent, and says that a payment is safe", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const secret = "hush".repeat(11).slice(1);
  for (const table of ["invitation", "billing_account", "api_key"])
    await world.database.pool.query(`ALTER TABLE ${table} RENAME TO moved_${table}`);

  const agent = await ask(`${url}/mcp`, { key: ann.key, ...messageOf("tools/list", {}) });
  const invitation = await ask(`${url}/invitations/${secret}`);
  const payment = await ask(`${url}/billing/return?session_id=cs_${secret}`);

  const data = { code: "internal_error", message: "Something went wrong on our side." };
  expect([agent.status, agent.body]).toEqual([
    500,
    { jsonrpc: "2.0", id: 1, error: { code: -32_603, message: data.message, data } },
  ]);
  const problem = `<p class="problem" role="alert">${data.message}</p>`;
  expect([invitation.status, invitation.body]).toEqual([500, expect.stringContaining(problem)]);
  expect([payment.status, payment.body]).toEqual([500, expect.stringContaining("Your payment is safe.")]);
  for (const { body } of [agent, invitation, payment]) expect(JSON.stringify(body)).not.toMatch(/api_key|billing_acc/);
  expect(world.bugs).toHaveLength(3);
  expect(world.log.join("")).not.toContain(secret);
});

it("logs user, operation and status, and never a key, a body, a query or a path", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const { id } = await ann.did(createMemory, { ...NOTE, title: "Hush title" });
  const secret = "mg_live_hushhushhush";

  await ask(`${url}/v1/memories/${id}?hush=${secret}`, { key: ann.key });
  await ask(`${url}/v1/memories/${secret}`, { key: ann.key, method: "PATCH", body: { title: "Hush body" } });
  await ask(`${url}/v1/memories`, { key: secret, body: { ...NOTE, title: "Hush body" } });
  await ask(`${url}/v1/memories`, { key: ann.key, body: '{"title": "Hush body' });
  await ask(`${url}/teams/invitations/${secret}/accept`, { key: ann.key, method: "POST" });
  await ask(`${url}/graphql`, { key: ann.key, body: { query: `{ memory(id: "${secret}") { title } }` } });

  await expect.poll(() => world.log.length).toBe(6);
  const lines = world.log.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines[1]).toMatchObject({
    method: "PATCH",
    operations: ["updateMemory"],
    status: 404,
    failures: ["not_found"],
  });
  expect(lines.map((line) => line["user_id"] === ann.caller.userId)).toEqual([true, true, false, true, true, true]);
  for (const hidden of [ann.key, "hush", id, "title", "/v1", "invitations"]) {
    expect(world.log.join("").toLowerCase()).not.toContain(hidden.toLowerCase());
  }
});
