import type { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { heapMegabytes } from "../support/heap.js";
import { ask } from "../support/http.js";
import { openConnection, exchange, nextAnswer, saidIn, untilClosed } from "../support/socket.js";
import { createWorld } from "../support/world.js";

const { headBytes, headers: headersMax, urlBytes, mediaTypesBytes, bodyBytes, bodyPieces } = LIMITS.http;

/** Endless gzip data that decompresses to nothing: stored blocks of zero bytes. */
const GZIP_BEGINS = gzipSync("").subarray(0, 10);
const EMPTY_BLOCKS = Buffer.concat(Array.from({ length: 10_000 }, () => Buffer.from([0, 0, 0, 0xff, 0xff])));

const inChunk = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);

it("accepts the largest allowed head, and refuses a larger one", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const line = (path: string) => `GET ${path} HTTP/1.1\r\nConnection: close\r\n`;
  const send = async (head: string) => saidIn(await exchange(url, `${head}\r\n`, { silenceMs: 10_000 }));
  const padded = (bytes: number) => {
    const rest = `${line("/healthz")}Host: a\r\nX-Long: `;
    return `${rest}${"k".repeat(bytes - rest.length - 4)}\r\n`;
  };
  const many = (count: number) => `${line("/healthz")}Host: a\r\n${"X: y\r\n".repeat(count - 2)}`;
  const long = (bytes: number) => `${line(`/healthz?${"q".repeat(bytes - 9)}`)}Host: a\r\n`;

  expect(`${padded(headBytes)}\r\n`).toHaveLength(headBytes);
  expect(await send(padded(headBytes))).toMatchObject({ status: 200 });
  expect(await send(padded(headBytes + 1))).toMatchObject({ status: 413, why: "head_too_large" });
  expect(await send(padded(1_000_000))).toEqual({ status: 413, why: "head_too_large", closes: true });
  expect(await send(many(headersMax))).toMatchObject({ status: 200 });
  expect(await send(many(headersMax + 1))).toMatchObject({ status: 413, why: "too_many_headers" });
  expect(await send(many(3_000))).toMatchObject({ status: 413 });
  expect(await send(long(urlBytes))).toMatchObject({ status: 200 });
  expect(await send(long(urlBytes + 1))).toMatchObject({ status: 413, why: "url_too_long" });
  for (const name of ["Accept", "Content-Type"]) {
    const typed = (bytes: number) => `${line("/healthz")}Host: a\r\n${name}: ${"t".repeat(bytes)}\r\n`;
    expect(await send(typed(mediaTypesBytes))).toMatchObject({ status: 200 });
    expect(await send(typed(mediaTypesBytes + 1))).toMatchObject({ status: 413, why: "media_types_too_long" });
  }
});

it("names a way for values that are too long for a URL", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  const tags = Array.from({ length: 15 }, (_, number) => "記".repeat(98) + number);
  const values = tags.map((tag) => `&tags=${encodeURIComponent(tag)}`).join("");
  const byUrl = (count: number) => ask(`${url}/v1/memories/search?query=a${values.slice(0, count)}`, { key });

  const [tooLong, muchTooLong] = [await byUrl(urlBytes), await byUrl(values.length)];
  for (const { status, body } of [tooLong, muchTooLong]) {
    expect(status).toBe(413);
    const { message } = (body as { error: { message: string } }).error;
    const [, method = "", path = ""] = /`([A-Z]+) (\/\S*)`/.exec(message) ?? [];
    const query = 'query ($tags: [String!]!) { searchMemories(query: "a", tags: $tags) { total } }';
    const answer = await ask(url + path, { method, key, body: { query, variables: { tags } } });
    expect([message, answer]).toMatchObject([
      message,
      { status: 200, body: { data: { searchMemories: { total: 0 } } } },
    ]);
  }
});

it("refuses a URL that cannot be parsed", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  for (const target of ["http://[/graphql", "http://[1::2:3/"]) {
    const answer = await exchange(url, `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`, {
      silenceMs: 10_000,
    });
    expect(saidIn(answer)).toMatchObject({ status: 400, closes: true });
    expect(answer).toContain("Send a path");
  }
  expect(world.bugs).toEqual([]);
});

it("refuses a head or a body that arrives too slowly, and says so", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({}, undefined, { headTimeoutMs: 1_000, bodyTimeoutMs: 2_000 });
  const { key } = await world.user();
  const slow = async (begin: string, drop: string) => {
    const socket = openConnection(url);
    const startedAt = performance.now();
    socket.write(begin);
    const drip = setInterval(() => socket.write(drop), 50);
    const answer = await untilClosed(socket);
    clearInterval(drip);
    return { ...saidIn(answer), tookMs: performance.now() - startedAt };
  };
  const post = `POST /v1/memories HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;

  const late = { status: 400, closes: true, why: "request_timeout" };
  expect(await slow("", "")).toMatchObject(late);
  expect(await slow("GET /me HTTP/1.1\r\nX: ", "k")).toMatchObject(late);
  expect(await slow(`${post}Content-Length: 1000\r\n\r\n`, " ")).toMatchObject(late);
  const chunked = await slow(`${post}Transfer-Encoding: chunked\r\n\r\n`, "1\r\n \r\n");
  expect(chunked).toMatchObject(late);
  expect(chunked.tookMs).toBeGreaterThan(1_900);
  expect(world.bugs).toEqual([]);
});

it.each([
  ["as it comes", "", "", Buffer.alloc(65_536, " ")],
  ["decompressed", "Content-Encoding: gzip\r\n", "", gzipSync(Buffer.alloc(200_000, " "))],
  ["decompressed to nothing", "Content-Encoding: gzip\r\n", GZIP_BEGINS, EMPTY_BLOCKS],
] as const)("refuses an endless body at its limit, %s, and ends the connection", async (_how, header, first, more) => {
  await using world = await createWorld();
  const { url } = await world.serve({}, undefined, { lingerMs: 300, lingerBytes: 500_000 });
  const { key } = await world.user();

  for (const [authorization, status] of [
    [`Authorization: Bearer ${key}\r\n`, 413],
    ["Authorization: Bearer wrong\r\n", 401],
    ["", 401],
  ] as const) {
    const socket = openConnection(url);
    const type = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n";
    socket.write(`POST /v1/memories HTTP/1.1\r\nHost: a\r\n${authorization}${header}${type}\r\n`);
    if (first) socket.write(inChunk(first));
    const sent = pour(socket, inChunk(more));
    expect(saidIn(await untilClosed(socket))).toMatchObject({ status, closes: true });
    // Plus what the system's own buffers hold.
    expect(await sent).toBeLessThan(bodyBytes + 20_000_000);
  }
  expect(world.bugs).toEqual([]);
});

it("reads a body in as many pieces as its limit, in little memory, and refuses one more", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  const type = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n";
  const begin = `POST /v1/memories HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n${type}\r\n`;
  const note = inChunk(Buffer.from(JSON.stringify({ type: "general", title: "A note", content: "Something." })));
  const send = (pieces: number) => {
    const socket = openConnection(url);
    socket.write(`${begin}${note.toString()}${"1\r\n \r\n".repeat(pieces - 1)}`);
    return socket;
  };
  const end = async (socket: Socket) => {
    socket.write("0\r\n\r\n");
    return saidIn(await untilClosed(socket));
  };
  expect(await end(send(bodyPieces))).toMatchObject({ status: 201 });
  const before = await heapMegabytes();

  const sockets = Array.from({ length: 30 }, () => send(bodyPieces));
  const taken = (await heapMegabytes()) - before;

  expect(await Promise.all(sockets.map(end))).toMatchObject(sockets.map(() => ({ status: 201 })));
  expect(taken).toBeLessThan(20);
  expect(await end(send(bodyPieces + 1))).toEqual({ status: 413, why: "too_many_pieces", closes: true });
  expect(world.bugs).toEqual([]);
});

it("refuses a body with too large a Content-Length before it is sent, and one just above the limit", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  const head = `POST /v1/memories HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;

  const answer = await exchange(url, `${head}Content-Length: ${bodyBytes + 1}\r\n\r\n`, { silenceMs: 10_000 });
  expect(saidIn(answer)).toEqual({ status: 413, closes: true, why: "payload_too_large" });
  for (let round = 0; round < 20; round++) {
    const body = Buffer.alloc(bodyBytes + 1 + round * 30_000, " ");
    expect((await ask(`${url}/v1/memories`, { key, body })).status).toBe(413);
  }
});

it("asks for the body of a client that waits for that, unless the request is refused", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  const body = JSON.stringify({ type: "general", title: "A note", content: "Something." });
  const head = (authorization: string, length: number) =>
    `POST /v1/memories HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${authorization}\r\n` +
    `Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: ${length}\r\n\r\n`;

  const socket = openConnection(url);
  socket.write(head(key, body.length));
  expect(await nextAnswer(socket)).toBe("HTTP/1.1 100 Continue\r\n\r\n");
  socket.write(body);
  expect(await nextAnswer(socket)).toMatch(/^HTTP\/1\.1 201 /);
  socket.destroy();

  const patient = { silenceMs: 10_000 };
  // Clients of HTTP/1.0 do not know this status.
  const older = await exchange(url, `${head(key, body.length).replace("1.1", "1.0")}${body}`, patient);
  expect(older).toMatch(/^HTTP\/1\.1 201 /);
  const tooLarge = await exchange(url, head(key, bodyBytes + 1), patient);
  const keyless = await exchange(url, head("wrong", body.length), patient);
  expect([tooLarge, keyless].map(saidIn)).toMatchObject([
    { status: 413, closes: true },
    { status: 401, closes: true },
  ]);
});

it.each(["0", "1"])(
  "closes the connection on which a body may never come, instead of reading the next request as the body: %s proxies",
  async (proxies) => {
    await using world = await createWorld();
    const { url } = await world.serve({ TRUSTED_PROXIES: proxies });
    const { key } = await world.user();
    const patient = { silenceMs: 10_000 };

    for (const [line, status] of [
      ["POST /v1/memories", 401],
      ["PUT /docs", 405],
      ["POST /nothing", 404],
      ["OPTIONS /v1/memories", 204],
      ["GET /healthz", 200],
      ["POST /mcp", 415],
    ] as const) {
      const authorization = line === "POST /mcp" ? `Authorization: Bearer ${key}\r\n` : "";
      const head = `${line} HTTP/1.1\r\nHost: a\r\n${authorization}Expect: 100-continue\r\nContent-Length: 40\r\n\r\n`;
      expect([line, saidIn(await exchange(url, head, patient))]).toMatchObject([line, { status, closes: true }]);
    }
  },
);

it("keeps a connection whose refused body ends soon", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const socket = openConnection(url);
  const answers = untilClosed(socket);
  for (const length of [10, 100_000, bodyBytes]) {
    socket.write(`POST /v1/memories HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n${" ".repeat(length)}`);
  }
  socket.write("GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");

  const statuses = Array.from((await answers).matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status);
  expect(statuses).toEqual(["401", "401", "401", "200"]);
});

/** Sends the same bytes until the connection is closed. Returns how many bytes were sent. */
async function pour(socket: Socket, bytes: Buffer): Promise<number> {
  let sent = 0;
  while (!socket.destroyed) {
    sent += bytes.length;
    const goesOn = socket.write(bytes);
    await new Promise<void>((done) => {
      if (goesOn) setImmediate(done);
      else socket.once("drain", done);
      socket.once("close", done);
    });
    socket.removeAllListeners("drain");
  }
  return sent;
}
