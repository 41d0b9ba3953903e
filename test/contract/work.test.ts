import { readFileSync } from "node:fs";
import pg from "pg";
import { expect, it, onTestFinished, vi } from "vitest";
import { GraphFull } from "../../src/features/memories/index.js";
import { operations } from "../../src/operations.js";
import { allStatements } from "../../src/platform/database/statement.js";
import { asksProvider } from "../support/billing.js";
import { exampleInput, thingsOf } from "../support/examples.js";
import { ask } from "../support/http.js";
import { Actor, type World, createWorld } from "../support/world.js";

/**
 * Compares statements, in their order, with those in a file. A difference is either a mistake or belongs there:
 * `npm test -- test/contract/work.test.ts -u` writes it.
 */
const expectAsIn = (file: string, work: Readonly<Record<string, string>>) =>
  expect(`${JSON.stringify(work, null, 2)}\n`).toMatchFileSnapshot(`work/${file}.json`);

/** Of finding the caller, which is no work of an operation. */
const OF_CALLERS = ["callers_by_keys", "UPDATE api_key last_used_at"];

/** What is done with which table, or the name of a declared statement. */
function nameOf(query: unknown): string {
  const { text = String(query) } = query as Partial<pg.QueryConfig>;
  const declared = allStatements().find((statement) => statement.text === text);
  if (declared) return declared.name;
  const [verb = ""] = text.trim().split(/\W/);
  const table = /"public"\."(\w+)"/.exec(text)?.[1] ?? /(?<=FROM )\w+/.exec(text)?.[0];
  const isUse = table === "api_key" && /SET "last_used_at"/.test(text);
  return [verb, table, isUse ? "last_used_at" : undefined].filter(Boolean).join(" ");
}

/** Returns a function that tells which statements some work sends to a world's database. */
function listen() {
  const queries = vi.spyOn(pg.Client.prototype, "query");
  onTestFinished(() => queries.mockRestore());
  return async ({ databaseUrl }: World, work: () => Promise<unknown>): Promise<string> => {
    const name = new URL(databaseUrl).pathname.slice(1);
    queries.mockClear();
    await work();
    const clients = queries.mock.contexts as readonly pg.Client[];
    const sent = queries.mock.calls.flatMap(([query]: readonly unknown[], place) =>
      clients[place]?.database === name ? [nameOf(query)] : [],
    );
    return sent.filter((one) => !OF_CALLERS.includes(one)).join(", ");
  };
}

it("sends the known statements for the example of each operation", async () => {
  await using world = await createWorld();
  const sentBy = listen();
  const work: Record<string, string> = {};
  // With the payment provider, they depend on what it answers.
  for (const operation of operations.filter((one) => !asksProvider(one))) {
    const actor = await world.user();
    const input = exampleInput(operation, await thingsOf(world, actor, operation));
    work[operation.name] = await sentBy(world, () => actor.did(operation, input));
  }
  await expectAsIn("examples", work);
});

it("refuses what has no room in a graph before much is written", async () => {
  await using world = await createWorld();
  const sentBy = listen();
  const nothing = { memories: 0, bytes: 0 };
  const full = { ...world.services, storage: { free: nothing, pro: nothing, team: nothing } };
  const work: Record<string, string> = {};
  // The example of updating a relationship does not make it larger.
  const adding = operations.filter(
    ({ name, failures }) => failures.includes(GraphFull) && name !== "updateRelationship",
  );
  for (const operation of adding) {
    const actor = await world.user();
    const input = exampleInput(operation, await thingsOf(world, actor, operation));
    const refused = new Actor(full, actor.caller, actor.email, actor.key);
    work[operation.name] = await sentBy(world, async () => {
      expect(await refused.does(operation, input)).toBeRefused("conflict", "graph_full");
    });
  }
  await expectAsIn("refusals", work);
});

const QUERIES = [
  "memory(id: $id) { title }",
  "memory(id: $id) { author editor }",
  "memory(id: $id) { relationships { relationship { id type strength } memory { id title } } }",
  "memory(id: $id) { relationships { context relationship { context } } }",
  "memory(id: $id) { relationships { memory { summary supersededBy { title } } } }",
  "memories { memories { relationships { context relationship { context } } } }",
  "memories { memories { relationshipsTotal supersededBy { title } solvedBy { title } } }",
  'searchMemories(query: "thre") { memories { title } }',
  'searchMemories(query: "thre") { unknownWords { word } }',
  'searchMemories(query: "three") { memories { memory { content } } }',
  "relatedMemories(id: $id) { memories { title } }",
  "relatedMemories(id: $id) { memories { link { confidence } } }",
];

const TIMES_MAX = 50;

it("reads from the database only what the selected fields need", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();
  const sentBy = listen();
  const ann = await world.user();
  const { memories } = await thingsOf(world, ann);
  const [id] = memories;
  const known = JSON.parse(readFileSync("test/contract/work/selections.json", "utf8")) as Record<string, string>;
  const work: Record<string, string> = {};
  for (const selected of QUERIES) {
    const query = selected.includes("$id") ? `query($id: ID!) { ${selected} }` : `{ ${selected} }`;
    const sent = () =>
      sentBy(world, async () => {
        const { body } = await ask(`${url}/graphql`, { key: ann.key, body: { query, variables: { id } } });
        expect(body).not.toHaveProperty("errors");
      });
    // The server's background jobs send some, too: on a busy machine during several requests, one after the other.
    let least = await sent();
    for (let times = 1; times < TIMES_MAX && least !== known[selected]; times++) {
      const one = await sent();
      if (one.length < least.length) least = one;
    }
    work[selected] = least;
  }
  await expectAsIn("selections", work);
});
