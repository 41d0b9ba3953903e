import { once } from "node:events";
import { expect, it } from "vitest";
import { ask } from "../support/http.js";
import { openConnection, exchange, nextAnswer, saidIn, untilClosed } from "../support/socket.js";
import { createWorld } from "../support/world.js";

/** Headers of a request whose connection ends with the answer. */
const CLOSE = "Connection: close\r\n";
const HOST = `Host: a\r\n${CLOSE}`;

const get = (target: string, headers = "", version = "HTTP/1.1"): string =>
  `GET ${target} ${version}\r\n${HOST}${headers}\r\n`;
/** A request that creates a memory, with the framing of a row; `KEY` stands for an API key. */
const post = (headers: string, body: string): string =>
  `POST /v1/memories HTTP/1.1\r\n${HOST}Authorization: Bearer KEY\r\nContent-Type: application/json\r\n${headers}\r\n${body}`;
const CHUNKED = "Transfer-Encoding: chunked\r\n";

type Row = readonly [name: string, bytes: string, status: number];

/** Request targets. */
const TARGETS: readonly Row[] = [
  ["the whole address", get("http://a/healthz"), 200],
  ["another one's address", get("http://other.example.com:99999/healthz"), 200],
  ["an address without a host", get("http:///healthz"), 200],
  ["an address that cannot be read", get("http://[/"), 400],
  ["an address in an encoding that cannot be read", get("http://xn--\u00fc/"), 400],
  ["an address that cannot be read, two slashes first", get("//[/"), 404],
  ["no slash first", get("healthz"), 400],
  ["another scheme", get("javascript:alert(1)"), 400],
  ["a query alone", get("?"), 400],
  ["a fragment", get("/docs#limits"), 400],
  ["a fragment after a query", get("/v1/memories/search?query=C#"), 400],
  ["a per cent sign alone", get("/%"), 404],
  ["a per cent sign alone, in an invitation", get("/invitations/%"), 400],
  ["a per cent sign alone, in an id", get("/v1/memories/%zz", "Authorization: Bearer KEY\r\n"), 400],
  ["bytes that are no UTF-8, in an id", get("/v1/memories/%ff", "Authorization: Bearer KEY\r\n"), 400],
  ["bytes that are no UTF-8, in a query", get("/v1/memories?cursor=%ff", "Authorization: Bearer KEY\r\n"), 400],
  ["the same behind a question mark", get("/v1/memories/search?query=a?%ff", "Authorization: Bearer KEY\r\n"), 400],
  ["a raw byte in the path", get("/v1/\xff"), 400],
  ["a raw byte in the query", get("/v1/memories?cursor=\xff"), 400],
  ["NUL in the path", get("/v1/\0"), 400],
  ["a star", get("*"), 404],
  ["OPTIONS *", `OPTIONS * HTTP/1.1\r\n${HOST}\r\n`, 204],
  ["CONNECT", `CONNECT a:80 HTTP/1.1\r\n${HOST}\r\n`, 405],
  ["TRACE", `TRACE / HTTP/1.1\r\n${HOST}\r\n`, 405],
  ["a method that nobody knows", `FOO / HTTP/1.1\r\n${HOST}\r\n`, 400],
  ["a method in small letters", `get /healthz HTTP/1.1\r\n${HOST}\r\n`, 400],
  ["no method", `/healthz HTTP/1.1\r\n${HOST}\r\n`, 400],
];

/** Variants of the head. */
const HEADS: readonly Row[] = [
  ["HTTP/1.0 without a host", "GET /healthz HTTP/1.0\r\n\r\n", 200],
  ["HTTP/1.1 without a host", `GET /healthz HTTP/1.1\r\n${CLOSE}\r\n`, 400],
  ["an empty host", `GET /healthz HTTP/1.1\r\nHost:\r\n${CLOSE}\r\n`, 200],
  ["a host of IPv6", `GET /healthz HTTP/1.1\r\nHost: [::1]:4000\r\n${CLOSE}\r\n`, 200],
  ["two hosts", `GET /healthz HTTP/1.1\r\nHost: a\r\nhost: b\r\n${CLOSE}\r\n`, 400],
  ["the same host twice", `GET /healthz HTTP/1.1\r\nHost: a\r\nHost: a\r\n${CLOSE}\r\n`, 400],
  ["a host with a path", `GET /healthz HTTP/1.1\r\nHost: a/b\r\n${CLOSE}\r\n`, 400],
  ["a host with markup", `GET /docs HTTP/1.1\r\nHost: "><script>\r\n${CLOSE}\r\n`, 400],
  ["a host with a user", `GET /docs HTTP/1.1\r\nHost: a@b\r\n${CLOSE}\r\n`, 400],
  ["HTTP/1.2", get("/healthz", "", "HTTP/1.2"), 400],
  ["the beginning of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400],
  ["the beginning of TLS", `\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03${"a".repeat(500)}`, 400],
  ["the wish for HTTP/2", get("/healthz", "Upgrade: h2c\r\nHTTP2-Settings: \r\n"), 200],
  [
    "the wish for a web socket",
    "GET /graphql HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n",
    400,
  ],
  ["a space in the name of a header", get("/healthz", "X Y: z\r\n"), 400],
  ["a header over two lines", get("/healthz", "X: y\r\n z\r\n"), 400],
  ["lines that end otherwise", "GET /healthz HTTP/1.1\nHost: a\n\n", 400],
  ["NUL in a header", get("/healthz", "X: \0\r\n"), 400],
  ["a control character in a header", get("/healthz", "X: \x01\r\n"), 400],
  ["other letters in an id of a request", get("/healthz", "X-Request-Id: \xe4\r\n"), 200],
  ["other letters in a key", get("/me", "Authorization: Bearer \xff\r\n"), 401],
  ["an empty key", get("/me", "Authorization:\r\n"), 401],
  ["a key twice", get("/me", "Authorization: Bearer KEY\r\nauthorization: Bearer other\r\n"), 400],
  ["a key twice in the same words", get("/me", "Authorization: Bearer KEY\r\nAuthorization: Bearer KEY\r\n"), 400],
  ["two types of a body", post("content-type: text/plain\r\nContent-Length: 2\r\n", "{}"), 400],
  ["201 headers", get("/healthz", "X: y\r\n".repeat(199)), 413],
  ["a header of 17 KB", get("/healthz", `X: ${"y".repeat(17_000)}\r\n`), 413],
  ["an empty line first", `\r\n${get("/healthz")}`, 200],
  ["an expectation without a body", get("/healthz", "Expect: 100-continue\r\n"), 200],
];

/** Ways to frame a body. Two different lengths could be read as two requests by another server. */
const FRAMES: readonly Row[] = [
  ["its length twice", post("Content-Length: 2\r\nContent-Length: 2\r\n", "{}"), 400],
  ["two lengths", post("Content-Length: 2\r\nContent-Length: 3\r\n", "{}"), 400],
  ["a list of lengths", post("Content-Length: 2, 2\r\n", "{}"), 400],
  ["a length below zero", post("Content-Length: -1\r\n", "{}"), 400],
  ["a length beyond all numbers", post(`Content-Length: ${"9".repeat(30)}\r\n`, "{}"), 400],
  ["a length that is a word", post("Content-Length: two\r\n", "{}"), 400],
  ["a length and chunks", post(`${CHUNKED}Content-Length: 2\r\n`, "2\r\n{}\r\n0\r\n\r\n"), 400],
  ["chunks twice", post(CHUNKED + CHUNKED, "2\r\n{}\r\n0\r\n\r\n"), 400],
  ["another framing", post("Transfer-Encoding: gzip\r\n", "2\r\n{}\r\n0\r\n\r\n"), 400],
  ["a chunk without a length", post(CHUNKED, "zz\r\n{}\r\n0\r\n\r\n"), 400],
  ["a chunk that is longer than it says", post(CHUNKED, "2\r\n{}x\r\n0\r\n\r\n"), 400],
  ["a chunk with a long extension", post(CHUNKED, `2;${"a".repeat(17_000)}\r\n{}\r\n0\r\n\r\n`), 413],
  ["trailers that nobody reads", post(CHUNKED, "2\r\n{}\r\n0\r\nAuthorization: x\r\n\r\n"), 400],
  ["large trailers", post(CHUNKED, `2\r\n{}\r\n0\r\nX: ${"a".repeat(20_000)}\r\n\r\n`), 413],
  ["many trailers", post(CHUNKED, `2\r\n{}\r\n0\r\n${"X: y\r\n".repeat(1_000)}\r\n`), 400],
  ["an expectation", post("Expect: 100-continue\r\nContent-Length: 2\r\n", "{}"), 400],
  ["an expectation of something else", post("Expect: a cat\r\nContent-Length: 2\r\n", "{}"), 400],
];

it.each(["Authorization", "Content-Type", "Idempotency-Key"])("says which header is given twice: %s", async (name) => {
  await using world = await createWorld();
  const { url } = await world.serve();

  const answer = await exchange(url, get("/me", `${name}: one\r\n${name.toUpperCase()}: two\r\n`));

  expect(answer).toMatch(/^HTTP\/1.1 400 /);
  expect(answer).toContain(`The header ${name.toLowerCase()} is given twice. Send it once.`);
});

it("refuses chunks in HTTP/1.0, and reads no further request on the connection", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const head = "POST /mcp HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nContent-Type: application/json\r\n";

  const answer = await exchange(url, `${head}${CHUNKED}\r\n2\r\n{}\r\n0\r\n\r\n${get("/healthz")}`);

  expect(answer.match(/^HTTP\S+ \d+|^Connection: .*$/gm)?.map((line) => line.trim())).toEqual([
    "HTTP/1.1 400",
    "Connection: close",
  ]);
});

it.each(["gzip, chunked", "identity, chunked", "x, chunked"])(
  "refuses a body in a coding that it does not decode: %s",
  async (coding) => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const { key } = await world.user();
    const chunks = '28\r\n{"type":"fix","title":"A","content":"B"}\r\n0\r\n\r\n';
    const statusOf = async (framing: string) =>
      saidIn(await exchange(url, post(framing, chunks).replace("KEY", key))).status;

    expect(await statusOf(CHUNKED)).toBe(201);
    expect(await statusOf(`Transfer-Encoding: ${coding}\r\n`)).toBe(400);
  },
);

it("answers a request before it refuses what follows on its connection", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  const note = '{"type":"fix","title":"A","content":"B"}';
  const head = `Host: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 40\r\n`;
  const storing = `POST /v1/memories HTTP/1.1\r\n${head}\r\n${note}`;
  const refused = [
    "nothing that can be read\r\n\r\n",
    `GET /me HTTP/1.1\r\nX: ${"y".repeat(20_000)}\r\n\r\n`,
    "POST /v1/memories HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n",
  ];

  for (const bytes of refused) {
    const answers = await exchange(url, storing + storing + bytes, { silenceMs: 10_000 });
    expect(answers.match(/HTTP\/1\.1 \d+|Connection: [\w-]+/g)).toEqual([
      "HTTP/1.1 201",
      "Connection: keep-alive",
      "HTTP/1.1 201",
      "Connection: close",
    ]);
  }
  expect(await world.database.models.memory.count()).toBe(2 * refused.length);
});

it.each([
  ["before it arrives", `GET /healthz HTTP/1.1\r\nHost: a\r\n${CHUNKED}\r\nno size\r\n`, "200"],
  ["for its head", `POST /me HTTP/1.1\r\nHost: a\r\nHost: b\r\n${CHUNKED}\r\nno size\r\n`, "400"],
  ["in two pieces", [`GET /healthz HTTP/1.1\r\nHost: a\r\n${CHUNKED}\r\n`, "no size\r\n"], "200"],
])("gives one answer to a request with an unreadable body that is answered %s", async (_when, bytes, status) => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const client = openConnection(url);
  const all = untilClosed(client);

  const [first = "", second] = [bytes].flat();
  client.write(first);
  if (second !== undefined) {
    await once(client, "data");
    client.write(second);
  }

  expect((await all).match(/HTTP\/1\.1 \d+ /g)).toEqual([`HTTP/1.1 ${status} `]);
});

it("reads what follows CONNECT as no part of another client's request", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const tunnel = openConnection(url);
  tunnel.allowHalfOpen = true;
  tunnel.write("CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n");
  expect(await nextAnswer(tunnel)).toMatch(/^HTTP\/1\.1 405 /);

  // Node gives the new connection the parser that the tunnel had.
  const other = openConnection(url);
  other.write("GET /heal");
  await ask(`${url}/healthz`);
  tunnel.write("GET /me HTTP/1.1\r\nHost: a\r\n\r\n");
  await ask(`${url}/healthz`);
  other.write("thz HTTP/1.1\r\nHost: a\r\n\r\n");

  expect(await nextAnswer(other)).toMatch(/^HTTP\/1\.1 200 /);
  tunnel.destroy();
  other.destroy();
});

it.each([
  ["addresses", TARGETS],
  ["heads", HEADS],
  ["frames", FRAMES],
])(
  "answers odd %s with the right status, an id, a date, a line in the log, and a type that no browser guesses anew",
  async (_what, rows) => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const { key } = await world.user();
    const answers: unknown[] = [];

    for (const [name, bytes] of rows) {
      const lines = world.log.length;
      const answer = await exchange(url, Buffer.from(bytes.replace("KEY", key), "latin1"), { silenceMs: 30_000 });
      await expect.poll(() => world.log.length).toBeGreaterThan(lines);
      answers.push([name, ...whatItIs(answer)]);
    }

    expect(answers).toEqual(
      rows.map(([name, , status]) => [name, status, "an id", "a date", "its type alone", "in form"]),
    );
    expect(world.bugs).toEqual([]);
  },
);

/** The final answer: its status, its id and date, whether only its type counts, and whether a refusal has the documented form. */
function whatItIs(answer: string): unknown[] {
  const [head = "", ...rest] = answer.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, "").split("\r\n\r\n");
  const body = rest.join("\r\n\r\n");
  const status = Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]);
  const isPage = /^content-type: text\/html/im.test(head);
  const isInForm = status < 400 || isPage || /^\{"errors?":(?:\{"code"|\[\{"message")/.test(body);
  const id = /^x-request-id: [\x21-\x7e]/im.test(head) ? "an id" : "none";
  const date = /^date: \w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT\r?$/im.test(head) ? "a date" : "none";
  // Nor does it say which software answers.
  const isPlain = /^x-content-type-options: nosniff$/im.test(head) && !/^(?:x-powered-by|server):/im.test(head);
  return [status, id, date, isPlain ? "its type alone" : head, isInForm ? "in form" : body];
}
