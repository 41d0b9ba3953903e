import { once } from "node:events";
import { Agent, type IncomingMessage, type ServerResponse, createServer, get } from "node:http";
import { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import express from "express";
import { describe, expect, it, onTestFinished } from "vitest";
import { createMemories } from "../../src/features/bulk/create-memories.js";
import { LIMITS } from "../../src/limits.js";
import { Turns } from "../../src/surfaces/turns.js";
import { Connections } from "../../src/surfaces/connections.js";
import type { HttpLimits } from "../../src/surfaces/http-limits.js";
import { createExpressServer } from "../../src/surfaces/server.js";
import { loggerTo } from "../../src/platform/telemetry/logger.js";
import { Slots } from "../../src/surfaces/slots.js";
import { heapMegabytes } from "../support/heap.js";
import { type Answer, type Ask, ask } from "../support/http.js";
import { listen } from "../support/listening.js";
import { lockMemories } from "../support/locks.js";
import { OLD, messageOf } from "../support/mcp.js";
import { openConnection, nextAnswer, saidIn, untilClosed } from "../support/socket.js";
import { type Actor, type World, createWorld } from "../support/world.js";

const PATIENCE = { timeout: 60_000 };
/** Long enough that a busy machine makes no pause of this length by itself. */
const STALLED_MS = 2_500;
/** A large answer that needs no key: several hundred kilobytes. */
const LARGE = "/openapi.json";
const LARGE_BYTES = 200_000;

interface ServersParts {
  readonly behindProxies?: boolean;
  readonly app?: express.Express;
  readonly limits?: Partial<HttpLimits>;
}

function emptyServer({ behindProxies = false, app = express(), limits }: ServersParts = {}) {
  const parts = {
    limits: { ...LIMITS.http, ...limits },
    log: loggerTo({ write() {} }, "info"),
    form: () => ({}),
    behindProxies,
    turns: new Turns(25),
    isStopping: () => false,
  };
  const server = createExpressServer(app, parts);
  onTestFinished(() => void server.close());
  return server;
}

it("uses the documented limits by default", () => {
  const server = emptyServer();

  expect(server).toMatchObject({ headersTimeout: 10_000, requestTimeout: 30_000 });
  expect(server.maxConnections).toBe(LIMITS.http.connections);
  expect(server.keepAliveTimeout).toBe(65_000);
  expect(LIMITS.http).toMatchObject({ stalledAnswerMs: 30_000, connectionsPerAddress: 50, connectionsPerKey: 50 });
});

it("keeps the idle connections of proxies longer than they do, but not those of proxies that are gone", () => {
  const server = emptyServer({ behindProxies: true });

  // Envoy keeps them for an hour. A request on a connection that is just being closed is lost.
  expect(server.keepAliveTimeout).toBeGreaterThan(3_600_000);
  expect(server).toMatchObject({ keepAlive: true });
});

it("keeps a proxy's connection on which nothing was sent yet as an idle one, and times its first request", async () => {
  const app = express().get("/", (_request, response) => void response.end());
  const limits = { headTimeoutMs: 200, bodyTimeoutMs: 400 };
  const open = async (behindProxies: boolean) =>
    openSocket(`http://127.0.0.1:${await listen(emptyServer({ app, behindProxies, limits }))}`);
  const late = { status: 400, closes: true };
  const [behind, direct] = [await open(true), await open(false)];

  expect(saidIn(await untilClosed(direct))).toMatchObject(late);
  await sleep(2 * limits.headTimeoutMs);
  expect([behind.destroyed, behind.bytesRead]).toEqual([false, 0]);
  behind.write(asking("/"));
  expect(saidIn(await nextAnswer(behind)).status).toBe(200);

  const another = await open(true);
  await sleep(2 * limits.headTimeoutMs);
  another.write("GET / HTTP/1.1\r\n");
  expect(saidIn(await untilClosed(another))).toMatchObject(late);

  const forgetful = Object.assign(emptyServer({ app, behindProxies: true, limits }), { keepAliveTimeout: 300 });
  expect(await untilClosed(openSocket(`http://127.0.0.1:${await listen(forgetful)}`))).toBe("");
}, 20_000);

it("answers what came to an idle connection while the process was paused, and then closes it", async () => {
  const server = emptyServer();
  const accepted = once(server, "connection") as Promise<[Socket]>;
  const socket = openSocket(`http://127.0.0.1:${await listen(server)}`);
  let read = "";
  socket.on("data", (bytes) => (read += String(bytes)));
  const answers = () => read.split("HTTP/1.1 ").length - 1;
  socket.write(asking("/first"));
  await expect.poll(answers, { interval: 1 }).toBe(1);

  // From here on in one turn. The idle connection gets a shorter time, also for what comes after the second request.
  server.keepAliveTimeout = 100;
  const [connection] = await accepted;
  connection.setTimeout(server.keepAliveTimeout);
  socket.write(asking("/second"));
  const end = performance.now() + 2 * server.keepAliveTimeout;
  while (performance.now() < end);

  await expect.poll(() => socket.closed, PATIENCE).toBe(true);
  expect(answers()).toBe(2);
});

it("closes a connection whose client reads nothing, and keeps one whose client is slow", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({}, undefined, { stalledAnswerMs: 3_000 });
  const [deaf, slow] = [openSocket(url), openSocket(url)];
  let read = 0;
  const reading = setInterval(() => (read += ((slow.read(65_536) ?? slow.read()) as Buffer | null)?.length ?? 0), 10);
  onTestFinished(() => clearInterval(reading));
  slow.on("readable", () => {});

  for (const socket of [deaf, slow]) socket.write(asking(LARGE).repeat(24));

  await expect.poll(() => countAborted(world), PATIENCE).toBeGreaterThan(0);
  await expect.poll(() => read, PATIENCE).toBeGreaterThan(24 * LARGE_BYTES);
  // Only the requests of the client that reads nothing.
  expect(countAborted(world)).toBeLessThanOrEqual(24);
  expect(slow.destroyed).toBe(false);
});

it("counts what clients have read while the process was paused before it closes a connection", async () => {
  const expected = 30_000_000;
  const app = express().get("/", (_request, response) => void response.end(Buffer.alloc(expected)));
  const server = emptyServer({ app, limits: { stalledAnswerMs: STALLED_MS } });
  const accepted = once(server, "connection") as Promise<[Socket]>;
  const state = new Int32Array(new SharedArrayBuffer(8));
  const workerData = { port: await listen(server), state, request: asking("/"), expected };
  const client = new Worker(LATE_READER, { eval: true, workerData });
  onTestFinished(async () => void (await client.terminate()));
  const told = once(client, "message");
  const [socket] = await accepted;
  // The system takes no more for this client.
  await expect.poll(() => socket.writableLength, { interval: 1 }).toBeGreaterThan(0);
  // The server has seen that, at one of its looks.
  await sleep(STALLED_MS / 10);

  // Timers come next, before sockets.
  await new Promise(setImmediate);
  Atomics.store(state, 0, 1);
  Atomics.notify(state, 0);
  // Busy for longer than the limit, and until the client has read all that the system holds for it.
  for (let [end, read] = [performance.now() + 1.2 * STALLED_MS, 0]; performance.now() < end || read === 0;) {
    const now = Atomics.load(state, 1);
    if (now !== read) end = performance.now() + 1.2 * STALLED_MS;
    read = now;
  }

  expect((await told)[0]).toBeGreaterThan(expected);
});

/** In a thread of its own: reads the answer when it is told to. Tells how many bytes came. */
const LATE_READER = `
  const { parentPort, workerData: { port, state, request, expected } } = require("node:worker_threads");
  const socket = require("node:net").connect(port, "127.0.0.1", () => socket.write(request)).on("error", () => {});
  let read = 0;
  socket.once("data", () => Atomics.wait(state, 0, 0));
  const tell = () => parentPort.postMessage(read);
  socket.on("data", (chunk) => Atomics.store(state, 1, read += chunk.length) > expected && tell()).on("close", tell);`;

it.each([
  ["an address", {}, { unsentBytesPerAddress: 4_000_000 }],
  ["a server", { TRUSTED_PROXIES: "1" }, { unsentBytes: 4_000_000 }],
])(
  "limits the unread answers of %s, whatever was read before, and serves other clients",
  async (_of, settings, limits) => {
    await using world = await createWorld();
    const { url } = await world.serve(settings, undefined, { ...limits, stalledAnswerMs: 600_000 });
    // What is known of an address is forgotten with its last connection.
    openSocket(url);
    for (let n = 0; n < 100; n++) await ask(url + LARGE);

    for (let n = 0; n < 2; n++) openSocket(url).write(asking(LARGE).repeat(24));

    await expect.poll(() => countAborted(world), PATIENCE).toBeGreaterThan(0);
    expect((await ask(`${url}${LARGE}`)).status).toBe(200);
  },
);

it("does not count what a closed connection has not read against the others of its address", async () => {
  const bytes = 700_000;
  let answer: (() => unknown) | undefined;
  const app = express()
    .get("/", (_request, response) => void response.end(Buffer.alloc(bytes)))
    .get("/later", (_request, response) => void (answer = () => response.end(Buffer.alloc(bytes))));
  const server = emptyServer({ app, limits: { unsentBytesPerAddress: 1_000_000 } });
  const url = `http://127.0.0.1:${await listen(server)}`;
  const other = openSocket(url);
  let read = 0;
  other.on("data", (chunk: Buffer) => (read += chunk.length)).write(asking("/later"));
  await expect.poll(() => answer, PATIENCE).toBeDefined();

  // The other answer is made as soon as the connection is closed whose client reads nothing.
  server.once("connection", (socket: Socket) => void socket.once("close", () => answer?.()));
  // More than the system buffers.
  openSocket(url).write(asking("/").repeat(24));

  await expect.poll(() => other.closed || read > bytes, PATIENCE).toBe(true);
  expect(read).toBeGreaterThan(bytes);
});

it("writes nothing into an answer that has begun when the body of its request cannot be read", async () => {
  const app = express().get("/", (_request, response) => void response.write("a"));
  const server = emptyServer({ app });
  const accepted = once(server, "connection") as Promise<[Socket]>;
  const client = openSocket(`http://127.0.0.1:${await listen(server)}`);
  client.write("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  await nextAnswer(client);
  const [socket] = await accepted;
  const written = socket.bytesWritten;
  const refused = once(server, "clientError");

  client.write("no size\r\n");
  await refused;

  expect(socket.bytesWritten).toBe(written);
});

it("closes connections with large heads or several requests while heads take too much memory, and no other", async () => {
  await using world = await createWorld();
  // The first request leaves no room for another one of usual size.
  const { url } = await world.serve({}, undefined, { headsBytes: 15_250 });
  const { key } = await world.user();
  const begun = (pad: number) =>
    `POST /v1/memories HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n` +
    `X-Pad: ${"p".repeat(pad)}\r\nContent-Length: 100\r\n\r\n`;
  const [held, large, pipelining] = [openSocket(url), openSocket(url), openSocket(url)];
  held.write(begun(15_000));
  await expect.poll(() => ask(`${url}/healthz`).then(({ status }) => status), PATIENCE).toBe(200);

  large.write(begun(8_000));
  expect(await untilClosed(large)).toBe("");
  pipelining.write(`GET /v1/memories HTTP/1.1\r\nHost: a\r\nX-Pad: ${"p".repeat(1_900)}\r\n\r\n`.repeat(8));
  expect((await untilClosed(pipelining)).match(/^HTTP/gm)?.length ?? 0).toBeLessThan(8);
  expect((await ask(`${url}/v1/memories`, { key })).status).toBe(200);
  expect(held.destroyed).toBe(false);

  held.destroy();
  await expect
    .poll(
      () =>
        ask(`${url}/v1/memories`, { key, headers: { "X-Pad": "p".repeat(8_000) } }).then(
          ({ status }) => status,
          () => 0,
        ),
      PATIENCE,
    )
    .toBe(200);
});

it("resets the connections of answers that the end of a stop cuts: of HTTP/1.0, they would look whole", async () => {
  const app = express().get("/begun", (_request, response) => void response.write("The first half"));
  const server = emptyServer({ app });
  const socket = new Socket().connect(await listen(server), "127.0.0.1");
  const end = new Promise<string>((resolve) => {
    socket.on("end", () => resolve("end")).on("error", ({ code }: NodeJS.ErrnoException) => resolve(code ?? ""));
  });
  socket.write("GET /begun HTTP/1.0\r\n\r\n");
  await once(socket, "data");

  server.close().closeAllConnections();

  expect(await end).toBe("ECONNRESET");
});

it("closes the connection whose answers wait for longest, not the one that is open for longest", async () => {
  const server = createServer();
  onTestFinished(() => server.close().closeAllConnections());
  const connections = new Connections(
    server,
    { ...LIMITS.http, unsentBytesPerAddress: 1_000 },
    { behindProxies: false },
  );
  const socketsOf = new Map<string, Socket>();
  const arrived = async (path: string) => expect.poll(() => socketsOf.has(path), PATIENCE).toBe(true);
  server.on("request", (request, response) => {
    connections.beginRequest(request, response);
    socketsOf.set(request.url ?? "", request.socket);
    if (request.url === "/short") response.end();
    else connections.trackUnsent(request.socket, response, 600);
  });
  const url = `http://127.0.0.1:${await listen(server)}`;
  const reading = openSocket(url);
  reading.write(asking("/short"));
  await arrived("/short");
  const deaf = openSocket(url);
  deaf.write(asking("/first"));
  await arrived("/first");

  reading.write(asking("/second"));
  await arrived("/second");

  expect(socketsOf.get("/first")?.destroyed).toBe(true);
  expect(socketsOf.get("/second")?.destroyed).toBe(false);
});

it("counts the parts of streamed answers as unread answers", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({}, undefined, { unsentBytesPerAddress: 6_000_000, stalledAnswerMs: 600_000 });
  const ann = await world.user();
  // Their pages have more than 4 MB each.
  const note = { type: "general", title: "A note", content: "x".repeat(40_000) };
  for (let call = 0; call < 6; call++)
    await ann.did(createMemories, { memories: Array.from({ length: 20 }, () => note) });
  const asked = `GET /v1/export HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${ann.key}\r\n\r\n`;

  // Each connection asks for 48 MB, more than the buffers of an operating system take.
  for (let n = 0; n < 3; n++) openSocket(url).write(asked.repeat(10));

  await expect.poll(() => countAborted(world), PATIENCE).toBeGreaterThan(0);
});

it("serves pipelined requests up to the limit, and closes the connection at one more", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({}, undefined, { pipelined: 4 });
  const send = async (count: number) => {
    const socket = openSocket(url);
    socket.write(
      asking("/docs").repeat(count - 1) + asking("/docs").replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"),
    );
    return (await untilClosed(socket)).match(/HTTP\/1\.1 200/g)?.length ?? 0;
  };

  expect([await send(4), await send(5)]).toEqual([4, 0]);
});

describe("a client that sends further requests before it reads its answers", () => {
  /** Reads nothing until its answers fill all buffers, sends the rest, and then reads everything. */
  async function readLate(url: string, rest: string): Promise<string> {
    const socket = openSocket(url);
    socket.write(asking(LARGE).repeat(28));
    await once(socket, "readable");
    // When others have been served, the first answers have filled the buffers.
    await ask(url + LARGE);
    socket.write(rest);
    await ask(url + LARGE);
    return untilClosed(socket);
  }

  it("gets all of them, in their order", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const padded = asking("/docs").replace("\r\n\r\n", `\r\nX-Padding: ${"x".repeat(7_000)}\r\n\r\n`);

    const answers = await readLate(url, padded.repeat(2) + padded.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));

    expect(answers.match(/^HTTP\/1\.1 \d+/gm)).toEqual(Array(31).fill("HTTP/1.1 200"));
  });

  it("is refused a body that is too large, and the process goes on", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const head =
      "POST /signup HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9000000\r\n\r\n";

    const answers = await readLate(url, head + "x".repeat(100_000));

    expect(answers.match(/^HTTP\/1\.1 \d+/gm)?.slice(0, 28)).toEqual(Array(28).fill("HTTP/1.1 200"));
    expect(world.bugs).toEqual([]);
  });
});

it("releases the slots of requests when their connection is cut, answered or not", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({}, undefined, {
    connectionsPerAddress: 4,
    requestsAtOnce: 4,
    waitingPerAddress: 0,
  });
  const { key } = await world.user();

  for (let round = 0; round < 4; round++) {
    const socket = openSocket(url);
    socket.write(
      `GET /me HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n\r\n`.repeat(3) + asking(LARGE).repeat(3),
    );
    await nextAnswer(socket);
    socket.destroy();
  }

  await expect.poll(async () => (await ask(`${url}/me`, { key })).status, PATIENCE).toBe(200);
  // Each request has its log line, answered or not.
  await expect.poll(() => world.log.length, PATIENCE).toBeGreaterThanOrEqual(25);
});

it("serves concurrent requests of an address up to the limit, and refuses the others with the limit", async () => {
  await using world = await createWorld();
  const room = { connectionsPerAddress: 2, waitingPerAddress: 5, waitForSlotMs: 100 };
  const { url } = await world.serve({ TRUSTED_PROXIES: "1" }, undefined, room);
  const { key } = await world.user();

  using refused = await refusedOnce(
    () => begun(url, key),
    () => ask(`${url}/me`, { key }),
  );

  expect(refused.body).toMatchObject({ error: { code: "rate_limited", reason: "too_many_at_once" } });
  expect(refused.headers.get("retry-after")).toBe("1");
  expect((await ask(`${url}/graphql`, { key, body: { query: "{ viewer { id } }" } })).body).toMatchObject({
    errors: [{ extensions: { code: "RATE_LIMITED", reason: "too_many_at_once" } }],
  });
  expect((await ask(`${url}/healthz`)).status).toBe(200);
  expect((await ask(`${url}/me`, { key, headers: { "x-forwarded-for": "192.0.2.2" } })).status).toBe(200);
});

it("gives a free slot to the request that waited longest, and limits how many wait and how long", async () => {
  const slots = new Slots({ slots: 1, waiting: 2, waitMs: 200 });
  const order: string[] = [];
  const wait = async (who: string) => ((await slots.take("a")) ? order.push(who) : order.push(`${who} not`));

  expect(slots.take("a")).toBe(true);
  expect(slots.take("b")).toBe(true);
  const [first, second] = [wait("first"), wait("second")];
  expect(slots.take("a")).toBe(false);
  slots.give("a");
  await first;
  await second;

  expect(order).toEqual(["first", "second not"]);
  slots.give("a");
  expect(slots.take("a")).toBe(true);
});

it("stops without waiting for unused connections", async () => {
  await using world = await createWorld();
  const app = await world.serve();
  const closed = Array.from({ length: 3 }, () => untilClosed(openSocket(app.url)));
  await ask(`${app.url}/healthz`);

  const begunAt = performance.now();
  await app[Symbol.asyncDispose]();

  expect(performance.now() - begunAt).toBeLessThan(LIMITS.stop.drainMs / 2);
  expect(await Promise.all(closed)).toEqual(["", "", ""]);
});

it("answers requests on connections that still wait to be accepted when it stops", async () => {
  await using world = await createWorld();
  const app = await world.serve();
  const state = new Int32Array(new SharedArrayBuffer(4));
  const clients = new Worker(CLIENTS, { eval: true, workerData: { port: new URL(app.url).port, state, count: 3 } });
  const answers = once(clients, "message");

  // This thread accepts nothing until all have sent their request.
  expect(Atomics.wait(state, 0, 0, 60_000)).not.toBe("timed-out");
  await app[Symbol.asyncDispose]();

  expect(await answers).toEqual([Array(3).fill("HTTP/1.1 200 OK")]);
});

/** In a thread of their own: connect, and send a request when all are connected. Then tell the first lines. */
const CLIENTS = `
  const { parentPort, workerData: { port, state, count } } = require("node:worker_threads");
  const { connect } = require("node:net");
  const sockets = Array.from({ length: count }, () => connect(port, "127.0.0.1").on("error", () => {}));
  const answers = sockets.map((socket) => new Promise((done) => {
    let text = "";
    socket.on("data", (chunk) => (text += chunk)).on("close", () => done(text.split("\\r\\n")[0]));
  }));
  const sent = sockets.map((socket) => new Promise((done) => socket.once("connect", () =>
    socket.write("GET /healthz HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n", done))));
  Promise.all(sent).then(() => {
    Atomics.store(state, 0, 1);
    Atomics.notify(state, 0);
  });
  Promise.all(answers).then((all) => parentPort.postMessage(all));`;

it("answers the first request of a connection that was made just before the unused ones were closed", async () => {
  const server = emptyServer();
  const socket = openSocket(`http://127.0.0.1:${await listen(server)}`);
  await once(server, "connection");

  server.closeIdleConnections();
  socket.write(asking("/nothing"));

  expect(await nextAnswer(socket)).toMatch(/^HTTP\/1\.1 \d+ /);
});

it("closes the connection that was idle for longest to make room for a new one", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({}, undefined, { connectionsPerAddress: 3, spareMs: 500 });
  const [longest, next, last] = [openSocket(url), openSocket(url), openSocket(url)];
  for (const socket of [longest, next, last]) {
    socket.write(asking("/healthz"));
    expect(saidIn(await nextAnswer(socket))).toEqual({ status: 200, closes: false });
  }

  // Not at once: a connection that has just been used may be about to be used again.
  await expect.poll(() => (openSocket(url), longest.destroyed), PATIENCE).toBe(true);
  const newest = openSocket(url);
  newest.write(asking("/healthz"));
  expect(saidIn(await nextAnswer(newest)).status).toBe(200);
});

it("closes no connection that only seems idle, since the process has not read its next request yet", async () => {
  const app = express().get("/", (_request, response) => void response.end());
  const server = emptyServer({ app, limits: { connectionsPerAddress: 1, spareMs: 1 } });
  const url = `http://127.0.0.1:${await listen(server)}`;
  const old = openSocket(url);
  old.write(asking("/"));
  await nextAnswer(old);
  await sleep(10);

  // In one turn: first the connection, which is made in the next tick, then the request; then the server reads.
  openSocket(url);
  await new Promise<void>(process.nextTick);
  old.write(asking("/"));

  expect(saidIn(await nextAnswer(old)).status).toBe(200);
});

it("keeps a new connection when all others of its address are busy, so that its request gets an answer", async () => {
  const app = express()
    .get("/", (_request, response) => void response.end())
    .get("/waits", (_request, response) => void response.write("a"));
  const server = emptyServer({ app, limits: { connectionsPerAddress: 1, waitingPerAddress: 1 } });
  const url = `http://127.0.0.1:${await listen(server)}`;
  const busy = [openSocket(url), openSocket(url)];
  for (const socket of busy) socket.write(asking("/waits"));
  await Promise.all(busy.map(nextAnswer));

  const accepted = once(server, "connection");
  const socket = openSocket(url);
  await accepted;
  await new Promise(setImmediate);
  socket.write(asking("/"));

  expect(saidIn(await nextAnswer(socket)).status).toBe(200);
});

it("closes a connection once after the answer that it owes, whatever else its client sends meanwhile", async () => {
  const app = express().get("/", (_request, response) => void response.write("a"));
  const server = emptyServer({ app });
  const asked = once(server, "request") as Promise<[IncomingMessage, ServerResponse]>;
  const socket = openSocket(`http://127.0.0.1:${await listen(server)}`);
  let refusals = 0;
  server.on("clientError", () => refusals++);
  socket.write(asking("/"));
  const [request, response] = await asked;
  await nextAnswer(socket);
  const before = request.listenerCount("end");

  for (let n = 1; n <= 5; n++) {
    socket.write("nothing that can be read");
    await expect.poll(() => refusals, { ...PATIENCE, interval: 1 }).toBe(n);
  }
  expect(request.listenerCount("end")).toBe(before + 1);
  const closed = untilClosed(socket);
  response.end("b");

  expect(await closed).toContain("b");
});

it("closes no connection for a new one that its client may use again soon", async () => {
  const app = express().get("/", (_request, response) => void response.end());
  const server = emptyServer({ app, limits: { connectionsPerAddress: 1, spareMs: 60_000 } });
  const url = `http://127.0.0.1:${await listen(server)}`;
  const statusOf = async (socket: Socket) => {
    if (socket.closed) return "closed";
    socket.write(asking("/"));
    return saidIn(await nextAnswer(socket)).status;
  };

  const first = openSocket(url);
  const statuses = [await statusOf(first), await statusOf(openSocket(url)), await statusOf(first)];

  expect(statuses).toEqual([200, 200, 200]);
});

it.each(["0", "1"])(
  "closes the one idle for longest when the server has no room, with TRUSTED_PROXIES=%s",
  async (proxies) => {
    await using world = await createWorld();
    const { url } = await world.serve({ TRUSTED_PROXIES: proxies }, undefined, { connections: 4 });
    const resting = Array.from({ length: 4 }, () => openSocket(url));
    for (const socket of resting) {
      socket.write(asking("/healthz"));
      await nextAnswer(socket);
    }

    const isServed = () =>
      ask(`${url}/healthz`).then(
        ({ status }) => status === 200,
        () => false,
      );
    await expect.poll(isServed, PATIENCE).toBe(true);
    // The one that is dropped makes room, then each new one.
    for (let n = 0; n < 3; n++) await expect.poll(isServed, PATIENCE).toBe(true);
    expect(resting.map(({ destroyed }) => destroyed)[0]).toBe(true);
  },
);

it.each([
  { path: "/me" },
  { path: "/graphql", body: { query: "{ viewer { id } }" } },
  { path: "/mcp", ...messageOf("ping", {}, OLD) },
])("serves concurrent requests of a key up to the limit, from any number of addresses: $path", async (one) => {
  const { path, ...request }: Ask & { readonly path: string } = one;
  await using world = await createWorld();
  const { url } = await world.serve({ TRUSTED_PROXIES: "1" }, undefined, { connectionsPerKey: 2, waitingPerKey: 0 });
  const [ann, bob] = [await world.user(), await world.user()];
  const headers = { ...request.headers, "x-forwarded-for": "192.0.2.9" };
  const from = ({ key }: Actor) => ask(url + path, { ...request, key, headers });
  let n = 0;

  using refused = await refusedOnce(
    () => begun(url, ann.key, `X-Forwarded-For: 192.0.2.${n++ % 9}\r\n`, path === "/me" ? "/v1/memories" : path),
    () => from(ann),
  );

  expect(JSON.stringify(refused.body)).toMatch(/too_many_at_once/i);
  expect(JSON.stringify(refused.body)).toContain("requests of one key");
  expect((await from(bob)).status).toBe(200);
});

it("limits an account's concurrent GraphQL requests that are new or large, and charges refused ones", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({}, undefined, { graphqlPerAccount: 2, waitingPerKey: 0 });
  const [ann, bob] = [await world.user(), await world.user()];
  const from = ({ key }: Actor, query: string) => ask(`${url}/graphql`, { key, body: { query } });
  const [small, large] = [
    "{ viewer { id } }",
    "{ memories(limit: 100) { memories { relationships { memory { id } } } } }",
  ];
  // The server knows them from now on.
  for (const query of [small, large]) await from(ann, query);
  await using lock = await lockMemories(world);
  const running = [from(ann, large), from(ann, large)];
  await expect.poll(() => lock.waiting(), PATIENCE).toBe(2);

  const refused = [await from(ann, large), await from(ann, "{ viewer { email } }")];
  const known = await from(ann, small);
  const others = await from(bob, "{ viewer { name } }");
  await lock.release();
  await Promise.all(running);

  const error = { extensions: { code: "RATE_LIMITED", reason: "too_many_at_once" } };
  expect(refused).toMatchObject([
    { status: 429, body: { errors: [error] } },
    { status: 429, body: { errors: [error] } },
  ]);
  expect(known).toMatchObject({ status: 200, body: { data: { viewer: {} } } });
  expect(others.status).toBe(200);
  expect(known.headers.get("ratelimit")).toMatch(`r=${LIMITS.budgets.requestsByPlan.pro - 7};`);
});

it("does not limit the connections of a proxy", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({ TRUSTED_PROXIES: "1" }, undefined, {
    connectionsPerAddress: 2,
    waitingPerAddress: 0,
  });
  const resting = Array.from({ length: 10 }, () => openSocket(url));
  for (const socket of resting) socket.write(asking("/healthz"));

  const answers = await Promise.all(resting.map(nextAnswer));

  for (const answer of answers) expect(saidIn(answer)).toEqual({ status: 200, closes: false });
});

it("keeps nothing of the networks whose connections are closed", async () => {
  // Without Node's own listener, whose HTTP parsers take longer than all else.
  const server = createServer().removeAllListeners("connection");
  void new Connections(server, LIMITS.http, { behindProxies: false });
  onTestFinished(() => void server.emit("close"));
  const connect = async (from: number, to: number) => {
    for (let network = from; network < to; network++) {
      const socket = new Socket();
      const remoteAddress = `2001:db8:${(network >> 8).toString(16)}:${(network & 255).toString(16)}::1`;
      server.emit("connection", Object.defineProperty(socket, "remoteAddress", { value: remoteAddress }));
      await once(socket.destroy(), "close");
    }
  };
  await connect(0, 1_000);
  const before = await heapMegabytes();

  await connect(1_000, 31_000);

  expect((await heapMegabytes()) - before).toBeLessThan(8);
});

it("never refuses a client with 40 busy connections", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const users = await Promise.all([1, 2, 3].map(() => world.user()));
  const agent = new Agent({ keepAlive: true, maxSockets: 40 });
  onTestFinished(() => agent.destroy());
  const status = (path: string, key: string) =>
    new Promise<number>((done, fail) => {
      get(url + path, { agent, headers: { authorization: `Bearer ${key}` } }, (response) => {
        response.resume().on("end", () => done(response.statusCode ?? 0));
      }).on("error", fail);
    });

  const asked = Array.from({ length: 400 }, (_, n) => status(n % 2 ? "/me" : "/v1/memories", users[n % 3]?.key ?? ""));
  expect(new Set(await Promise.all(asked))).toEqual(new Set([200]));
});

const asking = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

function openSocket(url: string): Socket {
  const socket = openConnection(url);
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** Starts requests that take slots, until a further one is refused. Disposing ends them, before their server. */
async function refusedOnce(begin: () => Socket, another: () => Promise<Answer>): Promise<Answer & Disposable> {
  let answer: Answer | undefined;
  const begun: Socket[] = [];
  const status = async () => {
    begun.push(begin());
    answer = await another();
    return answer.status;
  };
  await expect.poll(status, PATIENCE).toBe(429);
  if (!answer) throw new Error("Nothing was refused.");
  return { ...answer, [Symbol.dispose]: () => begun.forEach((socket) => socket.destroy()) };
}

/** A request whose body of a hundred bytes has not been sent yet. */
function begun(url: string, key: string, header = "", path = "/v1/memories"): Socket {
  const socket = openSocket(url);
  const type = "Content-Type: application/json\r\nContent-Length: 100\r\n";
  socket.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n${header}${type}\r\n`);
  return socket;
}

/** How many requests were not answered completely. */
const countAborted = ({ log }: World): number => log.filter((line) => line.includes('"status":"aborted"')).length;
