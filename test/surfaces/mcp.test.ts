import { describe, expect, it } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { NIL_ID } from "../../src/operation/id.js";
import { AGENT_INSTRUCTIONS } from "../../src/features/memories/index.js";
import { ask } from "../support/http.js";
import { waitingForLocks } from "../support/locks.js";
import { NEW, OLD, askMcp, callTool, messageOf, offered } from "../support/mcp.js";
import { createWorld } from "../support/world.js";

const note = { type: "problem", title: "Payments time out", content: "Under load, after 30 s." };

describe("a client of an earlier revision", () => {
  it.each(["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])("is answered in its own: %s", async (revision) => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const { key } = await world.user();
    const asOld = { revision };

    const hello = await ask(`${url}/mcp`, {
      key,
      body: { ...messageOf("initialize", { protocolVersion: revision, capabilities: {} }, revision).body, id: "a" },
    });
    expect(hello.status).toBe(200);
    expect(hello.headers.get("mcp-session-id")).toBeNull();
    expect(hello.body).toEqual({
      jsonrpc: "2.0",
      id: "a",
      result: {
        protocolVersion: revision,
        capabilities: { tools: {} },
        serverInfo: { name: "memory-graph-gateway", title: "Memory Graph", version: expect.any(String) as string },
        instructions: AGENT_INSTRUCTIONS,
      },
    });
    const { status, body } = await ask(`${url}/mcp`, {
      key,
      body: { jsonrpc: "2.0", method: "notifications/initialized" },
    });
    expect([status, body]).toEqual([202, ""]);
    expect((await askMcp(url, key, "ping", {}, asOld)).body).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
    const listed = await askMcp(url, key, "tools/list", {}, asOld);
    expect(Object.keys(listed.body.result ?? {})).toEqual(["tools"]);
    const called = await askMcp(url, key, "tools/call", { name: "store_memory", arguments: note }, asOld);
    expect(Object.keys(called.body.result ?? {})).toEqual(["content", "structuredContent"]);
    // Its revision has no such method; there, that is no HTTP error.
    const unknown = await askMcp(url, key, "server/discover", {}, asOld);
    expect([unknown.status, unknown.body.error?.code]).toEqual([200, -32_601]);
    expect(world.bugs).toEqual([]);
  });

  it("gets the newest of these revisions when it asks for an unknown one", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const { key } = await world.user();
    const { body } = await ask(`${url}/mcp`, {
      key,
      body: { jsonrpc: "2.0", id: 0, method: "initialize", params: { protocolVersion: "2020-01-01" } },
    });
    expect(body).toMatchObject({ id: 0, result: { protocolVersion: OLD } });
  });

  it.each([OLD, NEW, "2099-01-01"])("agrees on a revision whatever its header names already: %s", async (named) => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const { key } = await world.user();
    const { body: hello } = messageOf("initialize", { protocolVersion: OLD, capabilities: {} }, OLD);
    const { status, body } = await ask(`${url}/mcp`, { key, body: hello, headers: { "mcp-protocol-version": named } });

    expect([status, body]).toMatchObject([200, { result: { protocolVersion: OLD } }]);
  });

  it("may name its revision in `_meta`, too", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const { key } = await world.user();
    const _meta = { "io.modelcontextprotocol/protocolVersion": OLD };
    const { status, body } = await askMcp(url, key, "tools/list", { _meta }, { revision: OLD });

    expect([status, Object.keys(body.result ?? {})]).toEqual([200, ["tools"]]);
  });
});

describe("a client of the newest revision", () => {
  it("needs no handshake, and learns the type of each result and how long it is valid", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const { key } = await world.user();
    const _meta = { "io.modelcontextprotocol/serverInfo": expect.any(Object) as object };
    const cached = { resultType: "complete", ttlMs: LIMITS.mcp.listKeptMs, cacheScope: "private", _meta };

    const discovered = await askMcp(url, key, "server/discover");
    expect(discovered.body.result).toEqual({
      ...cached,
      supportedVersions: [NEW],
      capabilities: { tools: {} },
      instructions: AGENT_INSTRUCTIONS,
    });
    const listed = await askMcp(url, key, "tools/list");
    expect(listed.body.result).toEqual({ ...cached, tools: expect.any(Array) as unknown[] });
    const called = await askMcp(url, key, "tools/call", { name: "store_memory", arguments: note });
    expect(called.body.result).toMatchObject({ resultType: "complete", _meta });
    for (const method of ["initialize", "ping", "subscriptions/listen", "toString"]) {
      const { status, body } = await askMcp(url, key, method);
      expect([method, status, body.error?.code, body.id]).toEqual([method, 404, -32_601, 1]);
    }
    expect(world.bugs).toEqual([]);
  });

  it("takes a notification that says nothing of its client", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const { key } = await world.user();
    const body = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } };

    expect((await ask(`${url}/mcp`, { key, body, headers: { "mcp-protocol-version": NEW } })).status).toBe(202);
  });

  it("is refused when its headers and its message differ", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const { key } = await world.user();
    const { body, headers } = messageOf("tools/call", { name: "get_memory" });
    const { _meta: meta, ...without } = body.params as { _meta: object };
    const send = async (changed: object, message: object = body) => {
      const sent = { ...headers, ...changed } as Record<string, string>;
      const answer = await ask(`${url}/mcp`, { key, body: message, headers: sent });
      const { error } = answer.body as { error: { code: number; data?: unknown } };
      return [answer.status, error.code, error.data];
    };

    const mismatch = [400, -32_020, undefined];
    expect(await send({ "mcp-method": "tools/list" })).toEqual(mismatch);
    expect(await send({ "mcp-name": "delete_memory" })).toEqual(mismatch);
    expect(await send({ "mcp-protocol-version": OLD })).toEqual(mismatch);
    for (const name of Object.keys(headers)) {
      const { [name as keyof typeof headers]: _left, ...others } = headers as Record<string, string>;
      const { status, body: said } = await ask(`${url}/mcp`, { key, body, headers: others });
      expect([name, status, said]).toMatchObject([name, 400, { error: { code: -32_020 } }]);
    }
    const encoded = `=?base64?${Buffer.from("get_memory").toString("base64")}?=`;
    const { status } = await ask(`${url}/mcp`, { key, body, headers: { ...headers, "mcp-name": encoded } });
    expect(status).toBe(200);

    expect(await send({}, { ...body, params: without })).toEqual([400, -32_602, undefined]);
    const noCapabilities = { "io.modelcontextprotocol/protocolVersion": NEW };
    expect(await send({}, { ...body, params: { ...without, _meta: noCapabilities } })).toEqual([
      400,
      -32_602,
      undefined,
    ]);
    const future = { ...meta, "io.modelcontextprotocol/protocolVersion": "2099-01-01" };
    expect(
      await send({ "mcp-protocol-version": "2099-01-01" }, { ...body, params: { ...without, _meta: future } }),
    ).toEqual([400, -32_022, { supported: [NEW], requested: "2099-01-01" }]);
    expect(await send({ "mcp-protocol-version": "2099-01-01" }, { ...body, params: without })).toEqual([
      400,
      -32_022,
      { supported: [NEW, OLD, "2025-06-18", "2025-03-26", "2024-11-05"], requested: "2099-01-01" },
    ]);
    expect(world.bugs).toEqual([]);
  });
});

describe("an error", () => {
  it("of HTTP or of the protocol has its status, and the id of the message if that can be read", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const { key } = await world.user();
    const send = async (wish: object) => {
      const { status, body } = await ask(`${url}/mcp`, { key, method: "POST", ...wish });
      const { error, id } = body as { error?: { code: number; message: string }; id?: unknown };
      expect(error?.message).toMatch(/^[A-Z`].*\.$/s);
      return [status, error?.code, id];
    };
    const call = { jsonrpc: "2.0", id: 7, method: "tools/list" };

    const large = { ...call, params: { filler: "x".repeat(LIMITS.mcp.refusedBodyBytes) } };
    for (const wrong of [undefined, "mg_live_nobody"]) {
      expect(await send({ key: wrong, body: call })).toEqual([401, -32_600, 7]);
      expect(await send({ key: wrong, body: "{" })).toEqual([401, -32_600, undefined]);
      expect(await send({ key: wrong, body: large })).toEqual([401, -32_600, undefined]);
      expect(await send({ key: wrong, method: "GET" })).toEqual([401, -32_600, undefined]);
    }
    expect(await send({ body: call, headers: { origin: "https://evil.example" } })).toEqual([403, -32_600, 7]);
    expect(await send({ method: "GET" })).toEqual([405, -32_600, undefined]);
    expect(await send({ method: "DELETE" })).toEqual([405, -32_600, undefined]);
    expect(await send({ body: "x".repeat(LIMITS.http.bodyBytes + 1) })).toEqual([413, -32_600, undefined]);
    expect(await send({ body: "{}", headers: { "content-type": "text/plain" } })).toEqual([415, -32_600, undefined]);
    expect(await send({ body: "{" })).toEqual([400, -32_700, undefined]);
    expect(await send({ body: "[".repeat(LIMITS.json.depth + 1) })).toEqual([400, -32_700, undefined]);
    expect(await send({})).toEqual([400, -32_600, undefined]);
    expect(await send({ body: [call, call] })).toEqual([400, -32_600, undefined]);
    expect(await send({ body: { ...call, jsonrpc: "1.0" } })).toEqual([400, -32_600, 7]);
    expect(await send({ body: { ...call, method: 1 } })).toEqual([400, -32_600, 7]);
    expect(await send({ body: { ...call, params: [] } })).toEqual([400, -32_600, 7]);
    expect(await send({ body: { jsonrpc: "2.0", id: 7, result: {} } })).toEqual([400, -32_600, 7]);
    for (const id of [null, 1.5, {}, "x".repeat(LIMITS.mcp.idLength + 1)]) {
      expect(await send({ body: { ...call, id } })).toEqual([400, -32_600, undefined]);
    }
    const wrongKey = { key, method: "POST", body: call, headers: { "idempotency-key": "two words" } };
    const { status, body } = await ask(`${url}/mcp`, wrongKey);
    expect([status, body]).toEqual([400, expect.objectContaining({ id: 7 })]);
    const { headers } = await ask(`${url}/mcp`, { key });
    expect(headers.get("allow")).toBe("POST");
    expect(world.bugs).toEqual([]);
  });

  it("is never ours, whatever JSON stands at any place of a message", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const odd = [null, 0.5, "toString", [], { toString: 1, toJSON: 1, valueOf: 1, length: -1 }];
    const calls = [
      { name: "store_memory", arguments: { ...note, tags: ["a"], context: { at: "work" } } },
      { name: "search", arguments: { query: "note" } },
      { name: "fetch", arguments: { id: `${NIL_ID}#1` } },
    ];

    const failed: unknown[] = [];
    for (const revision of [OLD, NEW]) {
      const { key } = await world.user({ plan: "pro" });
      for (const params of calls) {
        const { headers, body } = messageOf("tools/call", params, revision);
        for (const message of odd.flatMap((value) => withEachReplaced(body, value))) {
          const { status } = await ask(`${url}/mcp?tools=${params.name}`, { key, headers, body: message });
          if (status >= 429) failed.push([status, message]);
        }
      }
    }

    expect(failed).toEqual([]);
    expect(world.bugs).toEqual([]);
  });

  it("that an agent can correct is an answer that says how", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const { key } = await world.user();
    const call = (name: string, args: object) => callTool(url, key, name, args);

    const first = await call("store_memory", note);
    const second = await call("store_memory", { ...note, title: "Another" });
    const link = { from_memory_id: first.answer["id"], to_memory_id: second.answer["id"], relationship_type: "CAUSES" };
    expect(await call("create_relationship", link)).toMatchObject({ isError: false });
    const errors = [
      await call("get_memory", { id: "nothing" }),
      await call("create_relationship", link),
      await call("search_memories", { query: "a", limit: 21 }),
      await call("search_memories", { query: "a", min_importance: 0 }),
      await call("search_memories", { words: "a" }),
      await call("get_memory", { id: first.answer["id"], content_from: -1 }),
      await call("search_memories", [] as object),
    ];
    expect(errors.every(({ isError }) => isError)).toBe(true);
    const said = errors.map(({ answer }) => answer["error"] as { code: string; message: string });
    expect(said.map(({ code }) => code)).toEqual([
      "not_found",
      "conflict",
      "bad_request",
      "bad_request",
      "bad_request",
      "bad_request",
      "bad_request",
    ]);
    // With the names that an agent knows, not with routes.
    expect(said[0]?.message).toContain("`search_memories` finds memories");
    expect(said[1]?.message).toMatch(/ its id is in the details\.$/);
    expect(said[2]?.message).toBe("limit: must be from 1 to 20");
    expect(world.bugs).toEqual([]);
  });

  it("is 401, as for any key that has ended, when the caller's account is deleted during the call", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const { key, caller } = await world.user();
    const holder = await world.database.pool.connect();
    await holder.query("BEGIN");
    await holder.query("SELECT FROM graph_root WHERE graph_id = $1 FOR UPDATE", [caller.personalGraphId]);

    const called = askMcp(url, key, "tools/call", { name: "store_memory", arguments: note });
    await expect.poll(() => waitingForLocks(world)).toBe(1);
    await holder.query("DELETE FROM graph_root WHERE graph_id = $1", [caller.personalGraphId]);
    await holder.query("COMMIT");
    holder.release();

    const { status, body } = await called;
    expect([status, body.error?.code]).toEqual([401, -32_600]);
    expect(world.bugs).toEqual([]);
  });

  it("for a tool that the key's scopes forbid is the one for unknown tools, and no list shows the tool", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const { key } = await world.user({ scopes: ["memories:read"] });
    const { body } = await askMcp(url, key, "tools/list");
    const names = ((body.result?.["tools"] ?? []) as Array<{ name: string }>).map(({ name }) => name);
    const reading = offered.filter(({ permission }) => permission === "memories:read");

    expect(names).toEqual(reading.map(({ mcp }) => mcp?.name));
    const answers = [];
    for (const name of ["store_memory", "nothing_at_all"]) {
      const answer = await askMcp(url, key, "tools/call", { name, arguments: note });
      answers.push([answer.status, answer.body.error?.code, answer.body.error?.message.replace(name, "x")]);
    }
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]).toEqual([
      200,
      -32_602,
      `Unknown tool: x. With this key at this address there are: ${names.join(", ")}.`,
    ]);
    expect(world.bugs).toEqual([]);
  });
});

describe("the budget", () => {
  it("is charged once for each message; when it is used up, a call gets that as an answer", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const { key } = await world.user({ plan: "free" });
    const leftAfter = async (answer: Promise<{ headers: Headers }>) =>
      Number(/r=(\d+)/.exec((await answer).headers.get("ratelimit") ?? "")?.[1]);
    const call = () => askMcp(url, key, "tools/call", { name: "search_memories", arguments: { query: "a" } });

    expect(await leftAfter(call())).toBe(59);
    expect(await leftAfter(askMcp(url, key, "tools/list"))).toBe(58);
    expect(await leftAfter(ask(`${url}/mcp`, { key, body: "{" }))).toBe(57);
    expect(await leftAfter(ask(`${url}/mcp`, { key, body: { jsonrpc: "2.0", method: "notifications/x" } }))).toBe(56);
    expect(await leftAfter(ask(`${url}/mcp`, { key }))).toBe(55);
    while ((await leftAfter(call())) > 0);

    const { status, headers, body } = await call();
    expect([status, headers.get("retry-after")]).toEqual([200, expect.stringMatching(/^\d+$/)]);
    expect(body.result?.["isError"]).toBe(true);
    expect((await callTool(url, key, "search_memories")).answer).toEqual({
      error: {
        code: "rate_limited",
        message: expect.stringMatching(/^Too many requests\. Try again in \d+ s\.$/) as string,
      },
    });
    // Agents do not wait for these, so they get an HTTP error.
    expect((await askMcp(url, key, "tools/list")).status).toBe(429);
    expect((await ask(`${url}/mcp`, { key })).status).toBe(429);
    const large = { name: "search_memories", arguments: { query: "a".repeat(LIMITS.mcp.refusedBodyBytes) } };
    expect((await askMcp(url, key, "tools/call", large)).status).toBe(429);
    expect(world.bugs).toEqual([]);
  });
});

describe("pages of other origins", () => {
  it("are refused unless the configuration allows them", async () => {
    await using world = await createWorld();
    const { url } = await world.serve({ ALLOWED_ORIGINS: "https://app.example.com" });
    const { key } = await world.user();
    const from = (origin: string) => askMcp(url, key, "tools/list", {}, { headers: { origin } });

    expect((await from("https://app.example.com")).status).toBe(200);
    for (const origin of ["https://evil.example", "null", "https://app.example.com.evil.example"]) {
      const { status, body } = await from(origin);
      const refusal = {
        reason: "foreign_origin",
        message: expect.stringContaining("operator of this service") as string,
      };
      expect([origin, status, body.error?.data]).toMatchObject([origin, 403, refusal]);
    }
  });
});

it("answers 404 without key and charge where clients look for an authorization server", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const paths = [
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-authorization-server/mcp",
    "/.well-known/openid-configuration",
    "/mcp/.well-known/openid-configuration",
    "/register",
  ];
  // More than an address may send without a key.
  for (let round = 0; round <= LIMITS.budgets.keylessPerAddress / paths.length; round++) {
    await Promise.all(paths.map((path) => ask(url + path)));
  }
  for (const path of paths) {
    for (const wish of [{}, { body: {} }, { key: "mg_live_wrong" }]) {
      const { status, headers } = await ask(url + path, wish);
      expect([path, status, headers.get("ratelimit")]).toEqual([path, 404, null]);
    }
  }
});

it("tells a program that registers after its key was refused that the key is wrong, as OAuth writes errors", async () => {
  await using world = await createWorld();
  const { url: withKeys } = await world.serve();
  const { url: withOAuth } = await world.serve({ PUBLIC_URL: "https://memory.example.com" });
  const register = async (url: string) => {
    const { status, body } = await ask(`${url}/register`, { body: { redirect_uris: [] } });
    return { status, ...(body as { readonly error: string; readonly error_description: string }) };
  };

  const byKey = await register(withKeys);
  const byOAuth = await register(withOAuth);

  const refusal = { status: 404, error: "invalid_request" };
  expect(byKey).toEqual({
    ...refusal,
    error_description: expect.stringMatching(/^`\/mcp` takes an API key/) as string,
  });
  const elsewhere = "A program that takes no key connects at https://memory.example.com/mcp/oauth instead.";
  expect(byOAuth).toEqual({ ...refusal, error_description: `${byKey.error_description} ${elsewhere}` });
});

it("answers 404 before 401 at every path that does not exist", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  for (const path of [
    "/nothing",
    "/v1/nothing",
    "/mcp/nothing",
    "/teams/x/nothing/y",
    "/authorize",
    "/token",
    "/sse",
  ]) {
    for (const wish of [{}, { body: {} }, { key: "mg_live_wrong" }, { key }]) {
      expect([path, (await ask(url + path, wish)).status]).toEqual([path, 404]);
    }
  }
});

it("answers at its address with a slash at the end, too, as some clients write it", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  const { headers, body } = messageOf("tools/list", {}, OLD);

  const [slashed, plain] = [
    await ask(`${url}/mcp/`, { key, headers, body }),
    await ask(`${url}/mcp`, { key, headers, body }),
  ];

  expect([slashed.status, slashed.body]).toEqual([200, plain.body]);
  expect((await ask(`${url}/mcp/`, { headers, body })).status).toBe(401);
});

/** Copies of an object, each with another one of its values replaced, at any depth. */
function withEachReplaced(whole: object, value: unknown): object[] {
  return Object.entries(whole).flatMap(([name, inner]: [string, unknown]) => {
    const changed = typeof inner === "object" && inner !== null ? withEachReplaced(inner, value) : [];
    return [value, ...changed].map((replaced) => ({ ...whole, [name]: replaced }));
  });
}
