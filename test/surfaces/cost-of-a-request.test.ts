import { createHook } from "node:async_hooks";
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { getMetadataStorage } from "class-validator";
import express from "express";
import {
  GraphQLObjectType,
  GraphQLSchema,
  GraphQLString,
  TypeInfo,
  execute,
  getIntrospectionQuery,
  parse,
} from "graphql";
import { Lexer } from "graphql/language/lexer.js";
import { Parser } from "graphql/language/parser.js";
import pg from "pg";
import { expect, it, onTestFinished, vi } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { AnswerTooLarge } from "../../src/operation/answer-budget.js";
import { selectedFields } from "../../src/operation/selection.js";
import { graphqlSchema, operations, relations } from "../../src/operations.js";
import { allStatements } from "../../src/platform/database/statement.js";
import { FieldErrors } from "../../src/surfaces/graphql/field-errors.js";
import { buildGraphQLSchema } from "../../src/surfaces/graphql/schema.js";
import { Turns } from "../../src/surfaces/turns.js";
import { type Ask, ask } from "../support/http.js";
import { messageOf } from "../support/mcp.js";
import { aLink, aMemory, manyLinks, manyMemories, memoriesTitled } from "../support/memories.js";
import { PATIENT } from "../support/patience.js";
import { countTrips } from "../support/round-trips.js";
import { openConnection, nextAnswer } from "../support/socket.js";
import { type World, createWorld } from "../support/world.js";

/** Optimizations change no answer, so these tests count what a request costs. They never measure time. */

type Request = Ask & { readonly path: string };

const NOTE = { type: "general", title: "A note", content: "Something." };
const rest = (path: string, body?: object): Request => ({ path, ...(body && { body }) });
const graphql = (query: string, variables = {}): Request => ({ path: "/graphql", body: { query, variables } });
const mcp = (name: string, args: object): Request => ({
  path: "/mcp",
  ...messageOf("tools/call", { name, arguments: args }),
});

/** The most frequent requests, for a memory with a relationship. */
const requestsFor = (id: string) => ({
  "REST get": rest(`/v1/memories/${id}`),
  "REST related": rest(`/v1/memories/${id}/related`),
  "REST search": rest("/v1/memories/search?query=payments"),
  "REST list": rest("/v1/memories"),
  "REST create": rest("/v1/memories", NOTE),
  "GraphQL get": graphql(
    `{ memory(id: "${id}") { id type title content summary tags importance confidence version createdAt updatedAt } }`,
  ),
  "GraphQL related": graphql(`{ relatedMemories(id: "${id}") { memories { memoryId title } } }`),
  "GraphQL search": graphql('{ searchMemories(query: "payments") { memories { memoryId title } } }'),
  "GraphQL nested": graphql(
    `{ memory(id: "${id}") { relationships { memory { content relationships { memory { title } } } } } }`,
  ),
  "GraphQL create": graphql("mutation($input: CreateMemoryInput!) { createMemory(input: $input) { id } }", {
    input: NOTE,
  }),
  "MCP get": mcp("get_memory", { id }),
  "REST export": rest("/v1/export"),
  "alias get": rest(`/memories/${id}`),
});

async function memoryIn(world: World) {
  const ann = await world.user();
  const [problem, solution] = await memoriesTitled(ann, "Payments time out", "Retry with backoff");
  await aLink(ann, solution, problem, { relationshipType: "SOLVES" });
  const ends = { from_memory_id: problem.id, to_memory_id: solution.id };
  const link = (type: string) => rest("/v1/relationships", { ...ends, relationship_type: type });
  return { key: ann.key, requests: requestsFor(problem.id), link };
}

const send = (url: string, key: string, { path, headers, ...request }: Request, more: Ask["headers"] = {}) =>
  ask(url + path, { key, ...request, headers: { ...headers, ...more } });

/** The lowest of several measurements, because the server sometimes does background work. */
async function leastOf<Measured>(measure: () => Promise<Measured>, size: (one: Measured) => number): Promise<Measured> {
  let least = await measure();
  for (let times = 1; times < 8; times++) {
    const next = await measure();
    if (size(next) < size(least)) least = next;
  }
  return least;
}

/** The name of a declared statement, or the verb of one of Prisma's. A statement without a name is always planned. */
const nameOf = (query: unknown): string => {
  const { text = String(query), name } = query as Partial<pg.QueryConfig>;
  const known = allStatements().find((statement) => statement.text === text)?.name ?? text.trim().split(/\s/)[0];
  return `${known}${name ? "" : " without a name"}`;
};

const SEARCH = ["search_words", "search_words_alike", "search_hits"];
const page = (table: string) => ["SET without a name", `${table}_between`, "RESET without a name"];
const NEW = ["BEGIN", "idempotency_lock_results", "create_memory", "idempotency_keep_result", "COMMIT"];
const LINK = ["BEGIN", "meant_memories", "relationships_of_each", "store_relationships", "settle_change", "COMMIT"];
const REPEATED = ["BEGIN", "idempotency_lock_results", "COMMIT"];

it("takes few statements and round trips to the database: it does not wait for BEGIN or to keep a result", async () => {
  await using world = await createWorld();
  await using way = await countTrips(world.databaseUrl);
  const { url } = await world.serve({}, way.url, {}, { ...PATIENT });
  const { key, requests, link } = await memoryIn(world);
  const queries = vi.spyOn(pg.Client.prototype, "query");
  onTestFinished(() => queries.mockRestore());
  let count = 0;
  const costOf = (make: () => Request, headers: () => Ask["headers"] = () => ({})) =>
    leastOf(
      async () => {
        queries.mockClear();
        const before = way.trips;
        const { status } = await send(url, key, make(), headers());
        expect(status).toBeLessThan(300);
        const names = queries.mock.calls.map(([query]: readonly unknown[]) => nameOf(query));
        const statements = names.filter((name) => name !== "callers_by_keys");
        // Once, and again for each further page of a stream.
        const pages = statements.filter((name) => name.endsWith("_between")).length;
        expect(names.length - statements.length).toBe(Math.max(1, pages));
        return { trips: way.trips - before, statements };
      },
      ({ trips, statements }) => trips + statements.length,
    );
  const costs: Record<string, unknown> = {};
  for (const [name, request] of Object.entries(requests)) costs[name] = await costOf(() => request);
  costs["REST link"] = await costOf(() => link(`TYPE_${count++}`));
  for (const door of ["REST", "GraphQL"] as const) {
    const create = () => requests[`${door} create`];
    costs[`${door} create with a new key`] = await costOf(create, () => ({ "idempotency-key": `${door}${count++}` }));
    costs[`${door} create with a key again`] = await costOf(create, () => ({ "idempotency-key": door }));
  }

  expect(costs).toEqual({
    "REST get": { trips: 2, statements: ["memories_with_links"] },
    "alias get": { trips: 2, statements: ["memories_with_links"] },
    "REST related": { trips: 2, statements: ["related_memories_1"] },
    "REST search": { trips: 4, statements: SEARCH },
    "REST list": { trips: 4, statements: ["BEGIN", "SELECT", "SELECT", "COMMIT"] },
    "REST create": { trips: 2, statements: ["create_memory"] },
    "GraphQL get": { trips: 2, statements: ["memories_alone"] },
    "GraphQL related": { trips: 2, statements: ["related_memories_1"] },
    "GraphQL search": { trips: 4, statements: SEARCH },
    "GraphQL nested": { trips: 3, statements: ["memories_with_relationships", "memories_with_relationships"] },
    "GraphQL create": { trips: 2, statements: ["create_memory"] },
    "MCP get": { trips: 2, statements: ["memories_with_links"] },
    "REST export": { trips: 10, statements: ["SELECT", "SELECT", ...page("memory"), ...page("relationship")] },
    "REST link": { trips: 6, statements: LINK },
    "REST create with a new key": { trips: 4, statements: NEW },
    "REST create with a key again": { trips: 3, statements: REPEATED },
    "GraphQL create with a new key": { trips: 4, statements: NEW },
    "GraphQL create with a key again": { trips: 3, statements: REPEATED },
  });
});

it("reads long texts from the database only if they are requested", async () => {
  await using world = await createWorld();
  await using way = await countTrips(world.databaseUrl);
  const { url } = await world.serve({}, way.url, {}, { ...PATIENT });
  const ann = await world.user();
  const [id = "", other = "", third = ""] = (await manyMemories(world, ann, 3, "x".repeat(50_000))).map(
    (row) => row.id,
  );
  await manyLinks(world, ann, [
    [id, other],
    [third, other],
  ]);
  const bytesOfAnswer = (query: string) =>
    leastOf(
      async () => {
        const before = way.bytes;
        expect((await send(url, ann.key, graphql(query))).body).not.toHaveProperty("errors");
        return way.bytes - before;
      },
      (bytes) => bytes,
    );

  for (const found of [
    `memory(id: "${id}") { title }`,
    `memory(id: "${id}") { relationships { memory { tags } } }`,
    `relatedMemories(id: "${id}") { memories { memory { tags } } }`,
    'searchMemories(query: "note") { memories { memory { tags } } }',
    "memories { memories { title } }",
  ]) {
    expect([found, (await bytesOfAnswer(`{ ${found} }`)) < 10_000]).toEqual([found, true]);
  }
  expect(await bytesOfAnswer(`{ memory(id: "${id}") { content } }`)).toBeGreaterThan(50_000);
  // Two relationships lead to the same memory.
  const each = await bytesOfAnswer("{ memories { memories { relationships { memory { content } } } } }");
  expect(Math.round(each / 50_000)).toBe(3);
});

/** Counts promises, turns of the event loop, proxies of objects, and routes that are compared. */
async function during<Result>(work: () => Promise<Result>) {
  const cost = { promises: 0, turns: 0, proxies: 0, routes: 0 };
  const hook = createHook({
    init(_id, type) {
      if (type === "PROMISE") cost.promises++;
      if (type === "Immediate") cost.turns++;
    },
  });
  using proxies = vi.spyOn(globalThis, "Proxy");
  using routes = vi.spyOn(Route, "match");
  hook.enable();
  const result = await work();
  hook.disable();
  [cost.proxies, cost.routes] = [proxies.mock.calls.length, routes.mock.calls.length];
  return { cost, result };
}

type Cost = Awaited<ReturnType<typeof during>>["cost"];

/** The maximum of each request. Whoever raises it should know why. */
const MOST: Readonly<Record<string, Cost>> = {
  "REST get": { promises: 79, turns: 2, proxies: 0, routes: 30 },
  "REST create": { promises: 77, turns: 2, proxies: 0, routes: 23 },
  "GraphQL get": { promises: 138, turns: 3, proxies: 0, routes: 17 },
  "GraphQL nested": { promises: 230, turns: 4, proxies: 0, routes: 17 },
  "GraphQL create": { promises: 129, turns: 3, proxies: 0, routes: 17 },
  "MCP get": { promises: 89, turns: 2, proxies: 0, routes: 14 },
  "alias get": { promises: 80, turns: 2, proxies: 0, routes: 81 },
};

/** Express's class for what it compares with a request's path. */
const Route = Object.getPrototypeOf(express.Router().use(() => {}).stack[0]) as { match(path: string): boolean };

/** The bytes of a request, sent by a socket so that the client does no other work in this process. */
function bytesOf(key: string, { path, headers = {}, body }: Request): string {
  const text = body === undefined ? "" : JSON.stringify(body);
  const ofBody = body === undefined ? {} : { "Content-Type": "application/json", "Content-Length": text.length };
  const lines = Object.entries({ Host: "localhost", Authorization: `Bearer ${key}`, ...ofBody, ...headers });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return `${body === undefined ? "GET" : "POST"} ${path} HTTP/1.1\r\n${head}\r\n${text}`;
}

it("creates few promises and tries few routes: work without waiting needs no promise", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key, requests } = await memoryIn(world);
  const socket = openConnection(url);
  onTestFinished(() => void socket.destroy());
  const over: Record<string, Cost> = {};
  for (const [name, most] of Object.entries(MOST)) {
    const bytes = bytesOf(key, requests[name as keyof typeof requests]);
    const exchange = () => {
      socket.write(bytes);
      return nextAnswer(socket);
    };
    for (let times = 0; times < 3; times++) expect(await exchange()).toMatch(/^HTTP\/1\.1 20/);
    const { cost } = await leastOf(
      () => during(exchange),
      ({ cost: { promises } }) => promises,
    );
    if (Object.keys(most).some((what) => cost[what as keyof Cost] > most[what as keyof Cost])) over[name] = cost;
  }
  expect(over).toEqual({});
});

/** Counts the calls of methods while a request is answered. */
async function callsDuring(work: () => Promise<unknown>, spied: Readonly<Record<string, Spied>>) {
  const spies = Object.entries(spied).map(([name, [object, method]]) => [name, vi.spyOn(object, method)] as const);
  // Else modules that import a function of Node by its name would still call the function itself.
  syncBuiltinESMExports();
  await work();
  const calls = Object.fromEntries(spies.map(([name, { mock }]) => [name, mock.calls.length]));
  for (const [, spy] of spies) spy.mockRestore();
  syncBuiltinESMExports();
  return calls;
}
type Spied = readonly [object: Record<string, () => unknown>, method: string];
const spied = (object: object, method: string): Spied => [object as Spied[0], method];

/** The null of a form whose field is empty: it takes a walk through the document to tell whether it may stand there. */
const NULL = graphql("query($types: [String!]) { memories(types: $types) { nextCursor } }", { types: null });

it("reads, checks and estimates a GraphQL document once, and prepares types, bounds and names once", async () => {
  await using world = await createWorld();
  const { url, services } = await world.serve();
  const { key, requests: most } = await memoryIn(world);
  const requests = { ...most, "GraphQL null": NULL };
  const watched = {
    reads: spied(Parser.prototype, "parseDocument"),
    looksAtWords: spied(Lexer.prototype, "advance"),
    // Validation and the cost estimate walk through the document with it.
    walks: spied(TypeInfo.prototype, "enter"),
    // A plan is made from the root type, from which graphql-js begins, too.
    plans: spied(GraphQLSchema.prototype, "getRootType"),
    readsMediaTypes: spied(express.request, "is"),
    choosesMediaTypes: spied(express.request, "accepts"),
    namesStatements: spied(crypto, "createHash"),
    collectsBounds: spied(getMetadataStorage(), "getTargetValidationMetadatas"),
    makesLogs: spied(services.log, "child"),
    answersByExpress: spied(express.response, "json"),
  };
  const repeated = ["REST get", "REST create", "REST list", "GraphQL get", "GraphQL create", "GraphQL null", "MCP get"];
  const again: Record<string, object> = {};
  for (const name of repeated as (keyof typeof requests)[]) {
    const answer = async () => expect((await send(url, key, requests[name])).status).toBeLessThan(300);
    // Apollo answers the first one; the second one makes the plan.
    for (let times = 0; times < 2; times++) await answer();
    const calls = Object.entries(await callsDuring(answer, watched)).filter(([, count]) => count > 0);
    if (calls.length > 0) again[name] = Object.fromEntries(calls);
  }
  expect(again).toEqual({});
});

it("estimates a document again for other variables, and measures the schema only once", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await memoryIn(world);
  const aliases = Array.from({ length: 14 }, (_, index) => `t${index}: title`).join(" ");
  const query = `query($limit: Int!) { memories(limit: $limit) { memories { ${aliases} } } }`;
  const pageOf = (limit: number) => send(url, key, graphql(query, { limit }));
  await pageOf(1);
  const again = await callsDuring(() => pageOf(2), {
    walks: spied(TypeInfo.prototype, "enter"),
    measures: spied(GraphQLSchema.prototype, "getTypeMap"),
  });
  expect(again["walks"]).toBeGreaterThan(0);
  expect(again["measures"]).toBeLessThan(10);

  // Few of these estimates are kept.
  for (let limit = 3; limit <= 40; limit++) await pageOf(limit);
  const walks = async (limit: number) =>
    (await callsDuring(() => pageOf(limit), { walks: spied(TypeInfo.prototype, "enter") }))["walks"];
  expect([await walks(1), await walks(40)]).toEqual([0, again["walks"]]);
});

it("reads plain fields without a resolver, also after Apollo has answered: a plugin would give each one", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key, requests } = await memoryIn(world);
  expect(await send(url, key, requests["GraphQL get"])).toMatchObject({ status: 200 });
  const { title, relationships } = ((await graphqlSchema()).getType("Memory") as GraphQLObjectType).getFields();
  expect([title?.resolve, relationships?.resolve]).toEqual([undefined, expect.any(Function)]);
});

it.each(["/openapi.json", "/docs"])("makes and hashes what changes only with a release once: %s", async (path) => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const read = async () => expect((await ask(url + path)).status).toBe(200);
  await read();
  expect(await callsDuring(read, { hashes: spied(crypto, "hash") })).toEqual({ hashes: 0 });
});

it("does not check the schema again at each start, for which it would be introspected", async () => {
  const { reads } = await callsDuring(() => buildGraphQLSchema(operations, relations), {
    reads: spied(Parser.prototype, "parseDocument"),
  });
  expect(reads).toBe(0);
});

it("computes the answer to introspection once, then repeats it", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const introspect = () => ask(`${url}/graphql`, { body: { query: getIntrospectionQuery() } });
  const watched = { fields: spied(GraphQLObjectType.prototype, "getFields") };
  const first = await callsDuring(introspect, watched);
  const again = await callsDuring(introspect, watched);
  expect(first["fields"]).toBeGreaterThan(50);
  expect(again["fields"]).toBeLessThan(5);
});

it("computes the selected fields of a document once, unless they depend on variables", async () => {
  const schema = await graphqlSchema();
  const asked: Array<ReadonlySet<string>> = [];
  const fieldResolver: Parameters<typeof execute>[0]["fieldResolver"] = (_source, _args, _context, info) => {
    asked.push(selectedFields(info));
    return null;
  };
  const field = schema.getQueryType()?.getFields()["viewer"];
  const resolve = field?.resolve;
  if (field) delete field.resolve;
  const documents = ["{ viewer { id plan } }", "query($deep: Boolean!) { viewer { id plan @include(if: $deep) } }"];
  for (const document of documents.map((text) => parse(text))) {
    for (const deep of [true, false]) void execute({ schema, document, variableValues: { deep }, fieldResolver });
  }
  Object.assign(field ?? {}, { resolve });
  expect(asked.map((fields) => [...fields].join())).toEqual(["id,plan", "id,plan", "id,plan", "id"]);
  expect(asked[1]).toBe(asked[0]);
});

it("refuses a list that is too long unread, also in a variable", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await memoryIn(world);
  const many = Array.from({ length: 4_000 }, () => "x");
  const memories = many.map((content) => ({ type: "task", title: content, content }));
  const tooLong: Record<string, Request> = {
    list: {
      path: "/graphql",
      body: { query: "query ($t: [String!]) { memories(types: $t) { nextCursor } }", variables: { t: many } },
    },
    input: {
      path: "/graphql",
      body: {
        query: "mutation ($i: CreateMemoriesInput!) { createMemories(input: $i) { memoryIds } }",
        variables: { i: { memories } },
      },
    },
    nested: { path: "/v1/memories/bulk", body: { memories: [{ ...memories[0], tags: many }] } },
  };
  for (const [name, request] of Object.entries(tooLong)) {
    const calls = await callsDuring(() => send(url, key, request), { reads: spied(GraphQLString, "parseValue") });
    expect([name, calls["reads"]]).toEqual([name, expect.toSatisfy((reads: number) => reads < 10)]);
  }
});

it("creates errors only for the first fields that fail, and one for all that do not fit", () => {
  const place = { fieldNodes: [], path: { key: "field", prev: undefined, typename: undefined } };
  const errors = new FieldErrors();
  const locate = (error: Error) => errors.locate(error, place);
  const located = Array.from({ length: 1_000 }, () => locate(new Error("It failed.")));
  const full = locate(new AnswerTooLarge());
  expect(new Set(located).size).toBe(LIMITS.refusal.issues);
  expect([errors.noRoom, [...errors.rootsWithoutRoom]]).toEqual([full, ["field"]]);
  for (const error of [new AnswerTooLarge(), new Error("It failed.")]) expect(locate(error)).toBe(full);
});

it("never changes the prototype of a request or response", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key, requests } = await memoryIn(world);
  await send(url, key, requests["REST get"]);
  const changed: unknown[] = [];
  const setPrototypeOf = Object.setPrototypeOf;
  using _spy = vi.spyOn(Object, "setPrototypeOf").mockImplementation((object: object, prototype) => {
    if (Object.getPrototypeOf(object) !== prototype) changed.push(object.constructor.name);
    return setPrototypeOf(object, prototype) as unknown;
  });

  for (const name of ["REST get", "GraphQL get", "MCP get"] as const) await send(url, key, requests[name]);

  expect(changed).toEqual([]);
});

it("lets other events run while it writes a long answer, by REST and by GraphQL", async () => {
  await using world = await createWorld();
  // One piece in each turn, however fast the machine is.
  const { url } = await world.serve({}, undefined, { turnMs: 0 });
  const ann = await world.user();
  await manyMemories(world, ann, 60, "x".repeat(50_000));
  const query = "{ memories(limit: 60) { memories { content } } }";
  // The first time Apollo answers it, then it is plain.
  const requests = [rest("/v1/memories?limit=60"), graphql(query), graphql(query)];
  for (const request of requests) {
    const { cost, result } = await during(() => send(url, ann.key, request));
    expect(result.status).toBe(200);
    // Its list is made in as many pieces, and its text encoded in as many.
    expect(cost.turns).toBeGreaterThan(40);
  }
});

it("lets other events run while it reads the schema for an introspection", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({}, undefined, { turnMs: 0 });
  const { key } = await world.user();
  const query = "{ __schema { types { name fields { name args { name } } } } }";
  await send(url, key, graphql(query));

  const { cost, result } = await during(() =>
    send(
      url,
      key,
      graphql(`
        ${query}
        # Not in the cache
      `),
    ),
  );

  expect(result.status).toBe(200);
  expect(cost.turns).toBeGreaterThan(100);
});

it("lets other events run while it checks many long memories, by REST and by GraphQL", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({}, undefined, { turnMs: 0 });
  const { key } = await world.user();
  const create = "mutation($input: CreateMemoriesInput!) { createMemories(input: $input) { memoryIds } }";
  const requestsWith = (content: string) => {
    const input = { memories: Array.from({ length: 10 }, () => ({ ...NOTE, content })) };
    return [rest("/v1/memories/bulk", input), graphql(create, { input })];
  };
  const turnsOf = async (request: Request) => {
    const { cost, result } = await during(() => send(url, key, request));
    expect(result.status).toBeLessThan(300);
    return cost.turns;
  };
  const long = requestsWith("a\u0301\u0316".repeat(16_000));
  for (const [index, short] of requestsWith("Short.").entries()) {
    const few = await leastOf(
      () => turnsOf(short),
      (turns) => turns,
    );
    expect((await turnsOf(long[index] ?? short)) - few).toBeGreaterThanOrEqual(3);
  }
});

it.each(["jsonl", "memorygraph"])(
  "shares turns while it writes and encodes a page of an export: %s",
  async (format) => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const waitsFor = async (content: string) => {
      const ann = await world.user();
      for (let count = 0; count < 20; count++) await aMemory(ann, { content });
      const { waits = 0 } = await callsDuring(() => send(url, ann.key, rest(`/v1/export?format=${format}`)), {
        waits: spied(Turns.prototype, "waitForTurn"),
      });
      return waits;
    };

    // A million characters, in pieces of an eighth of a million: seven of each.
    expect((await waitsFor("\u4e00".repeat(50_000))) - (await waitsFor("Short."))).toBeGreaterThanOrEqual(12);
  },
);

it("shares the turns of the event loop with other requests while it checks a large input, at every door", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  const marks = "a\u0301\u0316".repeat(16_000);
  const ids = Array.from({ length: 500 }, () => "a\u0301\u0316".repeat(200));
  const memories = Array.from({ length: 5 }, () => ({ ...NOTE, content: marks }));
  const share = "mutation($input: ShareMemoriesInput!) { shareMemories(input: $input) { memories } }";
  const requests = {
    "REST bulk": rest("/v1/memories/bulk", { memories }),
    "REST ids": rest("/v1/memories/share", { ids }),
    "REST ids and a mistake": rest("/v1/memories/share", { ids, unknown: 1 }),
    "GraphQL ids": graphql(share, { input: { ids } }),
    "MCP text and a mistake": mcp("store_memory", {
      ...NOTE,
      title: 5,
      content: marks.repeat(4),
      tags: ids.slice(0, 9),
    }),
  };
  const few: Record<string, number> = {};
  for (const [name, request] of Object.entries(requests)) {
    const { waits = 0 } = await callsDuring(() => send(url, key, request), {
      waits: spied(Turns.prototype, "waitForTurn"),
    });
    if (waits < 2) few[name] = waits;
  }
  expect(few).toEqual({});
});

it("lets the relations of many memories share turns: where every turn is long, each would wait for one of its own", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await manyMemories(world, ann, 100);
  const query = "{ memories(limit: 100) { memories { relationships { type } } } }";

  const { waits } = await callsDuring(() => send(url, ann.key, graphql(query)), {
    waits: spied(Turns.prototype, "waitForTurn"),
  });

  // Seven for the relations, and as many for the list, or some more on a busy machine; 112 if they shared none.
  expect(waits).toBeLessThan(50);
});

it("reads no hits from the database for an answer that only counts them", async () => {
  await using world = await createWorld();
  await using way = await countTrips(world.databaseUrl);
  const { url } = await world.serve({}, way.url, {}, { ...PATIENT });
  const ann = await world.user();
  await manyMemories(world, ann, 300);
  const search = async (fields: string) => {
    const query = `{ searchMemories(query: "note", limit: 1000) { ${fields} } }`;
    const { bytes, body } = await leastOf(
      async () => {
        const before = way.bytes;
        const answer = await send(url, ann.key, graphql(query));
        return { bytes: way.bytes - before, body: answer.body };
      },
      (one) => one.bytes,
    );
    return {
      isLittle: bytes < 10_000,
      found: (body as { data: { searchMemories: object } }).data.searchMemories,
    };
  };

  expect(await search("total totalIsCapped meaning")).toEqual({
    isLittle: true,
    found: { total: 300, totalIsCapped: false, meaning: false },
  });
  expect(await search("total truncated")).toEqual({
    isLittle: false,
    found: { total: 300, truncated: false },
  });
});
