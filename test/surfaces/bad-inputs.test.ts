import { brotliCompressSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { expect, it } from "vitest";
import { memories } from "../../src/features/memories/list-memories.js";
import { type Answer, type Ask, ask } from "../support/http.js";
import { aLink, aMemory, memoriesTitled } from "../support/memories.js";
import { exchange } from "../support/socket.js";
import { type Actor, createWorld } from "../support/world.js";
import { roundsOf } from "../support/rounds.js";

/** Named cases, each with its request and the expected outcome: a status and, if the answer is ours, an error code. */
type Table<Request> = Readonly<Record<string, readonly [request: Request, outcome: string]>>;

/** The actual and expected outcomes of all cases, to be compared as a whole. */
async function outcomes<Request>(table: Table<Request>, send: (request: Request) => Promise<string>) {
  const actual: Record<string, string> = {};
  for (const [name, [request]] of Object.entries(table)) actual[name] = await send(request);
  const expected = Object.fromEntries(Object.entries(table).map(([name, [, outcome]]) => [name, outcome]));
  return { actual, expected };
}

/** An answer in short: its status, and the error code in the form of either door. */
function short({ status, body }: Answer): string {
  const { error, errors } = (typeof body === "object" ? (body ?? {}) : {}) as {
    error?: { code: string };
    errors?: Array<{ extensions: { code: string } }>;
  };
  return [status, error?.code ?? errors?.[0]?.extensions.code].filter(Boolean).join(" ");
}

const BAD = "400 bad_request";
const LOST = "404 not_found";
const NOTE = { type: "general", title: "A title", content: "Something." };

it("names fields of wrong types and fields out of bounds in one refusal", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  const paths = async (path: string, body?: object) =>
    ((await ask(url + path, { key, body })).body as { error: { details: Array<{ path: string }> } }).error.details
      .map((issue) => issue.path)
      .toSorted();

  const note = { type: 7, title: "", importance: 2, summary: "s".repeat(5_000), unheard_of: 1 };
  expect(await paths("/v1/memories", note)).toEqual(
    ["content", "importance", "summary", "title", "type", "unheard_of"].toSorted(),
  );
  expect(await paths("/v1/memories", { ...NOTE, summary: "s".repeat(5_000), importance: 2 })).toEqual([
    "importance",
    "summary",
  ]);
  expect(await paths("/v1/memories/search?query=&limit=x&min_importance=2")).toEqual([
    "limit",
    "min_importance",
    "query",
  ]);
});

it("refuses malformed HTTP, and keeps running", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  const request = (first: string, ...headers: string[]) =>
    [`${first} HTTP/1.1`, "Host: a", ...headers, "", ""].join("\r\n");
  const authorization = `Authorization: Bearer ${key}`;
  const close = "Connection: close";
  const table: Table<string | Uint8Array> = {
    "line feeds alone": ["GET /healthz HTTP/1.1\nHost: a\n\n", "400"],
    "no host": ["GET /healthz HTTP/1.1\r\n\r\n", "400"],
    "two lengths": [
      `${request("POST /v1/memories", authorization, "Content-Length: 5", "Content-Length: 6")}abcde`,
      "400",
    ],
    "a length and chunks": [
      `${request("POST /v1/memories", authorization, "Content-Length: 5", "Transfer-Encoding: chunked")}0\r\n\r\n`,
      "400",
    ],
    "an unknown transfer coding": [request("POST /v1/memories", authorization, "Transfer-Encoding: xchunked"), "400"],
    "the hello of TLS": [Buffer.from("160301020001000100", "hex"), "400"],
    "a method nobody knows": [request("FOO /v1/memories"), "400"],
    "a method that would echo": [request("TRACE /v1/memories", authorization, close), "405"],
    "a method of another protocol": [request("PROPFIND /v1/memories", authorization, close), "405"],
    "a tunnel": [request("CONNECT a:80"), "405"],
    "an expectation nobody has": [request("POST /v1/memories", "Expect: foo", close), "401"],
    "a header of 20 KB": [request("GET /healthz", `X-Long: ${"k".repeat(20_000)}`), "413"],
    "a URL of 20 KB": [request(`GET /v1/${"k".repeat(20_000)}`), "413"],
    "a NUL in the key": [request("GET /me", `${authorization}\0`, close), "400"],
    "an upgrade to HTTP/2": [request("GET /healthz", "Connection: Upgrade, close", "Upgrade: h2c"), "200"],
    "a whole URL": [request("GET http://evil.example/healthz", close), "200"],
    "a large body without a key": [
      `${request("POST /v1/memories", "Content-Type: application/json", "Content-Length: 10000000")}${"x".repeat(100_000)}`,
      "401",
    ],
  };

  const answers: string[] = [];
  const { actual, expected } = await outcomes(table, async (bytes) => {
    const answer = await exchange(url, bytes, { silenceMs: 5_000 });
    answers.push(answer);
    return /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? "";
  });

  expect(actual).toEqual(expected);
  // The parser and the service refuse in the same form.
  for (const answer of answers.filter((text) => !text.startsWith("HTTP/1.1 200"))) {
    const [head = "", body = ""] = answer.split("\r\n\r\n");
    expect(head).toMatch(/^x-request-id: \S+/im);
    expect(JSON.parse(body)).toMatchObject({ error: { code: expect.any(String) as string } });
  }
  expect(answers.join("")).not.toMatch(new RegExp(`${key}|evil\\.example`));
  expect((await ask(`${url}/healthz`)).status).toBe(200);
  expect(world.bugs).toEqual([]);
});

it("answers invalid paths and queries with the right status", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const { id } = await aMemory(ann);
  const search = (query: string) => `/v1/memories/search?${query}`;
  const related = (query: string) => `/v1/memories/${id}/related?${query}`;
  const table: Table<string> = {
    "an escape that is no UTF-8": ["/v1/memories/%ff", BAD],
    "a way out of the folder": ["/v1/memories/..%2f..%2fetc%2fpasswd", LOST],
    "two slashes": ["//v1/memories/search?query=a", LOST],
    "a slash at the end": [`/v1/memories/${id}/`, LOST],
    "upper case": ["/V1/Memories/Search?query=a", LOST],
    "an id of 8 KB": [`/v1/memories/${"a".repeat(8_000)}`, LOST],
    "an id that objects have": ["/v1/memories/__proto__", LOST],
    "another such": ["/v1/memories/constructor", LOST],
    "an id with a NUL": [`/v1/memories/${id}%00`, LOST],
    "an id in braces": [`/v1/memories/%7B${id}%7D`, LOST],
    "an unknown start": [`/v1/memories/${world.services.newId()}/related`, LOST],
    "a parameter nobody knows": [`/v1/memories/${id}?expand=all`, BAD],
    "the id once more": [`/v1/memories/${id}?id=${id}`, BAD],
    "no query": [search("limit=5"), BAD],
    "an empty query": [search("query="), BAD],
    "a blank query": [search("query=%20%09"), BAD],
    "a long query": [search(`query=${"a".repeat(1_001)}`), BAD],
    "two queries": [search("query=a&query=b"), BAD],
    "a query in brackets": [search("query[x]=b"), BAD],
    "a query with a NUL": [search("query=a%00b"), BAD],
    "a query that is no UTF-8": [search("query=caf%e9"), BAD],
    "a lone per cent sign": [search("query=50%"), "200"],
    "a filter of the database's": [search("query=a&where[graph_id]=x"), BAD],
    "a prototype": [search("query=a&__proto__=x"), BAD],
    "a regular expression": [search(`query=${encodeURIComponent("(a+)+$".repeat(20))}`), "200"],
    "two limits": [search("query=a&limit=1&limit=100"), BAD],
    "an unknown type to follow": [related("types=FOO"), "200"],
    "a type in lower case": [related("types=solves"), BAD],
    "an empty type": [related("types="), BAD],
    "commas alone": [related("types=,,"), BAD],
    "too deep": [related("max_depth=6"), BAD],
    "a direction in upper case": [related("direction=OUT"), BAD],
    "a graph in upper case": [related("graph=PERSONAL"), BAD],
    "no team's graph": [related("graph=team"), LOST],
    "an importance without end": ["/v1/memories?min_importance=1e999", BAD],
    "a day without a time": ["/v1/memories?created_after=2026-01-01", BAD],
    "a cursor of one's own": ["/v1/memories?cursor=MQ", BAD],
    ...Object.fromEntries(
      ["0", "-1", "1001", "1.5", "1e2", "0x10", "NaN", "", "%205", "+5", "5%20", "%D9%A1", "1_0", "true"].map(
        (limit) => [`the limit ${limit}`, [search(`query=a&limit=${limit}`), BAD]] as const,
      ),
    ),
  };

  const { actual, expected } = await outcomes(table, async (path) => short(await ask(url + path, { key: ann.key })));

  expect(actual).toEqual(expected);
  expect(world.bugs).toEqual([]);
});

it("accepts only bodies that are JSON in UTF-8", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const json = JSON.stringify(NOTE);
  const bytes = (...parts: ReadonlyArray<string | number[]>) =>
    Buffer.concat(parts.map((part) => Buffer.from(part as string)));
  const typed = (type: string): Ask => ({ body: json, headers: { "content-type": type } });
  const OTHER = "415 unsupported_media_type";
  const LARGE = "413 payload_too_large";
  const table: Table<Ask> = {
    "no body": [{ method: "POST" }, BAD],
    "an empty body": [{ body: "" }, BAD],
    ...Object.fromEntries(
      ["null", "1", '"x"', "true", "[]", `[${json}]`].map((body) => [`the body ${body}`, [{ body }, BAD]] as const),
    ),
    "a BOM": [{ body: bytes([0xef, 0xbb, 0xbf], json) }, "201"],
    "UTF-16": [{ body: Buffer.from(json, "utf16le") }, BAD],
    "an overlong character": [{ body: bytes('{"type":"general","content":"c","title":"', [0xc0, 0xaf], '"}') }, BAD],
    "a byte that is no character": [{ body: bytes('{"type":"general","content":"c","title":"', [0xff], '"}') }, BAD],
    "a surrogate as bytes": [
      { body: bytes('{"type":"general","content":"c","title":"', [0xed, 0xa0, 0x80], '"}') },
      BAD,
    ],
    "half a surrogate pair": [{ body: '{"type":"general","content":"c","title":"a\\ud800"}' }, BAD],
    "an escaped NUL": [{ body: '{"type":"general","content":"c","title":"a\\u0000b"}' }, BAD],
    "a prototype": [{ body: `{"__proto__":{"isAdmin":true},${json.slice(1)}` }, BAD],
    "a constructor": [{ body: `{"constructor":{"prototype":{"isAdmin":true}},${json.slice(1)}` }, BAD],
    "a field of the database's": [{ body: { ...NOTE, graph_id: world.services.newId() } }, BAD],
    "an id of one's own": [{ body: { ...NOTE, id: world.services.newId() } }, BAD],
    "a field in code's case": [{ body: { ...NOTE, createdBy: ann.caller.userId } }, BAD],
    "a list nested without end": [{ body: `{"title":${"[".repeat(100_000)}${"]".repeat(100_000)}}` }, BAD],
    "objects nested without end": [{ body: `${'{"tags":'.repeat(100_000)}1${"}".repeat(100_000)}` }, BAD],
    "a megabyte": [{ body: json.padEnd(1_048_576) }, "201"],
    "more than a megabyte": [{ body: json.padEnd(1_048_577) }, LARGE],
    gzip: [{ body: gzipSync(json), headers: { "content-encoding": "gzip" } }, "201"],
    "gzip in other letters": [{ body: gzipSync(json), headers: { "content-encoding": "GZip" } }, "201"],
    "a gzip bomb": [{ body: gzipSync(Buffer.alloc(50_000_000)), headers: { "content-encoding": "gzip" } }, LARGE],
    "gzip that is none": [{ body: json, headers: { "content-encoding": "gzip" } }, BAD],
    "an encoding whose decoder takes megabytes": [
      { body: brotliCompressSync(json), headers: { "content-encoding": "br" } },
      OTHER,
    ],
    "an unknown encoding": [{ body: json, headers: { "content-encoding": "foo" } }, OTHER],
    "plain text": [typed("text/plain"), OTHER],
    "a form": [typed("application/x-www-form-urlencoded"), OTHER],
    "a form in parts": [typed("multipart/form-data; boundary=x"), OTHER],
    "JSON of another kind": [typed("application/vnd.api+json"), OTHER],
    "no type": [typed(""), OTHER],
    "nonsense for a type": [typed(";;;"), OTHER],
    "JSON in UTF-16": [typed("application/json; charset=utf-16le"), OTHER],
    "JSON in Latin-1": [typed("application/json; charset=iso-8859-1"), OTHER],
    "JSON in UTF-8 by name": [typed('Application/JSON; Charset="UTF-8"'), "201"],
  };

  const send = async (request: Ask) => short(await ask(`${url}/v1/memories`, { key: ann.key, ...request }));
  const { actual, expected } = await outcomes(table, send);

  expect(actual).toEqual(expected);
  expect(Object.keys(Object.prototype)).toEqual([]);
  expect(world.bugs).toEqual([]);
});

it("refuses bodies that are not JSON", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const title = (text: string) => `{"type":"general","content":"c","title":${text}}`;
  const texts = [
    "{",
    "}",
    "{]",
    '{"type":',
    '{"type"}',
    '{"type":"a",}',
    "{,}",
    "{type:1}",
    "{'type':'a'}",
    '{"a":1 "b":2}',
    '{"a" 1}',

    "{}{}",
    "{} x",
    "{}//",
    "{}/**/",
    "[1,]",
    "[,1]",
    "nul",
    "True",
    "undefined",
    "NaN",
    "\u00a0{}",
    "\u2060{}",
    "\ufeff\ufeff{}",
    ...[
      "'a'",
      '"a',
      '"a\nb"',
      '"a\tb"',
      '"\\x41"',
      '"\\u12"',
      '"\\ud83d\\u"',
      "01",
      "+1",
      "1.",
      ".5",
      "1e",
      "0x1F",
      "Infinity",
      "-",
    ].map(title),
  ];

  for (const body of texts) {
    const answer = await ask(`${url}/v1/memories`, { key: ann.key, body });
    expect([short(answer), (answer.body as { error: object }).error], body).toMatchObject([
      BAD,
      { details: [{ path: "" }] },
    ]);
  }
});

it("answers any bytes with 201 if they are the JSON of a memory, and with 400 otherwise", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const sound = Buffer.from(
    JSON.stringify({ ...NOTE, title: '\u{1f600} \u00e9 \\ " \u0007', tags: ["a"], importance: 0.5 }),
  );
  const edit = fc.record({
    at: fc.nat({ max: sound.length - 1 }),
    drop: fc.nat({ max: 3 }),
    put: fc.uint8Array({ maxLength: 3 }),
  });
  const spoilt = fc.array(edit, { maxLength: 2 }).map((edits) => {
    let bytes = sound;
    for (const { at, drop, put } of edits)
      bytes = Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + drop)]);
    return bytes;
  });

  await fc.assert(
    fc.asyncProperty(spoilt, async (body) => {
      const { status } = await ask(`${url}/v1/memories`, { key: ann.key, body });
      expect(isJson(body) ? [201, 400] : [400]).toContain(status);
    }),
    { numRuns: roundsOf(300), endOnFailure: true },
  );
  expect(world.bugs).toEqual([]);
});

it("refuses invalid relationships", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const [from, to] = await memoriesTitled(ann, "From", "To");
  await aLink(ann, from, to, { relationshipType: "CAUSES" });
  const link = { from_memory_id: from.id, to_memory_id: to.id, relationship_type: "SOLVES" };
  const table: Table<object> = {
    "an unknown start": [{ ...link, from_memory_id: world.services.newId() }, LOST],
    "an unknown end": [{ ...link, to_memory_id: world.services.newId() }, LOST],
    "an id that is none": [{ ...link, to_memory_id: "1; DROP TABLE memory" }, LOST],
    "a number for an id": [{ ...link, to_memory_id: 7 }, BAD],
    "an id in a list": [{ ...link, to_memory_id: [to.id] }, BAD],
    "an operator for an id": [{ ...link, to_memory_id: { not: "" } }, BAD],
    "a memory to itself": [{ ...link, to_memory_id: from.id }, BAD],
    "the same once more": [{ ...link, relationship_type: "CAUSES" }, "409 conflict"],
    "a type in lower case": [{ ...link, relationship_type: "solves" }, BAD],
    "a type with more behind it": [{ ...link, relationship_type: "SOLVES; --" }, BAD],
    "a type with a line behind it": [{ ...link, relationship_type: "SOLVES\n" }, BAD],
    "no type": [{ ...link, relationship_type: "" }, BAD],
    "half of it": [{ from_memory_id: from.id }, BAD],
  };

  const send = async (body: object) => short(await ask(`${url}/v1/relationships`, { key: ann.key, body }));
  const { actual, expected } = await outcomes(table, send);

  expect(actual).toEqual(expected);
  expect(world.bugs).toEqual([]);
});

it("refuses invalid GraphQL requests in GraphQL's format", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const asked = (query: string, rest: object = {}): Ask => ({ body: { query, ...rest } });
  const viewer = "{ viewer { id } }";
  const stored = (input: object) =>
    asked("mutation($i: CreateMemoryInput!) { createMemory(input: $i) { id } }", { variables: { i: input } });
  const limited = (l: unknown) => asked("query($l: Int!) { memories(limit: $l) { nextCursor } }", { variables: { l } });
  const BAD = "400 BAD_REQUEST";
  const INVALID = "400 GRAPHQL_VALIDATION_FAILED";
  const BROKEN = "400 GRAPHQL_PARSE_FAILED";
  const REFUSED = "200 BAD_REQUEST";
  const OTHER = "415 UNSUPPORTED_MEDIA_TYPE";
  const table: Table<Ask> = {
    "no body": [{ method: "POST" }, BAD],
    "an empty object": [{ body: {} }, BAD],
    "a list": [{ body: [{ query: viewer }] }, BAD],
    null: [{ body: "null" }, BAD],
    "half of JSON": [{ body: '{"query":' }, BAD],
    "JSON that is no UTF-8": [{ body: Buffer.from([0x7b, 0xff, 0x7d]) }, BAD],
    "a number for a query": [{ body: { query: 1 } }, BAD],
    "text for variables": [asked(viewer, { variables: "{}" }), BAD],
    "a list for variables": [asked(viewer, { variables: [] }), BAD],
    "text for extensions": [asked(viewer, { extensions: "{}" }), BAD],
    "a number for a name": [asked(viewer, { operationName: 1 }), BAD],
    "a name nobody gave": [asked(`query A ${viewer}`, { operationName: "B" }), BAD],
    "text that is no document": [asked("viewer {"), BROKEN],
    "an empty document": [asked("   "), BROKEN],
    "a list nested without end": [asked(`{ memories(tags: ${"[".repeat(3_000)}`), BROKEN],
    "a field nobody has": [asked("{ searchMemorie }"), INVALID],
    "an argument left out": [asked("{ memory { id } }"), INVALID],
    "a null that cannot be": [asked("{ memories(limit: null) { nextCursor } }"), INVALID],
    "a null where a condition includes it": [
      asked("query($l: Int = 5, $x: Boolean!) { memories(limit: $l) @include(if: $x) { nextCursor } }", {
        variables: { l: null, x: true },
      }),
      BAD,
    ],
    "text for an input": [asked('mutation { createMemory(input: "x") { id } }'), INVALID],
    "a subscription": [asked("subscription { memories { nextCursor } }"), BAD],
    "fifty changes": [asked(`mutation { ${numbered(50, 'deleteMemory(input: { id: "x" }) { id }')} }`), INVALID],
    "a fragment of itself": [asked("{ ...F } fragment F on Query { ...F }"), INVALID],
    "a variable nested without end": [
      { body: `{"query":"${viewer}","variables":{"x":${"[".repeat(50_000)}${"]".repeat(50_000)}}}` },
      "400 BAD_REQUEST",
    ],
    "a limit beyond 32 bits": [limited(2 ** 31), BAD],
    "a limit in quotes": [limited("1"), BAD],
    "half a limit": [limited(1.5), BAD],
    "a limit of nothing": [limited(0), REFUSED],
    "a limit beyond ours": [limited(101), REFUSED],
    "a NUL": [stored({ ...NOTE, title: "a\0b" }), REFUSED],
    "half a surrogate pair": [{ body: JSON.stringify(stored({ ...NOTE, title: "\ud800" }).body) }, REFUSED],
    "a blank title": [stored({ ...NOTE, title: "\u3164" }), REFUSED],
    "a field nobody knows": [stored({ ...NOTE, team_id: "x" }), BAD],
    "a field left out": [stored({ title: "A title" }), BAD],
    "nobody's memory": [asked('{ memory(id: "x") { id } }'), "200 NOT_FOUND"],
    PUT: [{ ...asked(viewer), method: "PUT" }, "405 METHOD_NOT_ALLOWED"],
    "plain text": [{ body: JSON.stringify({ query: viewer }), headers: { "content-type": "text/plain" } }, OTHER],
    "a form": [{ body: `query=${viewer}`, headers: { "content-type": "application/x-www-form-urlencoded" } }, OTHER],
    "XML for an answer": [{ ...asked(viewer), headers: { accept: "application/xml" } }, "406 BAD_REQUEST"],
    "more than a megabyte": [{ body: JSON.stringify({ query: viewer }).padEnd(1_048_577) }, "413 PAYLOAD_TOO_LARGE"],
    "an unknown encoding": [{ ...asked(viewer), headers: { "content-encoding": "foo" } }, OTHER],
  };

  const send = async (request: Ask) => short(await ask(`${url}/graphql`, { key: ann.key, ...request }));
  const { actual, expected } = await outcomes(table, send);

  expect(actual).toEqual(expected);
  expect(await titlesOf(ann)).toEqual([]);
  expect(world.bugs).toEqual([]);
});

function isJson(bytes: Uint8Array): boolean {
  try {
    JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return true;
  } catch {
    return false;
  }
}

/** The same field this many times, each with an alias of its own. */
const numbered = (count: number, field: string) => Array.from({ length: count }, (_, n) => `f${n}: ${field}`).join(" ");

const titlesOf = async (actor: Actor) => (await actor.did(memories)).memories.map(({ title }) => title);
