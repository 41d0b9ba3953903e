import { expect, it } from "vitest";
import { readBacklog } from "../../src/backlog.js";
import { createMemories } from "../../src/features/bulk/create-memories.js";
import { deleteMemories } from "../../src/features/bulk/delete-memories.js";
import { exportGraph } from "../../src/features/bulk/export-graph.js";
import { memoryChores } from "../../src/features/memories/chores.js";
import { relationships } from "../../src/features/relationships/list-relationships.js";
import { createMemory } from "../../src/features/memories/create-memory.js";
import { nearVectors } from "../../src/features/memories/meaning/embedding-statements.js";
import { forgetUnusedVectors } from "../../src/features/memories/meaning/embedding-models.js";
import { findSimilar } from "../../src/features/memories/search/find-similar.js";
import { verifyGraphs } from "../../src/features/memories/index.js";
import { forgetWords } from "../../src/features/memories/words/forget-words.js";
import {
  makersOfMemories,
  memoriesWithLinks,
  memoriesWithRelationships,
} from "../../src/features/memories/memory-statements.js";
import { readMemories } from "../../src/features/memories/read-memories.js";
import { relatedStatement } from "../../src/features/memories/related-statement.js";
import { searchMemories } from "../../src/features/memories/search/search-memories.js";
import { shareMemories } from "../../src/features/memories/share-memories.js";
import { updateMemory } from "../../src/features/memories/update-memory.js";
import { createTeam } from "../../src/features/teams/create-team.js";
import { deleteTeam } from "../../src/features/teams/delete-team.js";
import { LIMITS } from "../../src/limits.js";
import { contextOf } from "../../src/operation/context.js";
import { operations } from "../../src/operations.js";
import { DISTRIBUTED_TABLES, OBSTACLES, REFERENCE_TABLES } from "../../src/platform/database/distributed-tables.js";
import { Meaning } from "../../src/platform/meaning/meaning.js";
import { allStatements } from "../../src/platform/database/statement.js";
import { lookForDisagreement } from "../model/run.js";
import { startEmbeddingsServer } from "../support/embeddings-server.js";
import { exampleInput, thingsOf } from "../support/examples.js";
import { aLink, aMemory } from "../support/memories.js";
import { type Plans, hearPlans, partitionGraphs } from "../support/partitions.js";
import { roundsOf } from "../support/rounds.js";
import { type Actor, type World, createWorld } from "../support/world.js";

/** Has a `graph_id`, but is a local table beside `graph`, which is not distributed either: only chores use it. */
const LOCAL_TABLES = ["lexicon_look"];

/** Marks in SQL what reads the graphs of all nodes. Only background jobs run it. */
const ALL_GRAPHS = "/* all graphs */";

const readObstacles = async ({ database: { pool } }: World): Promise<unknown[]> =>
  (await pool.query(OBSTACLES, [DISTRIBUTED_TABLES, REFERENCE_TABLES])).rows;

it("finds nothing in the schema that prevents distributing graphs", async () => {
  await using world = await createWorld();

  expect(await readObstacles(world)).toEqual([]);

  const { rows } = await world.database.pool.query<{ table: string }>(
    `SELECT table_name AS table FROM information_schema.columns
     WHERE table_schema = 'public' AND column_name = 'graph_id' ORDER BY 1`,
  );
  expect(rows.map(({ table }) => table)).toEqual([...DISTRIBUTED_TABLES, ...LOCAL_TABLES].sort());
});

it.each([
  ["CREATE UNIQUE INDEX bad ON memory (id)", "unique without graph_id: bad"],
  [
    "ALTER TABLE lexicon DROP CONSTRAINT lexicon_pkey; ALTER TABLE lexicon ALTER graph_id DROP NOT NULL",
    "graph_id is missing or may be null",
  ],
  [
    "ALTER TABLE memory ADD CONSTRAINT bad FOREIGN KEY (graph_id) REFERENCES graph (id)",
    "refers to a table that is not distributed: bad",
  ],
  [
    "ALTER TABLE lexicon_look ADD CONSTRAINT bad FOREIGN KEY (graph_id) REFERENCES graph_root (graph_id)",
    "refers to a distributed table, and is not distributed: bad",
  ],
  [
    "ALTER TABLE embedding_due ADD CONSTRAINT bad FOREIGN KEY (memory_id) REFERENCES graph_root (graph_id)",
    "foreign key that does not pair graph_id with graph_id: bad",
  ],
  [
    `ALTER TABLE embedding_due ADD CONSTRAINT bad FOREIGN KEY (graph_id, memory_id) REFERENCES memory (graph_id, id)
     ON UPDATE CASCADE`,
    "foreign key that changes graph_id: bad",
  ],
  [
    "ALTER TABLE memory_vector ADD CONSTRAINT bad FOREIGN KEY (model) REFERENCES embedding_model (model)",
    "a foreign key from or to a reference table: bad",
  ],
  [
    `CREATE FUNCTION bad() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
     CREATE TRIGGER bad AFTER INSERT ON memory FOR EACH ROW EXECUTE FUNCTION bad()`,
    "trigger: bad",
  ],
])("finds what forbids it: %s", async (change, problem) => {
  await using world = await createWorld({ fresh: true });

  await world.database.pool.query(change);

  expect(await readObstacles(world)).toContainEqual({ table: expect.any(String), problem });
});

it("reads one partition for each statement, at every door", async () => {
  let plans: Plans | undefined;
  const way = async (url: string) => {
    const served = new URL(url);
    served.searchParams.set("application_name", "served");
    await partitionGraphs(url);
    plans = hearPlans(served);
    return served.href;
  };

  const { failure } = await lookForDisagreement({ steps: roundsOf(1_000), seed: 2, way }, () => {});

  plans?.[Symbol.dispose]();
  expect(failure).toBeUndefined();
  expect(plans?.parts.size).toBeGreaterThan(100);
  expect(wrongIn(plans)).toEqual([]);
});

it("reads one partition for each declared statement, and all graphs only in the background", async () => {
  await using server = await startEmbeddingsServer();
  const meaning = new Meaning(server.client(), undefined, { searchMs: 60_000 });
  await using world = await createWorld({ fresh: true, meaning });
  await partitionGraphs(world.databaseUrl);
  const { pool, reservedPool, searchPool } = world.database;
  // The connections were closed, which this process learns a moment later.
  await expect.poll(() => pool.totalCount + reservedPool.totalCount + searchPool.totalCount).toBe(0);
  using plans = hearPlans(new URL(world.databaseUrl));
  await doChores(world);

  for (const operation of operations.filter(({ permission }) => permission.startsWith("memories:"))) {
    const actor = await world.user();
    await actor.did(operation, exampleInput(operation, await thingsOf(world, actor, operation)));
  }
  await doOtherThings(world);
  await readBacklog(world.services);

  expect(wrongIn(plans).filter((text) => !BY_MODELS.some((form) => form.test(text)))).toEqual([]);
  const isAcross = ([text, parts]: readonly [string, number]) => parts > 1 && text.includes(ALL_GRAPHS);
  const across = [...plans.parts].filter(isAcross).map(([text]) => /\b(?:from|of) (\w+)(?! \()/i.exec(text)?.[1]);
  expect([...new Set(across)].sort()).toEqual(["embedding_due", "graph_usage"]);
  const { rows } = await world.database.pool.query<{ name: string }>(
    "SELECT DISTINCT proname AS name FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prosrc ~ $1",
    [`\\m(FROM|JOIN|INTO|UPDATE) (${DISTRIBUTED_TABLES.join("|")})\\M`],
  );
  const asked = new RegExp(`${ON_GRAPHS.source}|\\b(${rows.map(({ name }) => name).join("|")})\\(`);
  const declared = allStatements().filter(({ text }) => asked.test(text));
  expect(declared.length).toBeGreaterThan(30);
  expect(declared.filter(({ text }) => !plans.parts.has(text.trim())).map(({ name }) => name)).toEqual([]);
  // A function that reads these tables must not be called in queries on them: on a node it would find nothing.
  const calling = new RegExp(`\\b(${rows.map(({ name }) => name).join("|")})\\(`);
  const nested = [...plans.parts.keys()].filter((text) => ON_GRAPHS.test(text) && calling.test(text));
  expect(nested).toEqual([]);
});

/** Prisma's queries over all graphs in the background: memories to embed, and graphs with vectors of a model. */
const BY_MODELS = [
  /FROM "public"."embedding_due" .* OFFSET/,
  /FROM "public"."embedding_due" .*WHERE "t0"."due_at" <= /,
  /FROM "public"."memory_vector" .*WHERE "t0"."model" = \$1 ORDER BY "t0"."graph_id" ASC LIMIT/,
];
const ON_GRAPHS = new RegExp(
  `\\b(?:FROM|JOIN|INTO|UPDATE) (?:ONLY )?(?:"public"\\.)?"?(?:${DISTRIBUTED_TABLES.join("|")})\\b`,
);
/** Forms that engines with distributed tables refuse, or run on every node. */
const REFUSED = [
  /\bAS (?:NOT )?(?:MATERIALIZED )?\(\s*INSERT\b/,
  /\bUPDATE\b[^;]*\bSET\b(?:(?!\bWHERE\b)[^;])*"?\bgraph_id"? *=/,
  /\bSELECT\s+FROM\b/,
];

/** The statements on these tables that do not name one graph, or have a refused form. */
const wrongIn = (plans: Plans | undefined): string[] =>
  [...(plans?.parts ?? [])]
    .filter(([text, parts]) => (parts > 1 && !text.includes(ALL_GRAPHS)) || isRefused(text))
    .map(([text]) => text);

const isRefused = (text: string): boolean => ON_GRAPHS.test(text) && REFUSED.some((form) => form.test(text));

it("has no statement in a refused form, whether it runs here or not", async () => {
  await using world = await createWorld();
  const { rows } = await world.database.pool.query<{ body: string }>(
    "SELECT prosrc AS body FROM pg_proc WHERE pronamespace = 'public'::regnamespace",
  );
  const texts = [...allStatements().map(({ text }) => text), ...rows.flatMap(({ body }) => body.split(";"))];

  expect(texts.filter(isRefused)).toEqual([]);
  expect(isRefused("WITH a AS (\n INSERT INTO memory (id) VALUES (1) RETURNING id) SELECT id FROM a")).toBe(true);
  expect(isRefused('UPDATE "public"."memory" SET "title" = $1, "graph_id" = $2 WHERE id = $3')).toBe(true);
  expect(isRefused("SELECT 1 WHERE EXISTS (SELECT FROM memory)")).toBe(true);
  expect(isRefused("UPDATE memory SET title = $1 WHERE graph_id = $2")).toBe(false);
});

async function doChores({ services }: World): Promise<void> {
  for (const { run } of memoryChores(services, undefined)) while (await run()) continue;
}

/** Does what the example inputs of operations do not. */
async function doOtherThings(world: World): Promise<void> {
  const { database, services } = world;
  const ann = await world.user();
  const graphId = ann.caller.personalGraphId;
  const context = contextOf(services, { caller: ann.caller, door: "rest", clientAddress: "127.0.0.1" });
  const first = await aMemory(ann, { title: "The automobile", content: "Retry with backoff: src/app.ts." });
  const second = await aMemory(ann, { title: "Another", content: "An exponential backoff, a timeout" });
  const words = Array.from({ length: 2 * LIMITS.search.uncountedWords }, (_, at) => `word${at}x`).join(" ");
  await ann.did(createMemory, { type: "general", title: "Words", content: words, clientId: "words" });
  await aLink(ann, first, second, { relationshipType: "REPLACES" });
  const exists = { fromMemoryId: first.id, toMemoryId: second.id, relationshipType: "REPLACES" };
  expect(await ann.did(createMemories, { relationships: [exists] })).toMatchObject({ existingRelationships: 1 });
  await ann.did(relationships, { memoryId: first.id });
  await ann.did(deleteMemories, { tags: ["none"], dryRun: true });
  await doChores(world);

  const filter = { tags: ["a"], minImportance: 0.1, project: "/a", createdAfter: "2026-01-01T00:00:00Z" };
  for (const wishes of [{}, filter, { explain: true, full: true }]) {
    for (const query of ["exponentail backof timout", '"an exponential" backoff', "vehicle", "src/app.ts"]) {
      await ann.did(searchMemories, { query, ...wishes });
    }
  }
  await findSimilar(context, graphId, { type: "general", title: "The automobile", content: "Retry with backoff" });
  await readMemories(context, [{ graphId, id: first.id }], { withContent: true });
  for (const statement of [memoriesWithRelationships, memoriesWithLinks]) {
    await database.run(statement, { graphId, ids: [first.id], withContent: true });
  }
  await database.run(makersOfMemories, { graphId, ids: [first.id] });
  await database.run(nearVectors, { graphId, model: "a", numbers: [1, 2], among: null, most: 1 });
  for (const rows of ["memories", "linked", "relationships"] as const) {
    for (let depth = 1; depth <= LIMITS.walk.depth; depth++) {
      const values = { graphId, start: first.id, types: null, direction: "any", limit: 10, now: null };
      await database.run(relatedStatement(depth, rows), values);
    }
  }
  await ann.did(updateMemory, { id: first.id, context: { project_path: "/a" }, expiresAt: "2026-01-01T00:00:00Z" });
  await ann.did(searchMemories, { query: "backoff" });
  await ann.did(createMemories, { memories: [{ type: "general", title: "One more", content: "Of many." }] });
  const { nextCursor: cursor } = await ann.did(exportGraph, {});
  await ann.did(exportGraph, { cursor });
  for await (const miscounted of verifyGraphs(database, { repair: true })) expect(miscounted).toBeUndefined();
  await moveOn(world, ann);
}

/** Shares memories, deletes the team, and lets models and words be forgotten. */
async function moveOn(world: World, ann: Actor): Promise<void> {
  const { id: teamId } = await ann.did(createTeam, { name: "Team", maxMembers: 2 });
  await ann.did(shareMemories, { all: true });
  await doChores(world);
  await ann.did(deleteTeam, { teamId });
  await world.database.pool.query("UPDATE embedding_model SET used_at = now() - interval '2 days'");
  await world.database.pool.query("INSERT INTO embedding_model (model, complete) VALUES ('next', true)");
  await using server = await startEmbeddingsServer();
  const meaning = new Meaning(server.client("next"));
  while (await forgetUnusedVectors({ ...world.services, meaning }, 1)) continue;
  while (await forgetWords(world.services, 0)) continue;
  await doChores(world);
}
