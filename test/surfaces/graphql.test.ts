import { createHash } from "node:crypto";
import { getIntrospectionQuery } from "graphql";
import { expect, it, vi } from "vitest";
import { memories } from "../../src/features/memories/list-memories.js";
import { type Ask, ask } from "../support/http.js";
import { aLink, aMemory, memoriesTitled } from "../support/memories.js";
import { type Actor, createWorld } from "../support/world.js";

interface GraphQLError {
  readonly message: string;
  readonly path?: readonly string[];
  readonly extensions: { readonly code: string; readonly reason?: string; readonly details?: unknown };
}

interface GraphQLAnswer {
  readonly data?: Record<string, unknown> | null;
  readonly errors?: readonly GraphQLError[];
}

/** Sends a request, by default by POST, and returns the status and the body. */
async function say(url: string, { key }: { key?: string }, query: string, variables: object = {}) {
  const { status, body } = await ask(`${url}/graphql`, { ...(key ? { key } : {}), body: { query, variables } });
  return { status, ...(body as GraphQLAnswer) };
}

it.each([
  [
    "a memory and what is around it",
    4,
    `query($id: ID!) {
      memory(id: $id) { relationships { memory { relationships { memory { relationships { memory { content } } } } } } }
    }`,
  ],
  ["a list", 3, "{ memories(limit: 20) { memories { relationshipsTotal relationships { memory { content } } } } }"],
  // The search itself uses connections of its own.
  [
    "a memory, whole ones around it, and what is around those",
    2,
    "query($id: ID!) { memory(id: $id) { relationships { memory { content relationships { memory { title } } } } } }",
  ],
  [
    "a search",
    1,
    '{ searchMemories(query: "note") { memories { memory { content relationships { relationshipId } } } } }',
  ],
  [
    "what is related",
    3,
    `query($id: ID!) {
      relatedMemories(id: $id, maxDepth: 3) { memories { memory { content relationships { memory { content } } } } }
    }`,
  ],
])("reads %s with one statement per level, %d in total, for any number of items", async (_what, levels, query) => {
  await using world = await createWorld();
  const { url, services } = await world.serve();
  const [few, many] = [await world.user(), await world.user()];
  const starts = [await ringOf(few, 2), await ringOf(many, 12)];
  const statements = vi.spyOn(services.database, "run");
  const lists = vi.spyOn(services.database, "readPages");

  const counts: number[] = [];
  for (const [index, { key }] of [few, many].entries()) {
    statements.mockClear();
    lists.mockClear();
    const { errors, data } = await say(url, { key }, query, query.includes("$id") ? { id: starts[index] } : {});
    expect(errors).toBeUndefined();
    expect(JSON.stringify(data)).toContain("Something.");
    const read = statements.mock.calls.filter(([{ name }]) => /memor/.test(name));
    counts.push(read.length + lists.mock.calls.length);
  }

  expect(counts).toEqual([levels, levels]);
});

it("reads only the requested columns", async () => {
  await using world = await createWorld();
  const { url, services } = await world.serve();
  const ann = await world.user();
  const { id } = await aMemory(ann);
  const statements = vi.spyOn(services.database, "run");

  await say(url, ann, "query($id: ID!) { memory(id: $id) { title } }", { id });
  await say(url, ann, "query($id: ID!) { memory(id: $id) { ...F } } fragment F on Memory { relationshipsTotal }", {
    id,
  });

  const names = statements.mock.calls.map(([{ name }]) => name).filter((name) => name.startsWith("memories"));
  expect(names).toEqual(["memories_alone", "memories_with_relationships"]);
});

it("reads what each request selects if the same document comes with other variables", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const { id } = await aMemory(ann, { content: "All of it." });
  const query =
    "query ($id: ID!, $whole: Boolean!) { memory(id: $id) { ...Part } } " +
    "fragment Part on Memory { title ... @include(if: $whole) { content } }";
  const say = async (whole: boolean) =>
    (await ask(`${url}/graphql`, { key: ann.key, body: { query, variables: { id, whole } } })).body;

  const answers = [await say(false), await say(true), await say(false), await say(true)];

  const [part, all] = [{ title: "A note" }, { title: "A note", content: "All of it." }];
  expect(answers).toEqual([part, all, part, all].map((memory) => ({ data: { memory } })));
});

it("uses camelCase, and upper case for enum values", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const [one, two] = await memoriesTitled(ann, "One", "Two");
  await aLink(ann, one, two, { relationshipType: "SOLVES" });

  const { data } = await say(
    url,
    ann,
    `query($id: ID!) {
      viewer { plan apiKey { scopes } }
      memory(id: $id, graph: PERSONAL) { createdBy relationships { direction } }
      relatedMemories(id: $id, direction: OUT) { memories { relationship direction } }
    }`,
    { id: one.id },
  );

  expect(data).toMatchObject({
    viewer: { plan: "PRO", apiKey: { scopes: expect.arrayContaining(["MEMORIES_READ", "KEYS_WRITE"]) as string[] } },
    memory: { createdBy: ann.caller.userId, relationships: [{ direction: "OUT" }] },
    relatedMemories: { memories: [{ relationship: "SOLVES", direction: "OUT" }] },
  });
});

it("follows relations of a mutation's result only for keys with the read scope", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const [one, two] = await memoriesTitled(ann, "One", "Two");
  await aLink(ann, one, two);
  await world.database.models.apiKey.updateMany({ data: { scopes: ["memories:write"] } });
  const update = "mutation($input: UpdateMemoryInput!) { updateMemory(input: $input)";
  const link = "mutation($input: CreateRelationshipInput!) { createRelationship(input: $input)";
  const input = { fromMemoryId: two.id, toMemoryId: one.id, relationshipType: "SOLVES" };

  const answers = [
    await say(url, ann, `${update} { id version } }`, { input: { id: one.id, title: "New" } }),
    await say(url, ann, `${update} { id relationships { relationshipId } } }`, { input: { id: one.id, title: "New" } }),
    await say(url, ann, `${update} { id relationshipsTotal } }`, { input: { id: one.id, title: "New" } }),
    await say(url, ann, `${link} { toMemory { content } } }`, { input }),
    await say(url, ann, `${link} { id } }`, { input: { ...input, relationshipType: "CAUSES" } }),
  ];

  const refusals = answers.map(({ errors }) => errors?.map(({ extensions }) => extensions));
  const refused = [{ code: "FORBIDDEN", reason: "scope_missing" }];
  expect(refusals).toEqual([undefined, refused, refused, refused, undefined]);
});

it("shows the schema without a key, and nothing else", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();

  expect((await say(url, {}, getIntrospectionQuery())).data?.["__schema"]).toBeDefined();
  expect((await say(url, {}, "{ __typename }")).data).toEqual({ __typename: "Query" });
  for (const query of [
    "{ __typename viewer { id } }",
    "{ ...F } fragment F on Query { memories { nextCursor } }",
    '{ ... on Query { me: memory(id: "x") { id } } }',
    'mutation { deleteMemory(input: { id: "x" }) { id } }',
  ]) {
    const { status, data, errors } = await say(url, {}, query);
    expect([status, data, errors?.[0]?.extensions.code]).toEqual([401, undefined, "UNAUTHORIZED"]);
  }
});

it("reports failures like REST: code, reason, and details by field", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const { id } = await aMemory(ann);
  const failure = async (query: string, variables: object = {}) => {
    const { status, errors = [] } = await say(url, ann, query, variables);
    return [status, errors[0]?.extensions];
  };
  const update = "mutation($input: UpdateMemoryInput!) { updateMemory(input: $input) { id } }";

  expect(await failure('{ memory(id: "nobody\'s") { id } }')).toEqual([200, { code: "NOT_FOUND" }]);
  expect(await failure("{ memories(graph: TEAM) { nextCursor } }")).toEqual([
    200,
    { code: "NOT_FOUND", reason: "no_team" },
  ]);
  expect(await failure(update, { input: { id, title: "New", expectedVersion: 7 } })).toEqual([
    200,
    { code: "CONFLICT", reason: "version_mismatch", details: { version: 1 } },
  ]);
  expect(await failure(update, { input: { id, title: " ", importance: 2 } })).toEqual([
    200,
    {
      code: "BAD_REQUEST",
      details: [
        { path: "title", message: "must not be blank" },
        { path: "importance", message: "must be from 0 to 1" },
      ],
    },
  ]);
  expect(await failure(update, { input: { id, title: 1 } })).toMatchObject([
    400,
    { code: "BAD_REQUEST", details: [{ path: "title" }] },
  ]);
  expect(await failure('mutation { updateMemory(input: { id: 1, tags: "one", titel: "New" }) { id } }')).toEqual([
    400,
    { code: "GRAPHQL_VALIDATION_FAILED", details: [{ path: "id", message: "must be a string" }] },
  ]);
  expect(await failure('{ searchMemories(querry: "x") { total } }')).toMatchObject([
    400,
    { code: "GRAPHQL_VALIDATION_FAILED", details: [{ path: "querry" }] },
  ]);
  expect(await failure(update, [id])).toEqual([
    400,
    { code: "BAD_REQUEST", details: [{ path: "variables", message: "must be an object" }] },
  ]);
  expect(await failure("{ memry }")).toEqual([400, { code: "GRAPHQL_VALIDATION_FAILED" }]);
  expect(await failure("{ viewer {")).toEqual([400, { code: "GRAPHQL_PARSE_FAILED" }]);
});

it("logs a refusal with the same code as REST", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();

  await say(url, ann, '{ a: memories(limit: 0) { nextCursor } b: memory(id: "x") { id } c: teamSubscription { id } }');

  const failures = world.log.flatMap((line) => (JSON.parse(line) as { failures?: string[] }).failures ?? []);
  expect(failures.sort()).toEqual(["bad_request", "no_team", "not_found"]);
});

it("shows no details of a bug", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  await world.database.pool.query("ALTER TABLE memory RENAME COLUMN title TO heading");

  const { errors } = await say(url, ann, "{ memories { memories { title } } }");

  expect(errors).toMatchObject([
    { message: "Something went wrong on our side.", extensions: { code: "INTERNAL_ERROR" } },
  ]);
  expect(JSON.stringify(errors)).not.toMatch(/title|stack|select/i);
  expect(world.bugs).toMatchObject([{ err: { code: "P2022" } }]);
});

it("suggests a correction for an unknown name", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();

  const { errors } = await say(url, ann, "{ memorie(limt: 1) { x } }");

  expect(JSON.stringify(errors)).toContain('Did you mean \\"memories\\" or \\"memory\\"?');
});

it("answers queries by GET, from pages of other origins only after a preflight", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const get = (headers: Ask["headers"] = {}, query = "{ __typename }") =>
    ask(`${url}/graphql?query=${encodeURIComponent(query)}`, { headers: { accept: "application/json", ...headers } });

  const withKey = await get({ authorization: `Bearer ${ann.key}` }, "{ viewer { email } }");
  expect([withKey.status, withKey.body]).toEqual([200, { data: { viewer: { email: ann.email } } }]);
  expect((await get({ "apollo-require-preflight": "1" })).status).toBe(200);
  const simple = await get();
  expect([simple.status, JSON.stringify(simple.body)]).toEqual([400, expect.stringContaining("CSRF")]);
});

it("never changes anything by GET", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const { id } = await aMemory(ann);
  const mutation = encodeURIComponent(`mutation { deleteMemory(input: { id: "${id}" }) { id } }`);

  const { status, headers, body } = await ask(`${url}/graphql?query=${mutation}`, { key: ann.key });

  expect([status, headers.get("allow")]).toEqual([405, "POST"]);
  expect(body).toMatchObject({ errors: [{ extensions: { code: "METHOD_NOT_ALLOWED" } }] });
  expect((await ann.did(memories)).memories).toHaveLength(1);
});

it("stores persisted queries for clients that then send only their hash", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const query = "{ viewer { email } }";
  const sha256Hash = createHash("sha256").update(query).digest("hex");
  const extensions = { persistedQuery: { version: 1, sha256Hash } };
  const post = async (body: object) => (await ask(`${url}/graphql`, { key: ann.key, body })).body;

  const unknown = {
    errors: [{ message: "PersistedQueryNotFound", extensions: { code: "PERSISTED_QUERY_NOT_FOUND" } }],
  };
  const told = { data: { viewer: { email: ann.email } } };
  expect(await post({ extensions })).toEqual(unknown);
  expect(await post({ extensions, query })).toEqual(told);
  expect(await post({ extensions })).toEqual(told);
  const byGet = `${url}/graphql?extensions=${encodeURIComponent(JSON.stringify(extensions))}`;
  expect((await ask(byGet, { key: ann.key })).body).toEqual(told);
});

it("runs each change of a request with the caller's current rights", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();

  const { data, errors } = await say(
    url,
    ann,
    `mutation {
      createTeam(input: { name: "Crew", maxMembers: 5 }) { id }
      createMemory(input: { type: "general", title: "Ours", content: "The team's." }) { id }
      revokeApiKey(input: { id: "${ann.caller.keyId}" }) { id }
      late: createMemory(input: { type: "general", title: "Late", content: "By a key that is gone." }) { id }
    }`,
  );

  const { rows } = await world.database.pool.query(
    "SELECT m.id FROM memory m JOIN graph g ON g.id = m.graph_id AND g.team_id IS NOT NULL",
  );
  expect(rows).toEqual([data?.["createMemory"]]);
  expect(errors).toMatchObject([{ path: ["late"], extensions: { code: "UNAUTHORIZED" } }]);
});

it("runs the changes of a request in order", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const { id } = await aMemory(ann);
  const update = (name: string, title: string) =>
    `${name}: updateMemory(input: { id: "${id}", title: "${title}" }) { version title }`;

  const { data } = await say(url, ann, `mutation { ${update("a", "A")} ${update("b", "B")} ${update("c", "C")} }`);

  expect(data).toEqual({ a: { version: 2, title: "A" }, b: { version: 3, title: "B" }, c: { version: 4, title: "C" } });
});

/** Memories in a circle, each linked to the next two. Returns the id of one. */
async function ringOf(actor: Actor, size: number): Promise<string> {
  const ring = await memoriesTitled(actor, ...Array.from({ length: size }, (_, index) => `Note ${index}`));
  for (const [index, from] of ring.entries()) {
    for (const step of [1, 2]) {
      const to = ring[(index + step) % size];
      if (to && to !== from) await aLink(actor, from, to);
    }
  }
  return ring[0]?.id ?? "";
}
