import { getNamedType, isObjectType } from "graphql";
import { expect, it, onTestFinished, vi } from "vitest";
import { createMemories } from "../../src/features/bulk/create-memories.js";
import { LIMITS } from "../../src/limits.js";
import type { Operation } from "../../src/operation/operation.js";
import { outputTypeOf } from "../../src/operation/output.js";
import { scopesOf } from "../../src/operation/permission.js";
import { graphqlSchema, operations } from "../../src/operations.js";
import { Slots } from "../../src/surfaces/slots.js";
import { ask } from "../support/http.js";
import { waitingForLocks } from "../support/locks.js";
import { OLD, messageOf } from "../support/mcp.js";
import { PATIENT } from "../support/patience.js";
import { exchange, openConnection } from "../support/socket.js";
import { type Actor, type World, createWorld } from "../support/world.js";

/** One place for large work, for which nobody waits. */
const ONE_PLACE = {
  largeAtOnce: 1,
  largePerAccount: 1,
  waitForSlotMs: 100,
  stalledAnswerMs: 600_000,
  goneWorkMs: 600_000,
};
const NOTE = { type: "general", title: "A note", content: "It is." };
const LARGE = { path: "/v1/memories", body: JSON.stringify(NOTE).padEnd(200_000, " ") };
const graphql = (query: string) => ({ path: "/graphql", body: { query } });

/** Sends a large body, and lets its request wait within its transaction: the row of its graph is locked. */
async function holdPlace<Running>(world: World, { caller }: Actor, send: () => Running) {
  const client = await world.database.pool.connect();
  await client.query("BEGIN");
  await client.query("SELECT FROM graph_usage WHERE graph_id = $1 FOR UPDATE", [caller.personalGraphId]);
  const running = send();
  await expect.poll(() => waitingForLocks(world), { timeout: 60_000 }).toBe(1);
  const unlock = async () => {
    await client.query("COMMIT");
    client.release();
  };
  return { running, unlock };
}

const post = (path: string, { key }: Actor, body: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n` +
  `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

async function start(limits = {}) {
  const world = await createWorld();
  const { url } = await world.serve({}, undefined, { ...ONE_PLACE, ...limits }, PATIENT);
  const [ann, bob] = [await world.user(), await world.user()];
  for (const one of [ann, bob]) {
    const memories = [
      { ...NOTE, clientId: "linked" },
      { ...NOTE, clientId: "other" },
    ];
    const link = { fromMemoryId: "linked", toMemoryId: "other", relationshipType: "USES" };
    await one.does(createMemories, { memories });
    await one.does(createMemories, { memories: [], relationships: [link] });
  }
  return { world, url, ann, bob };
}

it.each([
  { path: "/v1/memories" },
  { path: "/v1/memories/search?query=note" },
  { path: "/v1/export" },
  { path: "/v1/export/records" },
  { path: "/v1/activity" },
  { path: "/api/v1/memories" },
  LARGE,
  graphql("{ memories(limit: 1) { nextCursor } }"),
  graphql('{ memory(id: "linked") { relationships { memory { content } } } }'),
  { path: "/mcp", ...messageOf("tools/call", { name: "search_memories", arguments: { query: "note" } }, OLD) },
])("waits for a place in the process's memory, and says when to try again: $path", async ({ path, ...request }) => {
  const { url, ann, bob, ...parts } = await start();
  await using world = parts.world;
  const held = await holdPlace(world, ann, () => ask(url + LARGE.path, { key: ann.key, body: LARGE.body }));
  const { key } = bob;

  const refused = await ask(url + path, { ...request, key });
  const small = await ask(`${url}/v1/memories/linked`, { key });
  await held.unlock();
  const { status } = await held.running;
  const later = await ask(url + path, { ...request, key });

  expect(JSON.stringify(refused.body)).toContain("The service is busy");
  expect([small.status, status]).toEqual([200, 201]);
  expect(JSON.stringify(later.body)).not.toContain("busy");
});

it("tells an account that has its share of the places to send less at a time", async () => {
  const { url, ann, ...parts } = await start();
  await using world = parts.world;
  const held = await holdPlace(world, ann, () => ask(url + LARGE.path, { key: ann.key, body: LARGE.body }));

  const paths = ["/v1/memories", "/v1/export", "/v1/export/records"];
  const refused = await Promise.all(paths.map((path) => ask(url + path, { key: ann.key })));
  await held.unlock();

  const atOnce = { status: 429, body: { error: { reason: "too_many_at_once" } } };
  expect(refused).toMatchObject(paths.map(() => atOnce));
  expect((await held.running).status).toBe(201);
});

it("charges a client that leaves while its large GraphQL request waits for a place", async () => {
  const { url, ann, ...parts } = await start({ waitForSlotMs: 60_000 });
  await using world = parts.world;
  const held = await holdPlace(world, ann, () => ask(url + LARGE.path, { key: ann.key, body: LARGE.body }));
  const takes = vi.spyOn(Slots.prototype, "take");
  onTestFinished(() => takes.mockRestore());
  const socket = openConnection(url);
  socket.write(post("/graphql", ann, JSON.stringify({ query: "{ __typename }" }).padEnd(LARGE.body.length, " ")));
  const waits = () => takes.mock.calls.some(([name]) => name === ann.caller.userId);
  await expect.poll(waits, { timeout: 60_000 }).toBe(true);

  socket.destroy();
  await expect.poll(() => world.log.join("").includes('"status":"aborted"'), { timeout: 60_000 }).toBe(true);
  await held.unlock();
  await held.running;
  const { headers } = await ask(`${url}/me`, { key: ann.key });

  expect(headers.get("ratelimit")).toContain(`r=${LIMITS.budgets.requestsByPlan.pro - 3};`);
});

it("keeps the place of a client that is gone until its work ends", async () => {
  const { url, ann, bob, ...parts } = await start();
  await using world = parts.world;
  const send = () => {
    const socket = openConnection(url);
    socket.write(post(LARGE.path, ann, LARGE.body));
    return socket;
  };
  const held = await holdPlace(world, ann, send);
  const list = async () => (await ask(`${url}/v1/memories`, bob)).status;

  held.running.destroy();
  await expect.poll(() => world.log.join("").includes('"status":"aborted"'), { timeout: 60_000 }).toBe(true);
  const meanwhile = await list();
  await held.unlock();

  expect(meanwhile).toBe(503);
  await expect.poll(list, { timeout: 60_000 }).toBe(200);
});

it("gives back places and the memory of bodies when answers are made, whether or not their client reads them", async () => {
  const AT_ONCE = 4;
  const places = {
    largeAtOnce: AT_ONCE,
    largePerAccount: AT_ONCE,
    bodiesBytes: LIMITS.http.bodyBytes + LARGE.body.length / 2,
  };
  const { url, ann, bob, ...parts } = await start(places);
  await using _world = parts.world;
  const memories = Array.from({ length: 60 }, () => ({ ...NOTE, content: "It waits. ".repeat(5_000) }));
  for (let n = 0; n < memories.length; n += 15) await ann.does(createMemories, { memories: memories.slice(n, n + 15) });
  const query = "{ memories(limit: 100) { memories { content } } }";
  const socket = openConnection(url).pause();
  // More than the system buffers.
  socket.write(post("/graphql", ann, JSON.stringify({ query }).padEnd(LARGE.body.length, " ")).repeat(AT_ONCE));
  await new Promise((resolve) => socket.once("readable", resolve));

  const large = { ...bob, body: JSON.stringify(NOTE).padEnd(LIMITS.http.bodyBytes, " ") };
  const send = async () => (await ask(url + LARGE.path, large)).status;
  await expect.poll(send, { timeout: 60_000 }).toBe(201);
  socket.destroy();
});

it("refuses a large body of a GET, which would keep its place until a slow client has read a whole export", async () => {
  const { url, ann, ...parts } = await start();
  await using _world = parts.world;
  const get = (path: string, body: string) => post(path, ann, body).replace("POST", "GET");

  const [exported, listed] = [get("/v1/export", LARGE.body), get("/v1/memories", LARGE.body)];
  const refused = await exchange(url, exported + exported.replace("GET", "HEAD") + listed);

  const ignored = await exchange(url, get("/v1/export", " ".repeat(LIMITS.http.ignoredBodyBytes)));

  expect(refused.match(/HTTP\/1.1 \d+/g)).toEqual(Array(3).fill("HTTP/1.1 413"));
  expect(ignored).toContain('"record":"relationship"');
});

/** At most a megabyte: relationships of one memory, types with their numbers, or a few memories of a path. */
const SMALL = new Set(["memory", "relationshipTypes", "memoryPath", "graphStatistics"]);

it("is declared by every operation that reads many memories", async () => {
  const schema = await graphqlSchema();
  const readsMany = operations.filter((operation) => {
    const fields = Object.values(outputTypeOf(schema, operation).getFields());
    const listed = fields.filter(({ type }) => String(type).startsWith("[") && isObjectType(getNamedType(type)));
    return operation.kind === "query" && reads(operation) && listed.length > 0 && !SMALL.has(operation.name);
  });

  expect(readsMany.map(({ name }) => name)).toEqual(expect.arrayContaining(["searchMemories", "exportAccount"]));
  const small = readsMany.filter(({ isLarge }) => !isLarge).map(({ name }) => name);
  expect(small, "Declare `isLarge: true`, or add it to SMALL if it answers with at most a megabyte.").toEqual([]);
});

const reads = ({ permission }: Operation): boolean => scopesOf(permission).includes("memories:read");
