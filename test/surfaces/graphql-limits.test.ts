import { GraphQLString, getIntrospectionQuery, parse, validate } from "graphql";
import { expect, it, vi } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { graphqlSchema } from "../../src/operations.js";
import { literalsRule } from "../../src/surfaces/graphql/literals.js";
import { ask } from "../support/http.js";
import { createWorld } from "../support/world.js";

const walk = (steps: number) =>
  `{ memories { memories { ${"relationships { memory { ".repeat(steps)}id${" } }".repeat(steps)} } } }`;
const aliased = (count: number) => `{ ${Array.from({ length: count }, (_, n) => `a${n}: viewer { id }`).join(" ")} }`;

it.each([
  ["too deep", walk(10), "depth limit of 10"],
  ["too many aliases", aliased(16), "Aliases limit of 15"],
  [
    "ended by a long name",
    `{ ${"viewer { id } ".repeat(100)} ${"x".repeat(LIMITS.graphql.nameLength + 1)} }`,
    "longer than",
  ],
  ["too many tokens", `{ ${"viewer { id } ".repeat(400)} }`, "more than 1,000 tokens"],
  ["full of one field", `{ viewer { ${"id ".repeat(900)} } }`, "500,000 steps. Select each field once."],
  [
    "too costly",
    `{ memories(limit: 100) { memories { relationships { memory { relationships { memory { id title } } } } } } }`,
    "20,000",
  ],
])("refuses a document that is %s, and names the limit", async (_what, query, limit) => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();

  const { status, body } = await ask(`${url}/graphql`, { key: ann.key, body: { query } });

  expect(status).toBe(400);
  expect(JSON.stringify(body)).toContain(limit);
  expect(JSON.stringify(body)).toMatch(/\b(?:Ask for|Select|Use|Send) (?:fewer|shorter|each)\b/);
  expect(world.bugs).toEqual([]);
});

it("serves a document within the limits", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const queries = [walk(2), aliased(15), getIntrospectionQuery()];
  const answers = await Promise.all(queries.map((query) => ask(`${url}/graphql`, { key: ann.key, body: { query } })));
  expect(answers.map(({ status, body }) => [status, JSON.stringify(body).includes('"errors"')])).toEqual(
    queries.map(() => [200, false]),
  );
});

it.each([
  ["texts", { content: "x".repeat(20_000) }, 52],
  ["contexts", { context: { values: Array.from({ length: 2_000 }, () => ({})) } }, 14],
])("refuses large variables that are used again and again before they are read: %s", async (_what, large, most) => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user({ plan: "pro" });
  const m = { type: "general", title: "A", content: "B", ...large };
  const send = (times: number) => {
    const change = `createMemories(input: { memories: [${"$m ".repeat(times)}] }) { memoryIds }`;
    return ask(`${url}/graphql`, {
      key: ann.key,
      body: { query: `mutation($m: BulkMemoryInput!) { ${change} }`, variables: { m } },
    });
  };
  // A name that every object has.
  const byDefault = `query($toString: String! = "${"x".repeat(40_000)}") {
    searchMemories(query: $toString, tags: [${"$toString ".repeat(40)}]) { total }
  }`;

  const fits = await send(most);
  const refused = await send(most + 2);
  const refusedDefault = await ask(`${url}/graphql`, { key: ann.key, body: { query: byDefault } });

  expect(fits.body).toMatchObject({ data: { createMemories: { memoryIds: { length: most } } } });
  for (const { status, body } of [refused, refusedDefault]) {
    expect(status).toBe(400);
    expect(JSON.stringify(body)).toContain("Variables that are used several times may come to 1 MiB more");
  }
  expect(world.bugs).toEqual([]);
});

it("refuses to follow a relation from more than 1,000 memories, even if the estimate was lower", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const graph = ann.caller.personalGraphId;
  const { pool } = world.database;
  await pool.query(
    `INSERT INTO memory (graph_id, id, type, title, content, tags, created_by, created_at, updated_by, updated_at)
     SELECT $1, gen_random_uuid(), 'general', 'm' || n, 'c', '{}', $1, now(), $1, now() FROM generate_series(1, 1300) n`,
    [graph],
  );
  // A hub of 100 neighbours, each with 100 neighbours of its own.
  await pool.query(
    `INSERT INTO relationship (graph_id, id, from_id, to_id, type, created_by, created_at)
     SELECT $1, gen_random_uuid(), a.id, b.id, 'LEADS_TO', $1, now()
     FROM (SELECT id, row_number() OVER (ORDER BY id) n FROM memory) a
     JOIN (SELECT id, row_number() OVER (ORDER BY id) n FROM memory) b
       ON (a.n = 1 AND b.n BETWEEN 2 AND 101) OR (a.n BETWEEN 2 AND 101 AND b.n BETWEEN (a.n - 2) * 12 + 102 AND (a.n - 2) * 12 + 113)`,
    [graph],
  );
  const { rows } = await pool.query<{ id: string }>("SELECT id FROM memory ORDER BY id LIMIT 1");
  const query = `{ memory(id: "${rows[0]?.id}") { relationships { memory { relationships { memory { relationships { relationshipId } } } } } } }`;

  const { body } = await ask(`${url}/graphql`, { key: ann.key, body: { query } });

  expect(world.bugs).toEqual([]);
  const { errors } = body as { errors: Array<{ extensions: object }> };
  expect(errors[0]?.extensions).toMatchObject({ code: "BAD_REQUEST", reason: "too_many_followed" });
  expect(errors.length).toBeLessThanOrEqual(20);
  expect(world.bugs).toEqual([]);
});

it.each([[["cheap", "costly"]], [["costly", "cheap"]]])(
  "counts the cost of each operation of a document by itself: %s",
  async (names) => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    const costly = `memories(limit: 100) { memories { ${"relationships { memory { ".repeat(2)}id title${" } }".repeat(2)} } }`;
    const query = `query cheap { viewer { id } } query costly { ${costly} }`;

    const statuses: Record<string, number> = {};
    for (const operationName of names) {
      const body = { query, operationName };
      statuses[operationName] = (await ask(`${url}/graphql`, { key: ann.key, body })).status;
    }

    expect(statuses).toEqual({ cheap: 200, costly: 400 });
  },
);

it.each([
  ["left out, then null", [{}, { limit: null }]],
  ["null, then left out", [{ limit: null }, {}]],
])(
  "takes a variable that is null for another than one that is left out, which has its default: %s",
  async (_, asked) => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const ann = await world.user();
    const query = `query($limit: Int = 100, $deep: Boolean! = false) {
    memories(limit: $limit) { memories {
      ${"relationships { memory { ".repeat(2)} id title ${"} } ".repeat(2)}
      tags @include(if: $deep)
    } }
  }`;

    const told: string[] = [];
    for (const variables of asked) {
      const { status, body } = await ask(`${url}/graphql`, { key: ann.key, body: { query, variables } });
      const { extensions } = (body as { errors: [{ extensions: { code: string; reason?: string } }] }).errors[0];
      told.push(`${"limit" in variables} ${status} ${extensions.reason ?? extensions.code}`);
    }

    // The default is a hundred items. Null is refused as a limit, and its zero cost is not reused for the default.
    expect(told.toSorted()).toEqual(["false 400 query_too_costly", "true 400 BAD_REQUEST"]);
    expect(world.bugs).toEqual([]);
  },
);

it("checks the items of a literal list only until there are as many errors as an answer shows", async () => {
  const document = parse(`{ memories(tags: [${"1 ".repeat(900)}]) { nextCursor } }`);
  using checked = vi.spyOn(GraphQLString, "parseLiteral");

  const errors = validate(await graphqlSchema(), document, [literalsRule]);

  expect([errors.length, checked.mock.calls.length]).toEqual([LIMITS.refusal.issues, LIMITS.refusal.issues]);
});
