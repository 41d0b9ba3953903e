import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { expect, it, onTestFinished } from "vitest";
import { memories } from "../../src/features/memories/list-memories.js";
import { searchMemories } from "../../src/features/memories/search/search-memories.js";
import { LIMITS } from "../../src/limits.js";
import type { Services } from "../../src/operation/context.js";
import { CONNECTIONS_PER_ACCOUNT } from "../../src/operation/shares.js";
import { heapMegabytes } from "../support/heap.js";
import { type Ask, ask } from "../support/http.js";
import { type TableLock, lockMemories } from "../support/locks.js";
import { PATIENT } from "../support/patience.js";
import { nextAnswer, openConnection, saidIn } from "../support/socket.js";
import { Actor, type World, createWorld } from "../support/world.js";

const PATIENCE = { timeout: 60_000 };
/** So small that one slot, one byte or one connection that is not given back is missed, and one too many is noticed. */
const DOORS = {
  connectionsPerAddress: 6,
  waitingPerAddress: 4,
  connectionsPerKey: 2,
  waitingPerKey: 1,
  graphqlPerAccount: 1,

  waitForSlotMs: 150,
  requestsAtOnce: 5,
  largeAtOnce: 4,
  largePerAccount: 2,
  largeBodyBytes: 1_000,
  // Longer than the test: each place is given back by the work itself.
  goneWorkMs: 600_000,
  pipelined: 24,
  bodiesBytes: 16_000,
  unsentBytes: 3_000_000,
  stalledAnswerMs: 600_000,
};
/** An answer of several hundred kilobytes. */
const LARGE = "/openapi.json";
const AT_ONCE = 12;
/** So many that none uses up its budget. */
const USERS = 24;

const WORDS = { query: "it waits" };
const NONE_WAIT = { shared: 0, search: 0, account: 0 };
const NOTE = { type: "general", title: "A note", content: "It waits. ".repeat(200) };
/** Makes a body a large one. */
const PADDING = " ".repeat(2_000);
const JSON_TYPE = "Content-Type: application/json\r\n";

interface Message {
  readonly line: string;
  readonly headers?: string;
  readonly body?: string | Buffer;
}

const posted = (path: string, value: unknown): Message => ({
  line: `POST ${path}`,
  headers: JSON_TYPE,
  body: JSON.stringify(value),
});
const zipped = (message: Message, body: string | Buffer = gzipSync(message.body ?? "")): Message => ({
  ...message,
  headers: `${message.headers ?? ""}Content-Encoding: gzip\r\n`,
  body,
});
const note = posted("/v1/memories", NOTE);
const toolCall = {
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: "search", arguments: { query: "it" } },
};

/** Requests that take something of each kind. `n` makes a document new to the server. */
const MESSAGES: readonly ((n: number) => Message)[] = [
  () => ({ line: "GET /me" }),
  () => ({ line: "GET /v1/memories?limit=3" }),
  () => ({ line: "GET /v1/memories/search?query=waits" }),
  () => note,
  () => zipped(note),
  () => zipped(note, gzipSync(Buffer.alloc(1_000_000, " "))),
  () => zipped(note, "no gzip at all"),
  () => ({ ...note, body: "{" }),
  () => ({ ...note, headers: `${JSON_TYPE}Expect: 100-continue\r\n` }),
  () => zipped({ ...note, headers: `${JSON_TYPE}Expect: 100-continue\r\n` }),
  (n) => posted("/graphql", { query: `{ memories(limit: 2) { memories { id } } } #${n}` }),
  (n) => zipped(posted("/graphql", { query: `{ viewer { id } } #${n}${PADDING}` })),
  () => posted("/graphql", { query: "{ viewer { id } }" }),
  () => posted("/mcp", toolCall),
  () => zipped(posted("/mcp", { ...toolCall, padding: PADDING })),
  () => zipped(posted("/billing/stripe-webhook", { padding: PADDING })),
  () => ({ line: "GET /v1/export" }),
  () => ({ line: "HEAD /v1/export" }),
  () => zipped({ line: "GET /v1/export", headers: JSON_TYPE, body: " ".repeat(2_000) }),
  () => ({ line: `GET ${LARGE}` }),
  () => ({ line: `HEAD ${LARGE}` }),
  () => ({ line: "GET /readyz" }),
  () => ({ line: "GET /nowhere" }),
  () => ({ line: "CONNECT a:1" }),
  () => ({ line: "BREAK" }),
];

/** How a client ends: after it has read, or cutting the connection before, between or after the bytes it sends. */
const ENDINGS = [
  "reads",
  "half-closes",
  "cuts",
  "cuts within the body",
  "cuts later",
  "cuts when something comes",
] as const;

const drawnRequest = fc.record({
  messages: fc.array(fc.nat(MESSAGES.length - 1), { minLength: 1, maxLength: 3 }),
  times: fc.constantFrom(1, 1, 1, 1, 2, 2, 3, 9),
  key: fc.nat(USERS),
  ending: fc.constantFrom(...ENDINGS),
  part: fc.double({ min: 0, max: 1, noNaN: true }),
  resets: fc.boolean(),
  waitMs: fc.nat(300),
});
type Drawn = typeof drawnRequest extends fc.Arbitrary<infer T> ? T : never;

const bytesOf = ({ line, headers = "", body = "" }: Message, key: string): Buffer => {
  const length = body.length > 0 ? `Content-Length: ${Buffer.byteLength(body)}\r\n` : "";
  const head = `${line} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n${headers}${length}\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(body)]);
};

const cut = (socket: Socket, resets: boolean): void => void (resets ? socket.resetAndDestroy() : socket.destroy());

/** Sends the requests on one connection, and ends it; settles when it is closed. */
async function play(url: string, keys: readonly string[], drawn: Drawn, n: number): Promise<void> {
  const { messages, times, key, ending, part, resets, waitMs } = drawn;
  const chosen = messages.flatMap((one) => Array.from({ length: times }, () => MESSAGES[one]?.(n) ?? note));
  const bytes = Buffer.concat(chosen.map((message) => bytesOf(message, keys[key] ?? "")));
  const socket = openConnection(url);
  const closed = new Promise((done) => socket.once("close", done));
  // Of a body that was invited, the end comes later than its begin: it is being read when the client is gone.
  const from =
    ending === "cuts within the body" ? bytes.length - Math.ceil(part * 300) : Math.floor(part * bytes.length);
  if (ending === "reads" || ending === "half-closes") {
    socket.resume().write(bytes);
    if (ending === "half-closes") socket.end();
    else setTimeout(() => socket.end(), 100 + waitMs);
    setTimeout(() => cut(socket, resets), 4_000).unref();
  } else if (ending === "cuts when something comes") {
    socket.write(bytes);
    socket.once("readable", () => setTimeout(() => cut(socket, resets), waitMs / 10));
    setTimeout(() => cut(socket, resets), 1_000 + waitMs);
  } else if (ending === "cuts later") {
    socket.write(bytes, () => setTimeout(() => cut(socket, resets), waitMs));
  } else {
    socket.write(bytes.subarray(0, Math.max(1, from)));
    await sleep(waitMs / 10);
    socket.write(ending === "cuts" ? "" : bytes.subarray(Math.max(1, from)), () => cut(socket, resets));
  }
  await closed;
}

it.each(["0", "1"])(
  "has everything back after requests that ended in every way, with TRUSTED_PROXIES=%s",
  async (proxies) => {
    await using world = await createWorld();
    const waits = { ...PATIENT, connectionWaitMs: 5_000 };
    const app = await world.serve({ TRUSTED_PROXIES: proxies }, undefined, DOORS, waits);
    const { url, services } = app;
    const users = await Promise.all(Array.from({ length: USERS }, () => world.user()));
    const actors = users.map(({ caller, email, key }) => new Actor(services, caller, email, key));
    const keys = [...users.map(({ key }) => key), "wrong"];
    const storm = async (count: number, seed: number) => {
      const drawn = fc.sample(drawnRequest, { numRuns: count, seed });
      let n = 0;
      const playNext = async (): Promise<void> => {
        for (let next = drawn.pop(); next; next = drawn.pop()) await play(url, keys, next, seed * count + n++);
      };
      await Promise.all(Array.from({ length: AT_ONCE }, playNext));
    };
    const stormsWithAndWithoutLock = async (seed: number, { isCrowded }: { isCrowded: boolean }) => {
      await using lock = await lockMemories(world);
      const crowd = Promise.allSettled(isCrowded ? actors.flatMap(askTooMuch) : []);
      await storm(100, seed);
      await expect.poll(() => services.shares.waiting, PATIENCE).toEqual(NONE_WAIT);
      await lock.release();
      await crowd;
      await storm(200, seed + 1);
      await expect.poll(() => app.wasQuiet(), PATIENCE).toBe(true);
    };
    const statusOf = async (path: string, request: Ask = {}) =>
      (await ask(url + path, { key: request.key, ...request })).status;
    const countAborted = () => world.log.filter((line) => line.includes('"status":"aborted"')).length;

    await stormsWithAndWithoutLock(1, { isCrowded: true });
    const before = {
      heap: await heapMegabytes(),
      resources: countResources(),
      listeners: countListeners(),
    };
    await stormsWithAndWithoutLock(3, { isCrowded: false });

    expect(countAborted()).toBeGreaterThan(100);
    expect(world.bugs).toEqual([]);
    expect((await heapMegabytes()) - before.heap).toBeLessThan(10);
    await expect.poll(countResources, PATIENCE).toBeLessThanOrEqual(before.resources);
    expect(countListeners()).toBe(before.listeners);
    expect(services.shares.waiting).toEqual(NONE_WAIT);

    if (proxies === "0")
      expect(await saidToOneMore(url)).toEqual([...Array<boolean>(DOORS.connectionsPerAddress).fill(false), true]);

    const [ann, bob, cid] = users as [Actor, Actor, Actor];
    // Slots of each key, and of each account for large requests.
    for (const [n, { key }] of users.entries()) {
      const held = await holdBodies(url, key, DOORS.connectionsPerKey);
      expect(await whyRefused(url, key)).toContain("one key");
      for (const socket of held) socket.destroy();
      const document = { query: `{ viewer { id } } #last ${n}` };
      await expect.poll(() => statusOf("/me", { key }), PATIENCE).toBe(200);
      expect((await ask(`${url}/graphql`, { key, body: document })).status).toBe(200);
    }
    const held = [];
    for (const { key } of [ann, bob, cid]) held.push(...(await holdBodies(url, key, DOORS.connectionsPerKey)));
    expect(await whyRefused(url, (await world.user()).key)).toContain("one address");
    for (const socket of held) socket.destroy();
    await expect.poll(() => statusOf("/me", ann), PATIENCE).toBe(200);

    // Large requests, and requests at once: as many as the limit wait for the lock, and one more is refused.
    await holdingMemories(world, async (lock) => {
      const running = [ann, ann, bob, bob].map(({ key }) => statusOf("/v1/memories", { key }));
      await expect.poll(() => lock.waiting(), PATIENCE).toBe(DOORS.largeAtOnce);
      expect(await statusOf("/v1/memories", cid)).toBe(503);
      const small = statusOf(`/v1/memories/${ann.caller.userId}`, cid);
      await expect.poll(() => lock.waiting(), PATIENCE).toBe(DOORS.requestsAtOnce);
      expect(await statusOf("/docs")).toBe(503);
      await lock.release();
      expect(await Promise.all([...running, small])).toEqual([200, 200, 200, 200, 404]);
    });
    await holdingMemories(world, async (lock) => {
      const large = (n: number) => ({
        key: ann.key,
        body: { query: `{ memories { nextCursor } } #large ${n}` },
      });
      const running = ask(`${url}/graphql`, large(1));
      await expect.poll(() => lock.waiting(), PATIENCE).toBe(1);
      expect(JSON.stringify((await ask(`${url}/graphql`, large(2))).body)).toContain("account by GraphQL");
      await lock.release();
      expect((await running).status).toBe(200);
    });

    // Connections of the database: of each account, of all, and for searches.
    type Waiting = Services["shares"]["waiting"];
    const waitsAfter = (
      begin: () => readonly Promise<unknown>[],
      running: number,
      isExpected: (waiting: Waiting) => boolean,
    ) =>
      holdingMemories(world, async (lock) => {
        const begun = begin();
        const seen = async () => [await lock.waiting(), isExpected(services.shares.waiting)];
        await expect.poll(seen, PATIENCE).toEqual([running, true]);
        await lock.release();
        await Promise.all(begun);
      });
    for (const actor of actors.slice(0, 3)) {
      const begin = () => Array.from({ length: CONNECTIONS_PER_ACCOUNT + 1 }, () => actor.does(memories));
      // Background jobs may wait, too, and have a share of their own.
      await waitsAfter(begin, CONNECTIONS_PER_ACCOUNT, ({ search, account }) => search === 0 && account >= 1);
    }
    const { connections, searchConnections } = LIMITS.database;
    const each = (operation: typeof memories) => () => actors.map((actor) => actor.does(operation));
    await waitsAfter(each(memories), Math.min(connections, USERS), ({ shared }) => shared >= USERS - connections);
    const search = () => actors.map((actor) => actor.does(searchMemories, WORDS));
    await waitsAfter(search, searchConnections, (waiting) => waiting.search === USERS - searchConnections);

    // Bytes of bodies: a decompressed one is held as it is.
    const statusOfBody = (bytes: number) =>
      statusOf("/v1/memories", { key: ann.key, headers: GZIP, body: gzipSync(" ".repeat(bytes)) });
    expect([await statusOfBody(DOORS.bodiesBytes), await statusOfBody(DOORS.bodiesBytes + 1)]).toEqual([400, 503]);

    // Bytes of unread answers, of all addresses: another one asks, whose budget is whole.
    if (proxies === "0") return;
    expect(await statusOf(LARGE, { headers: { "x-forwarded-for": "192.0.2.7" } })).toBe(200);
    const aborted = countAborted();
    const asked = `GET ${LARGE} HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.7\r\n\r\n`;
    for (let n = 0; n < 2; n++) opened(url).write(asked.repeat(DOORS.pipelined));
    await expect.poll(countAborted, PATIENCE).toBeGreaterThan(aborted);
  },
  300_000,
);

const GZIP = { "content-encoding": "gzip" };

function opened(url: string): Socket {
  const socket = openConnection(url);
  onTestFinished(() => void socket.destroy());
  return socket;
}

async function holdingMemories(world: World, work: (lock: TableLock) => Promise<void>): Promise<void> {
  await using lock = await lockMemories(world);
  await work(lock);
}

/** Whether the address's connections are closed after its answer, when there is one more than the limit. */
async function saidToOneMore(url: string): Promise<unknown[]> {
  const said: unknown[] = [];
  const sockets = Array.from({ length: DOORS.connectionsPerAddress + 1 }, () => opened(url));
  await Promise.all(sockets.map((socket) => new Promise((done) => socket.once("connect", done))));
  for (const socket of sockets) {
    socket.write("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    const { status, closes } = saidIn(await nextAnswer(socket));
    said.push(status === 200 ? closes : status);
  }
  for (const socket of sockets) socket.destroy();
  return said.toSorted();
}

/** Some of these wait for the account's share, and some for any connection, until their patience is over. */
const askTooMuch = (actor: Actor): Promise<unknown>[] => [
  ...Array.from({ length: CONNECTIONS_PER_ACCOUNT + 1 }, () => actor.does(memories)),
  ...Array.from({ length: LIMITS.database.searchesPerAccount + 1 }, () => actor.does(searchMemories, WORDS)),
];

/** Begins requests that hold a slot of their key: their body does not come. Each is invited to send it. */
async function holdBodies(url: string, key: string, count: number): Promise<Socket[]> {
  const head = `POST /v1/memories HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n${JSON_TYPE}`;
  const sockets = [];
  for (let n = 0; n < count; n++) {
    const socket = opened(url);
    socket.write(`${head}Expect: 100-continue\r\nContent-Length: 100\r\n\r\n`);
    expect(await nextAnswer(socket)).toMatch(/^HTTP\/1\.1 100/);
    sockets.push(socket);
  }
  return sockets;
}

async function whyRefused(url: string, key: string): Promise<string> {
  const { status, body } = await ask(`${url}/me`, { key });
  expect(status).toBe(429);
  return JSON.stringify(body);
}

const countResources = (): number => process.getActiveResourcesInfo().length;
const countListeners = (): number =>
  process.eventNames().reduce((sum, name) => sum + process.listenerCount(name as NodeJS.Signals), 0);
