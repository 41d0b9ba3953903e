import { gzipSync } from "node:zlib";
import type { Ask } from "./http.js";

/** A request that costs far more to answer than to send, unless the work is limited. */
export interface Hostile {
  readonly name: string;
  readonly path: string;
  /** Whether it is sent with an API key. */
  readonly withKey: boolean;
  readonly ask: Pick<Ask, "method" | "headers" | "body">;
}

const MEGABYTE = 1_048_576;
const MARKS = "\u0301";

/** GraphQL documents, with and without variables. */
const documents: ReadonlyArray<readonly [name: string, query: string, variables?: object]> = [
  ["fragments that double forty times", doubling(40, "Query", "__typename")],
  ["fragments of fields that double", `{ memories { memories { ...F0 } } } ${doubled(40, "Memory", "id")}`],
  ["fragments that double inside inline fragments", doubling(30, "Query", "... on Query { __typename }")],
  ["fragments in a circle", "{ ...A } fragment A on Query { ...B ...B } fragment B on Query { ...A ...A }"],
  ["fragments that double in a change", `mutation { ...F0 } ${doubled(40, "Mutation", "__typename")}`],
  ["fragments that double in an introspection", `{ __schema { ...F0 } } ${doubled(40, "__Schema", "description")}`],
  ["the same field a thousand times", `{ ${"__typename ".repeat(990)} }`],
  ["the same deep field eighty times", `{ ${"viewer { team { members { user { id } } } } ".repeat(80)} }`],
  [
    "two fields that are compared in depth",
    `{ ${"memories { memories { relationships { memory { id } } } } ".repeat(60)} }`,
  ],
  ["an unknown field of 60 KB", `{ ${"a".repeat(60_000)} }`],
  ["an unknown type of 60 KB", `{ ... on ${"a".repeat(60_000)} { id } }`],
  ["unknown fields of 100 letters", `{ ${Array.from({ length: 500 }, (_, n) => "x".repeat(100) + n).join(" ")} }`],
  ["an unknown enum value of 60 KB", `{ memory(id: "1", graph: "${"A".repeat(60_000)}") { id } }`],
  ["a literal of 1 MB", `{ searchMemories(query: "${"a".repeat(MEGABYTE - 100)}") { total } }`],
  ["a literal with what errors repeat", `{ memories(limit: "${"Did you mean ".repeat(4_000)}") { nextCursor } }`],
  ["a block string without end", `{ memories(cursor: """${" \n".repeat(30_000)}""") { nextCursor } }`],
  ["a list nested in a literal", `{ memories(types: ${"[".repeat(400)}${"]".repeat(400)}) { nextCursor } }`],
  ["900 wrong items in a literal", `{ memories(types: [${"1 ".repeat(900)}]) { nextCursor } }`],
  [
    "introspection that multiplies",
    `{ __schema { types { ${"fields { type { ".repeat(3)} name ${"} } ".repeat(3)} } } }`,
  ],
  [
    "introspection fifteen times",
    `{ ${Array.from({ length: 15 }, (_, n) => `a${n}: __schema { types { fields { args { type { ofType { name description } } } } } }`).join(" ")} }`,
  ],
  [
    "types of types",
    `{ ${Array.from({ length: 15 }, (_, n) => `a${n}: __type(name: "Query") { fields { type { fields { type { fields { name description } } } } } }`).join(" ")} }`,
  ],
  [
    "many places of errors behind 60,000 lines",
    `${"\n".repeat(60_000)}query(${Array.from({ length: 240 }, (_, n) => `$v${n % 18}: Int`).join(" ")}) { __typename }`,
  ],
  [
    "an argument given 300 times behind 60,000 lines",
    `${"\r".repeat(60_000)}{ memories(${"limit: 1 ".repeat(300)}) { nextCursor } }`,
  ],
  ["directives without end", `{ viewer { id ${"@skip(if: false) ".repeat(150)} } }`],
  ["240 variables", `query(${Array.from({ length: 240 }, (_, n) => `$v${n}: Int`).join(" ")}) { viewer { id } }`],
  [
    "a negative limit that pays for others",
    `{ a: searchMemories(query: "a", limit: -100000) { memories { memory { id } } } b: searchMemories(query: "a", limit: 1000) { memories { memory { relationships { memory { id title } } } } } }`,
  ],
  [
    "a variable of 1 MB that is no number",
    "query($limit: Int) { memories(limit: $limit) { nextCursor } }",
    { limit: "9".repeat(MEGABYTE - 200) },
  ],
  [
    "a list of 300,000 wrong items",
    "query($tags: [String!]) { memories(tags: $tags) { nextCursor } }",
    { tags: Array(300_000).fill(1) },
  ],
  [
    "19,000 wrong items",
    "query($tags: [String!]) { memories(tags: $tags) { nextCursor } }",
    { tags: Array(19_000).fill(1) },
  ],
  [
    "19,000 wrong fields",
    "mutation($input: CreateMemoryInput!) { createMemory(input: $input) { id } }",
    { input: Object.fromEntries(Array.from({ length: 19_000 }, (_, n) => [`tags${n}`, 1])) },
  ],
  [
    "a wrong field with a long name",
    "mutation($input: CreateMemoryInput!) { createMemory(input: $input) { id } }",
    { input: { ["title".repeat(190_000)]: 1 } },
  ],
  [
    "an enum value of 1 MB",
    "query($graph: GraphChoice) { memories(graph: $graph) { nextCursor } }",
    { graph: "TEAM".repeat(250_000) },
  ],
  [
    "a time of 1 MB",
    "query($at: DateTimeISO) { memories(createdAfter: $at) { nextCursor } }",
    { at: "2026-".repeat(200_000) },
  ],
  [
    "names within brackets and before signs, fourteen times",
    `query($query: String!) { ${Array.from({ length: 14 }, (_, n) => `a${n}: searchMemories(query: $query) { total }`).join(" ")} }`,
    { query: `${"(".repeat(333)}${"。".repeat(660)}x` },
  ],
  ["variables nobody declared", "{ viewer { id } }", { other: "x".repeat(MEGABYTE - 200) }],
  [
    "combining marks in a variable",
    "query($query: String!) { searchMemories(query: $query) { total } }",
    { query: `a${MARKS.repeat(500_000)}` },
  ],
  [
    "combining marks in an e-mail address",
    "mutation($input: SignUpInput!) { signUp(input: $input) { email } }",
    { input: { email: MARKS.repeat(500_000) } },
  ],
  [
    "a long word in an e-mail address",
    "mutation($input: SignUpInput!) { signUp(input: $input) { email } }",
    { input: { email: `${"a.".repeat(250_000)}@example.com` } },
  ],
];

const REVISION = "io.modelcontextprotocol/protocolVersion";

/** Bodies for REST, with their paths. */
const bodies: ReadonlyArray<readonly [name: string, path: string, body: unknown]> = [
  ["combining marks in a content", "/v1/memories", { type: "general", title: "a", content: MARKS.repeat(500_000) }],
  ["combining marks in a title", "/v1/memories", { type: "general", title: `a${MARKS.repeat(400_000)}`, content: "a" }],
  [
    "combining marks in a tag",
    "/v1/memories",
    { type: "general", title: "a", content: "a", tags: [MARKS.repeat(400_000)] },
  ],
  ["combining marks where no text is read", "/signup", { email: MARKS.repeat(500_000) }],
  [
    "combining marks of two classes",
    "/v1/memories",
    { type: "general", title: "a", content: "\u0315\u0301".repeat(250_000) },
  ],
  [
    "runs of 30 combining marks",
    "/v1/memories",
    { type: "general", title: "a", content: `a${"\u0315\u0301".repeat(15)}`.repeat(6_000) },
  ],
  ["an e-mail address without end", "/signup", { email: `${"a".repeat(MEGABYTE - 300)}@example.com` }],
  ["300,000 wrong tags", "/v1/memories", { type: "general", title: "a", content: "a", tags: Array(300_000).fill(1) }],
  ["19,000 wrong tags", "/v1/memories", { type: "general", title: "a", content: "a", tags: Array(19_000).fill(1) }],
  [
    "19,000 unknown fields",
    "/v1/memories",
    Object.fromEntries(Array.from({ length: 19_000 }, (_, n) => [`field${n}`, 1])),
  ],
  ["a field with a name of 1 MB", "/v1/memories", { ["title".repeat(200_000)]: 1 }],
  ["a scope of 1 MB", "/keys", { name: "a", scopes: ["TEAMS_READ".repeat(100_000)] }],
  [
    "a number of a million digits",
    "/v1/memories",
    `{"type":"general","title":"a","content":"a","importance":${"9".repeat(1_000_000)}}`,
  ],
  ["lists nested 500,000 deep", "/v1/memories", "[".repeat(500_000)],
  ["objects nested 150,000 deep", "/v1/memories", '{"a":'.repeat(150_000)],
  ["objects nested in a field", "/v1/memories", `{"tags":${"[".repeat(100_000)}${"]".repeat(100_000)}}`],
  ["a million values", "/v1/memories", `[${"1,".repeat(500_000)}1]`],
  ["quotes and backslashes", "/v1/memories", `{"title":"${'\\"'.repeat(500_000)}"}`],
  ["half a million spaces", "/v1/memories", { type: "general", title: `a${" ".repeat(500_000)}b`, content: "a" }],
  [
    "ids and a type of half a megabyte",
    "/v1/relationships",
    { from_memory_id: "a".repeat(500_000), to_memory_id: "b", relationship_type: "A".repeat(400_000) },
  ],
];

const call = (name: unknown, args: unknown) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name, arguments: args },
});

/** Messages for MCP. */
const messages: ReadonlyArray<readonly [name: string, message: unknown]> = [
  ["an id of 1 MB", { jsonrpc: "2.0", id: "1".repeat(MEGABYTE - 300), method: "ping" }],
  ["an id of a million digits", `{"jsonrpc":"2.0","id":${"9".repeat(1_000_000)},"method":"ping"}`],
  ["a method of 1 MB", { jsonrpc: "2.0", id: 1, method: "ping".repeat(250_000) }],
  ["a tool of 1 MB", call("search_memories".repeat(60_000), {})],
  ["a tool that is an object", call({ a: "x".repeat(MEGABYTE - 300) }, {})],
  ["a batch of 9,000 calls", Array.from({ length: 9_000 }, () => ({ jsonrpc: "2.0", id: 1, method: "ping" }))],
  ["a tool with a query of combining marks", call("search_memories", { query: MARKS.repeat(500_000) })],
  ["a tool with 19,000 unknown inputs", call("get_memory", Object.fromEntries(Array(19_000).entries()))],
  ["a tool with 19,000 wrong tags", call("store_memory", { tags: Array(19_000).fill(1) })],
  ["a tool with a part of a million digits", call("get_memory", { id: "a", content_from: 1e300 })],
  ["a revision of 1 MB", { ...call("get_memory", {}), params: { _meta: { [REVISION]: "2".repeat(1_000_000) } } }],
  ["lists nested in a message", `{"jsonrpc":"2.0","params":${"[".repeat(100_000)}`],
];

const FORM = { "content-type": "application/x-www-form-urlencoded" };
const uris = (count: number) => Array.from({ length: count }, (_, n) => `https://${"a.".repeat(400)}com/${n}`);

/** Requests for the authorization server, which need no key. */
const oauth: readonly Omit<Hostile, "withKey">[] = [
  [
    "a registration with a name of 15 KB",
    "/oauth/register",
    { redirect_uris: uris(1), client_name: MARKS.repeat(7_000) },
  ],
  ["a registration of 18 addresses", "/oauth/register", { redirect_uris: uris(18) }],
  ["a registration with a deep field", "/oauth/register", `{"jwks":${"[".repeat(15_000)}`],
  ["a registration of a name with NUL", "/oauth/register", { redirect_uris: ["a:b"], client_name: "\0\ud800" }],
  ["a form of 7,500 fields", "/oauth/token", "a&".repeat(7_500)],
  ["a form with one field 1,500 times", "/oauth/token", "client_id&".repeat(1_500)],
  ["a form with a long code", "/oauth/token", `client_id=a&grant_type=authorization_code&code=${"%00".repeat(5_000)}`],
  ["a form in brackets", "/oauth/revoke", `client_id=a&token${"[a]".repeat(5_000)}=b`],
  ["an answer to no request", `/oauth/connect/${"a".repeat(7_000)}/answer`, "answer=allow&code=".padEnd(15_000, "1")],
].map(([name, path, body]) => ({
  name: String(name),
  path: String(path),
  ask: { body, ...(typeof body === "string" && !body.startsWith("{") ? { headers: FORM } : {}) },
}));
const beginnings: readonly Omit<Hostile, "withKey">[] = [
  ["a client whose document is nowhere", `client_id=https://${"a".repeat(60)}.invalid/${"b".repeat(6_000)}`],
  ["a client with a long name", `client_id=${"%F0%9F%98%80".repeat(500)}`],
  ["3,500 scopes", `client_id=a&scope=${"a+".repeat(3_500)}`],
  ["600 resources", `client_id=a&${"resource=b&".repeat(600)}`],
  ["claims that are nested", `client_id=a&claims=${"[".repeat(7_000)}`],
].map(([name = "", query = ""]) => ({ name: `a beginning of ${name}`, path: `/oauth/authorize?${query}`, ask: {} }));

const zipped = (body: unknown): Uint8Array =>
  gzipSync(typeof body === "string" ? body : JSON.stringify(body), { level: 9 });
const GZIP = { "content-encoding": "gzip" };

/** Request heads and paths. */
const heads: readonly Omit<Hostile, "withKey">[] = [
  ["a query of combining marks", `/v1/memories/search?query=${"%CC%81".repeat(1_200)}`],
  ["a query of quotes", `/v1/memories/search?query=${'"'.repeat(900)}`],
  ["a list of 5,000 commas", `/v1/memories?types=${",".repeat(5_000)}`],
  ["a parameter 900 times", `/v1/memories?${"types=a&".repeat(900)}`],
  ["a thousand parameters", `/v1/memories?${Array.from({ length: 1_000 }, (_, n) => `p${n}=`).join("&")}`],
  ["a cursor of 7,000 characters", `/v1/memories?cursor=${"a".repeat(7_000)}`],
  ["a path of 1,000 parts", `/v1${"/memories".repeat(800)}`],
  ["variables nested in an address", `/graphql?query={__typename}&variables=${"[".repeat(7_000)}`],
].map(([name = "", path = ""]) => ({ name, path, ask: {} }));

const accepts: Omit<Hostile, "withKey"> = {
  name: "1,400 media types",
  path: "/v1/memories",
  ask: { headers: { accept: "a/b;q=0.5,".repeat(1_400), "content-type": "application/json;".padEnd(12_000, "; ") } },
};

/** What libraries expect at the end of a header, but in the middle of it. */
const spaces = ["content-type", "accept"].flatMap((name) =>
  ["/graphql", "/v1/memories"].map((path) => ({
    name: `14,000 spaces within the header ${name}`,
    path,
    ask: { method: "POST", headers: { [name]: `application/json${" ".repeat(14_000)}x` }, body: "{}" },
  })),
);

/** A request for a file with conditions that it does not meet. */
const files = [
  ["range", "bytes=99999999-"],
  ["if-match", '"x"'],
  ["if-unmodified-since", "Mon, 01 Jan 1990 00:00:00 GMT"],
].map(([name = "", value = ""]) => ({
  name: `a file with the header ${name}`,
  path: "/graphql",
  ask: { headers: { accept: "text/html", [name]: value } },
}));

/** All hostile requests, each with and without a key, uncompressed and compressed to a few bytes by gzip. */
export const HOSTILE: readonly Hostile[] = [
  ...documents.map(([name, query, variables]) => ({ name, path: "/graphql", ask: { body: { query, variables } } })),
  ...messages.map(([name, body]) => ({ name, path: "/mcp", ask: { body } })),
  ...bodies.map(([name, path, body]) => ({ name, path, ask: { body } })),
  ...bodies.map(([name, path, body]) => ({
    name: `${name}, zipped`,
    path,
    ask: { body: zipped(body), headers: { ...GZIP, "content-type": "application/json" } },
  })),
  {
    name: "300 megabytes in 300 kilobytes",
    path: "/v1/memories",
    ask: { body: gzipSync(Buffer.alloc(300 * MEGABYTE)), headers: { ...GZIP, "content-type": "application/json" } },
  },
  ...oauth,
  ...beginnings,
  ...heads,
  accepts,
  ...spaces,
  ...files,
].flatMap((hostile) => [true, false].map((withKey) => ({ ...hostile, withKey })));

/** `F0` spreads `F1` twice, `F1` spreads `F2` twice, and so on; the last fragment has the field. */
function doubled(count: number, type: string, field: string): string {
  const fragments = Array.from({ length: count }, (_, n) => `fragment F${n} on ${type} { ...F${n + 1} ...F${n + 1} }`);
  return `${fragments.join(" ")} fragment F${count} on ${type} { ${field} }`;
}

function doubling(count: number, type: string, field: string): string {
  return `{ ...F0 } ${doubled(count, type, field)}`;
}
