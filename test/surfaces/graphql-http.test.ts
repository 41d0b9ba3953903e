import { createHash, randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import {
  type IntrospectionQuery,
  buildClientSchema,
  buildSchema,
  getIntrospectionQuery,
  introspectionFromSchema,
  lexicographicSortSchema,
  printSchema,
} from "graphql";
import { describe, expect, inject, it } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { Unavailable } from "../../src/operation/failure.js";
import { onServer } from "../bench/on-server.js";
import { type Ask, type Answer, ask } from "../support/http.js";
import { aMemory } from "../support/memories.js";
import { type Actor, type World, createWorld } from "../support/world.js";

const TYPENAME = "{ __typename }";
const MEBIBYTE = 2 ** 20;
const JSON_TYPE = "application/json; charset=utf-8";
const GRAPHQL_TYPE = "application/graphql-response+json; charset=utf-8";

const search = (parameters: Record<string, string>) => `?${new URLSearchParams(parameters)}`;
const TOO_DEEP = `{"a": ${"[".repeat(LIMITS.json.depth)}${"]".repeat(LIMITS.json.depth)}}`;
const hashOf = (text: string) => createHash("sha256").update(text).digest("hex");
const persisted = (sha256Hash: string, version = 1) => ({ persistedQuery: { version, sha256Hash } });

interface Errors {
  readonly errors?: ReadonlyArray<{
    readonly message: string;
    readonly path?: readonly unknown[];
    readonly locations?: readonly unknown[];
    readonly extensions: { readonly code: string };
  }>;
}

const errorsOf = ({ body }: Answer) => (body as Errors).errors ?? [];
const codesOf = (answer: Answer) => errorsOf(answer).map(({ extensions }) => extensions.code);

describe("an invalid GraphQL request", () => {
  const query = TYPENAME;
  const post = (body: unknown): [string, Ask] => ["", { body }];
  const cases: Array<[string, [string, Ask], RegExp]> = [
    ["a batch", post([{ query }, { query }]), /[Bb]atch/],
    ["an empty batch", post([]), /[Bb]atch/],
    ["a body that is null", post("null"), /query/],
    ["a body without a query", post({ variables: {} }), /query/],
    ["a query that is a number", post({ query: 1 }), /query: must be a string/],
    ["variables in a text", post({ query, variables: "{}" }), /variables/],
    ["variables in a list", post({ query, variables: [] }), /variables/],
    ["extensions in a text", post({ query, extensions: "{}" }), /extensions/],
    ["a name that is a number", post({ query, operationName: 1 }), /operationName/],
    ["a name that no operation has", post({ query, operationName: "Other" }), /Other/],
    ["two operations and no name", post({ query: `query A ${query} query B ${query}` }), /name/],
    ["a query of another hash", post({ query, extensions: persisted(hashOf("{ other }")) }), /SHA-256/],
    ["another version of hashes", post({ query, extensions: persisted(hashOf(query), 2) }), /version/],
    ["a repeated parameter", [`${search({ query })}&query=x`, {}], /once/],
    ["variables with too many levels", [search({ query, variables: TOO_DEEP }), {}], /nested deeper/],
    ["variables that are no JSON", [search({ query, variables: "{" }), {}], /variables/],
  ];

  it("is a bad request, and the answer says why", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const { key } = await world.user();
    for (const [what, [parameters, request], why] of cases) {
      const answer = await ask(`${url}/graphql${parameters}`, { key, ...request });
      expect([what, answer.status, codesOf(answer)]).toEqual([what, 400, ["BAD_REQUEST"]]);
      expect(errorsOf(answer)[0]?.message).toMatch(why);
    }
    expect(world.log.join("")).not.toContain("internal_error");
    expect(world.bugs).toEqual([]);
  });
});

it("names the first wrong variables only: reading stops there", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  const { coercionErrors } = LIMITS.graphql;
  const query = "query($tags: [String!]) { memories(tags: $tags) { nextCursor } }";

  const answer = await ask(`${url}/graphql`, { key, body: { query, variables: { tags: [1, 2, 3, 4, 5, 6, 7, 8] } } });

  const details = Array.from({ length: coercionErrors }, () => expect.anything());
  expect(answer).toMatchObject({ status: 400, body: { errors: [{ extensions: { details } }] } });
});

it("takes null for a parameter that is left out, in a body and in a URL", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  for (const name of ["variables", "extensions"]) {
    const posted = await ask(`${url}/graphql`, { key, body: { query: TYPENAME, [name]: null } });
    const got = await ask(`${url}/graphql${search({ query: TYPENAME, [name]: "null" })}`, { key });
    expect([name, got.status, got.body]).toEqual([name, 200, posted.body]);
  }
});

it("says in sentences what to do, where the libraries do not", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  const levels = "fields { type { ".repeat(4) + "name" + " } }".repeat(4);
  const post = (body: object) => ask(`${url}/graphql`, { key, body });
  const mutation = 'mutation { deleteMemory(input: { id: "x" }) { id } }';
  const answers = [
    await ask(`${url}/graphql${search({ query: mutation })}`, { key }),
    await post({ query: `{ __schema { types { ${levels} } } }` }),
    await post({ extensions: persisted(hashOf(TYPENAME), 2) }),
    await post({ query: TYPENAME, extensions: persisted(hashOf("another")) }),
  ];

  for (const { status, body } of answers) {
    const [error] = (body as Errors).errors ?? [];
    expect([status, error?.message]).toEqual([
      expect.toBeOneOf([400, 405]),
      expect.stringMatching(/\. (Send|Ask) .*\.$/),
    ]);
  }
});

it("answers with the media type that the client prefers, and the same status", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  const types: Array<[string, string]> = [
    ["*/*", JSON_TYPE],
    ["application/*", JSON_TYPE],
    ["application/json", JSON_TYPE],
    ["application/graphql-response+json", GRAPHQL_TYPE],
    ["application/graphql-response+json,application/json;q=0.9", GRAPHQL_TYPE],
    ["application/graphql-response+json;q=0.5, application/json", JSON_TYPE],
    ["application/graphql-response+json, text/event-stream, multipart/mixed", GRAPHQL_TYPE],
  ];
  const requests: Array<[number, Ask]> = [
    [200, { key, body: { query: TYPENAME } }],
    [200, { key, body: { query: '{ memory(id: "nobody\'s") { id } }' } }],
    [400, { key, body: { query: "{ nothing }" } }],
    [400, { key, body: { query: "{" } }],
    [401, { body: { query: "{ viewer { id } }" } }],
    // Refused before GraphQL begins.
    [401, { key: "nobody's", body: { query: TYPENAME } }],
    [400, { key, body: "{" }],
    [413, { key, body: " ".repeat(MEBIBYTE + 1) }],
  ];
  for (const [accept, type] of types) {
    for (const [status, request] of requests) {
      const answer = await ask(`${url}/graphql`, { ...request, headers: { accept } });
      expect([accept, answer.status, answer.headers.get("content-type")]).toEqual([accept, status, type]);
    }
  }
});

it("refuses a client that accepts neither media type", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  for (const accept of ["application/xml", "text/event-stream", "application/json;q=0"]) {
    const answer = await ask(`${url}/graphql`, { key, body: { query: TYPENAME }, headers: { accept } });
    expect([answer.status, codesOf(answer)]).toEqual([406, ["BAD_REQUEST"]]);
  }
});

it("runs the named operation with its variables, by GET and by POST", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const { id } = await aMemory(ann, { title: "One" });
  const query = "query A { viewer { email } } query B($id: ID!) { memory(id: $id) { title } }";
  const asked = async (body: { query: string; operationName: string; variables?: object }) => {
    const variables = JSON.stringify(body.variables ?? {});
    const byGet = await ask(`${url}/graphql${search({ ...body, variables })}`, { key: ann.key });
    const byPost = await ask(`${url}/graphql`, { key: ann.key, body });
    expect([byGet.status, byGet.body]).toEqual([byPost.status, byPost.body]);
    // No browser and no proxy may keep what a key has read.
    expect([byGet, byPost].map(({ headers }) => headers.get("cache-control"))).toEqual(["no-store", "no-store"]);
    return byPost.body;
  };

  expect(await asked({ query, operationName: "A" })).toEqual({ data: { viewer: { email: ann.email } } });
  expect(await asked({ query, operationName: "B", variables: { id } })).toEqual({ data: { memory: { title: "One" } } });
  // Answers about the schema are remembered, by the operation too.
  const schema = "query R { __schema { queryType { name } } } query W { __schema { mutationType { name } } }";
  for (const _again of [1, 2]) {
    const read = { data: { __schema: { queryType: { name: "Query" } } } };
    const changed = { data: { __schema: { mutationType: { name: "Mutation" } } } };
    expect(await asked({ query: schema, operationName: "R" })).toEqual(read);
    expect(await asked({ query: schema, operationName: "W" })).toEqual(changed);
  }
  // GraphQL over HTTP: an empty name counts as none.
  expect(await asked({ query: TYPENAME, operationName: "" })).toEqual({ data: { __typename: "Query" } });
});

it("reports for each error its location in the document and its path in the answer", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  const failed = await ask(`${url}/graphql`, { key, body: { query: '{\n  mine: memory(id: "nobody\'s") { id }\n}' } });
  const invalid = await ask(`${url}/graphql`, { key, body: { query: "{\n viewer { id\n  nothing } }" } });
  const unread = await ask(`${url}/graphql`, { key, body: { query: "{\n  viewer {" } });

  expect(failed.body).toMatchObject({
    data: { mine: null },
    errors: [{ path: ["mine"], locations: [{ line: 2, column: 3 }] }],
  });
  expect(errorsOf(invalid)).toMatchObject([{ locations: [{ line: 3, column: 3 }] }]);
  expect(errorsOf(unread)).toMatchObject([{ locations: [{ line: 2, column: 11 }] }]);
});

it("refuses methods and body types in REST's words", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  const types = ["application/x-www-form-urlencoded", "text/plain", "application/json; charset=utf-16"];
  const typed = types.map((type) => ({ method: "POST", body: "{}", headers: { "content-type": type } }));
  for (const request of [...typed, { method: "DELETE" }]) {
    const [graphql, rest] = [
      await ask(`${url}/graphql`, { key, ...request }),
      await ask(`${url}/v1/memories`, { key, ...request }),
    ];
    const { error } = rest.body as { error: { code: string; message: string } };
    const withoutMethods = (text = "") => text.replace(/^Use [A-Z]+(?:(?:, | or )[A-Z]+)*: /, "Use …: ");
    expect(graphql.status).toBe(rest.status);
    expect(codesOf(graphql)).toEqual([error.code.toUpperCase()]);
    expect(withoutMethods(errorsOf(graphql)[0]?.message)).toBe(withoutMethods(error.message));
  }
});

it("accepts GET and POST, at its own path only", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const { key } = await world.user();
  const body = { query: TYPENAME };
  for (const method of ["PUT", "PATCH", "DELETE"]) {
    const { status, headers } = await ask(`${url}/graphql`, { key, method, body });
    expect([method, status, headers.get("allow")]).toEqual([method, 405, "GET, HEAD, POST"]);
  }
  const head = await ask(`${url}/graphql${search(body)}`, { key, method: "HEAD" });
  expect([head.status, head.body]).toEqual([200, ""]);
  const options = await ask(`${url}/graphql`, { method: "OPTIONS" });
  expect([options.status, options.body]).toEqual([204, ""]);
  for (const path of ["/graphql/v1", "/graphql/v1/memories", "/GraphQL", "/graphqls"]) {
    const { status, body: said } = await ask(url + path, { key, body });
    expect([path, status, said]).toMatchObject([path, 404, { error: { code: "not_found" } }]);
  }
});

describe("when the database fails", () => {
  /** The whole error, inside a field and before GraphQL begins. */
  const said = (message: string, extensions: object) => {
    const error = { message, extensions };
    const at = { path: ["memory"], locations: [{ line: 1, column: 19 }] };
    return [{ data: { memory: null }, errors: [{ ...error, ...at }] }, { errors: [error] }];
  };
  const asking = ({ key }: Actor, { id }: { id: string }) => ({
    key,
    body: { query: "query($id: ID!) { memory(id: $id) { title } }", variables: { id } },
  });

  it("shows no details of the failure", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    const question = asking(ann, await aMemory(ann));
    const { pool } = world.database;

    await pool.query("ALTER TABLE memory RENAME TO mislaid");
    const inside = await ask(`${url}/graphql`, question);
    await pool.query("ALTER TABLE api_key RENAME TO lost");
    const before = await ask(`${url}/graphql`, question);

    expect([inside.status, before.status]).toEqual([200, 500]);
    expect([inside.body, before.body]).toEqual(said("Something went wrong on our side.", { code: "INTERNAL_ERROR" }));
    expect(world.bugs).toHaveLength(2);
  });

  it("says that the database cannot be reached, and works again when it can", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    const question = asking(ann, await aMemory(ann, { title: "One" }));
    const { message: busy, retryAfterSeconds } = new Unavailable();

    const inside = await whileKilled(world, () => ask(`${url}/graphql`, question));
    await acceptingConnections(world, false);
    const before = await ask(`${url}/graphql`, question);
    const open = await ask(`${url}/graphql`, { body: { query: TYPENAME } });
    await acceptingConnections(world, true);
    const after = await ask(`${url}/graphql`, question);

    expect([inside.status, before.status]).toEqual([200, 503]);
    expect([inside.body, before.body]).toEqual(said(busy, { code: "UNAVAILABLE", retryAfterSeconds }));
    expect([open.status, after.body]).toEqual([200, { data: { memory: { title: "One" } } }]);
    expect(world.bugs).toEqual([]);
  });

  /** Blocks a request in its statement, and then kills the statement's connection. */
  async function whileKilled({ database: { pool } }: World, request: () => Promise<Answer>): Promise<Answer> {
    const holder = await pool.connect();
    try {
      await holder.query("BEGIN; LOCK TABLE memory IN ACCESS EXCLUSIVE MODE");
      const answer = request();
      const kill = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      await expect.poll(async () => (await pool.query(kill)).rowCount).toBe(1);
      return await answer;
    } finally {
      await holder.query("ROLLBACK");
      holder.release();
    }
  }

  /** Makes the world's database accept connections or not; if not, existing ones are cut. */
  async function acceptingConnections({ databaseUrl }: World, accepts: boolean): Promise<void> {
    const name = new URL(databaseUrl).pathname.slice(1);
    await onServer(inject("databaseServer").url, async (server) => {
      await server.query(`ALTER DATABASE "${name}" ALLOW_CONNECTIONS ${accepts}`);
      const cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1";
      if (!accepts) await server.query(cut, [name]);
    });
  }
});

describe("the cache of documents", () => {
  /** Documents that differ only in a comment; anybody may send them. */
  const document = (index: number, length = 0) => `${TYPENAME} #${index}${" ".repeat(length)}`;
  /** Each request comes from another address, because an address has a limit per minute. */
  const headers = () => ({ "x-forwarded-for": Array.from({ length: 4 }, () => randomInt(1, 250)).join(".") });
  const registered = (url: string, query: string) =>
    ask(`${url}/graphql`, { headers: headers(), body: { query, extensions: persisted(hashOf(query)) } });
  const known = async (url: string, query: string) => {
    const { body } = await ask(`${url}/graphql`, {
      headers: headers(),
      body: { extensions: persisted(hashOf(query)) },
    });
    return "data" in (body as object);
  };

  it("keeps a limited number, and evicts the least recently used first", async () => {
    await using world = await createWorld();
    const { url } = await world.serve({ TRUSTED_PROXIES: "1" });
    await registered(url, document(0));
    await registered(url, document(1));
    for (let index = 2; index < 1_000; index++) await registered(url, document(index));
    expect(await known(url, document(0))).toBe(true);

    await registered(url, document(1_000));

    expect([await known(url, document(0)), await known(url, document(1))]).toEqual([true, false]);
  });
});

/** What an explorer may request besides the types. */
const NOTHING = {
  inputValueDeprecation: false,
  schemaDescription: false,
  specifiedByUrl: false,
  directiveIsRepeatable: false,
  oneOf: false,
};

it.each([
  ["GraphiQL", {}],
  [
    "Apollo Sandbox",
    { inputValueDeprecation: true, schemaDescription: true, specifiedByUrl: true, directiveIsRepeatable: true },
  ],
  ["Insomnia", { inputValueDeprecation: true }],
  [
    "who asks for all there is",
    {
      inputValueDeprecation: true,
      schemaDescription: true,
      specifiedByUrl: true,
      directiveIsRepeatable: true,
      oneOf: true,
    },
  ],
])("shows its whole schema to %s, without a key", async (_explorer, options) => {
  await using world = await createWorld();
  const { url } = await world.serve();

  const query = getIntrospectionQuery(options);
  const { body } = await ask(`${url}/graphql`, { body: { query, operationName: "IntrospectionQuery" } });

  const { data } = body as { data: IntrospectionQuery };
  const read = `${printSchema(lexicographicSortSchema(buildClientSchema(data)))}\n`;
  const asked = introspectionFromSchema(buildSchema(readFileSync("schema.graphql", "utf8")), {
    ...NOTHING,
    ...options,
  });
  expect(read).toBe(`${printSchema(lexicographicSortSchema(buildClientSchema(asked)))}\n`);
});
