import { expect, it } from "vitest";
import { exportGraph } from "../../src/features/bulk/export-graph.js";
import { restoreMemories } from "../../src/features/bulk/restore-memories.js";
import { GraphInput } from "../../src/features/memories/index.js";
import { updateMemory } from "../../src/features/memories/update-memory.js";
import { inputTypeOf } from "../../src/operation/input.js";
import { outputTypeOf } from "../../src/operation/output.js";
import { graphqlSchema, operations } from "../../src/operations.js";
import { exampleInput, thingsOf } from "../support/examples.js";
import { ask } from "../support/http.js";
import { aLink, aMemory, miscounted } from "../support/memories.js";
import { askGraphQL, askRest, named } from "../support/operations.js";
import { selectionOf } from "../support/selections.js";
import { STORED_LATER } from "../support/tables.js";
import { type Actor, createWorld } from "../support/world.js";

const schema = await graphqlSchema();
const reading = operations.filter(({ kind, input }) => kind === "query" && input.prototype instanceof GraphInput);

const BOBS = { title: "Bob's note", content: "Bob's text.", context: { of: "Bob's" } };

/** As far as the contexts of the relationships of memories that a page lists. */
const LEVELS = 4;

it("knows the operations that read a graph", () => {
  expect(reading.length).toBeGreaterThan(10);
});

/** Restoring an export gives another graph the same ids, so an id alone must find nothing. */
it.each(reading.map((operation) => [operation.name, operation] as const))(
  "shows by %s nothing of another graph that has the same ids",
  async (_name, operation) => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const [ann, bob] = [await world.user(), await world.user()];
    const things = await thingsOf(world, ann, operation);
    const page = await ann.did(exportGraph);
    const { records } = await ann.did(exportGraph, { cursor: page.nextCursor });
    await bob.did(restoreMemories, {
      memories: page.records.flatMap(({ record, ...fields }) => (record === "memory" ? [{ ...fields, ...BOBS }] : [])),
      relationships: records.map(({ record: _record, ...fields }) => ({ ...fields, context: BOBS.content })),
    });
    const limit = "limit" in inputTypeOf(schema, operation).getFields() ? { limit: 3 } : {};
    const input = { ...exampleInput(operation, things), ...limit };
    const selection = selectionOf(outputTypeOf(schema, operation), LEVELS);

    const answersTo = async (key: string) => [
      await askRest(url, key, operation, input),
      await askGraphQL(url, key, schema, operation, input, {}, selection),
    ];
    const [anns, bobs] = [await answersTo(ann.key), await answersTo(bob.key)];

    expect(anns.concat(bobs).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(JSON.stringify([anns, bobs])).not.toContain('"errors"');
    expect(JSON.stringify(anns)).not.toContain("Bob's");
    expect(JSON.stringify(bobs)).not.toMatch(/"(?:One|Two|Three)"|of three/);
    expect(world.bugs).toEqual([]);
  },
);

/** Whoever restores an export of the team's graph into their own has the same ids in both. */
it.each(
  // An export says when it began.
  reading.filter(({ name }) => name !== "exportGraph").map((operation) => [operation.name, operation] as const),
)("shows by %s of each graph what is its own, also in one request", async (_name, operation) => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const ann = await world.user();
  const things = await thingsOf(world, ann, operation);
  await copyGraph(ann, ann, "personal");
  const type = inputTypeOf(schema, operation);
  const limit = "limit" in type.getFields() ? { limit: 3 } : {};
  const input = named({ ...exampleInput(operation, things), ...limit }, type);
  const selection = selectionOf(outputTypeOf(schema, operation), LEVELS);
  const given = Object.keys(input);
  const variables = given.map((name) => `$${name}: ${String(type.getFields()[name]?.type)}`);
  const args = given.map((name) => `${name}: $${name}`);
  const field = (graph: string) =>
    `${graph}: ${operation.name}(${[...args, `graph: ${graph}`].join(", ")}) ${selection}`;
  const answerTo = async (...graphs: readonly string[]) => {
    const names = variables.length > 0 ? `(${variables.join(", ")})` : "";
    const query = `query${names} { ${graphs.map(field).join(" ")} }`;
    return (await ask(`${url}/graphql`, { key: ann.key, body: { query, variables: input } })).body as object;
  };

  const apart = [await answerTo("TEAM"), await answerTo("PERSONAL")] as { data: object }[];

  expect(JSON.stringify(apart)).not.toContain('"errors"');
  expect(await answerTo("TEAM", "PERSONAL")).toEqual({ data: Object.assign({}, ...apart.map(({ data }) => data)) });
  expect(world.bugs).toEqual([]);
});

const changing = operations.filter(({ kind, input }) => kind === "mutation" && input.prototype instanceof GraphInput);

it.each(changing.map((operation) => [operation.name, operation] as const))(
  "changes by %s nothing of another graph that has the same ids",
  async (_name, operation) => {
    await using world = await createWorld();
    const { url } = await world.serve();
    const [ann, bob] = [await world.user(), await world.user()];
    const things = await thingsOf(world, ann, operation);
    await copyGraph(ann, bob);
    const rows = async () => {
      const parts = ["memory", "memory_version", "relationship", "graph_usage"].map(
        (table) => `SELECT to_jsonb(t) - $2::text[] AS row FROM ${table} t WHERE graph_id = $1`,
      );
      const { rows: all } = await world.database.pool.query(`${parts.join(" UNION ALL ")} ORDER BY row`, [
        bob.caller.personalGraphId,
        STORED_LATER,
      ]);
      return all;
    };
    const before = await rows();

    const answer = await askRest(url, ann.key, operation, exampleInput(operation, things));

    expect(answer.status).toBeLessThan(300);
    expect(await rows()).toEqual(before);
    expect(await miscounted(world)).toEqual([]);
  },
);

/** Restores one's memories and relationships as another's, where each memory is then changed once. */
async function copyGraph(from: Actor, to: Actor, graph?: "personal"): Promise<void> {
  const page = await from.did(exportGraph);
  const { records } = page.nextCursor === null ? page : await from.did(exportGraph, { cursor: page.nextCursor });
  const memories = page.records.flatMap(({ record, ...fields }) => (record === "memory" ? [fields] : []));
  const relationships = records.flatMap(({ record, ...fields }) =>
    record === "relationship" ? [{ ...fields, context: BOBS.content }] : [],
  );
  if (memories.length > 0) await to.did(restoreMemories, { memories, relationships, graph });
  for (const { id } of memories) await to.did(updateMemory, { id, content: BOBS.content, graph });
}

it("restores no relationship of which only another graph has the memories", async () => {
  await using world = await createWorld();
  const [ann, bob] = [await world.user(), await world.user()];
  const { id, from, to, type, createdAt } = await aLink(ann, await aMemory(ann), await aMemory(ann));

  const given = { relationships: [{ id, from, to, type, createdAt }] };
  expect(await bob.does(restoreMemories, given)).toBeRefused("not_found");
});
