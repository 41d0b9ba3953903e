import { expect, it } from "vitest";
import { forgetAbandonedGraph } from "../../../src/features/memories/abandoned-graphs.js";
import { embedDueMemories } from "../../../src/features/memories/meaning/embed-memories.js";
import { forgetUnusedVectors } from "../../../src/features/memories/meaning/embedding-models.js";
import { setMakers } from "../../../src/features/memories/read-makers.js";
import { LIMITS } from "../../../src/limits.js";
import { fillInstallation } from "../../support/installation.js";
import { PATIENT, findNearest, meaningfulWorld } from "../../support/meaning.js";
import { aMemory, manyLinks, manyMemories } from "../../support/memories.js";
import { everythingRead, rowsRead, vacuum } from "../../support/rows-read.js";
import { aTeam } from "../../support/teams.js";
import { createWorld } from "../../support/world.js";

/** Memories of the graph; it has as many versions, relationships, vectors, and twice as many words. */
const MEMORIES = 2_500;

/** A world with a large graph that the statistics do not know: if there are any, they are of many small graphs. */
async function unknownGraph({ isAnalyzed }: { isAnalyzed: boolean }) {
  const world = await createWorld({ fresh: true });
  const { pool } = world.database;
  await fillInstallation(world, 1_000);
  if (isAnalyzed) await pool.query("ANALYZE");
  const actor = await world.user();
  const graphId = actor.caller.personalGraphId;
  const ids = (await manyMemories(world, actor, MEMORIES)).map(({ id }) => id);
  await manyLinks(
    world,
    actor,
    ids.map((id, at) => [id, ids[(at + 1) % MEMORIES] ?? id] as const),
  );
  await pool.query(`
    INSERT INTO memory_version (graph_id, memory_id, version, type, title, content, tags, importance, changed_by, changed_at)
      SELECT graph_id, id, 1, type, title, content, tags, importance, updated_by, updated_at FROM memory
      WHERE graph_id = '${graphId}';
    INSERT INTO memory_vector (graph_id, memory_id, model, piece, version, change, scale, vector)
      SELECT graph_id, id, 'another', 0, 1, 1, 1, '' FROM memory WHERE graph_id = '${graphId}';
    INSERT INTO lexicon (graph_id, word, documents)
      SELECT '${graphId}', 'gone' || n, 1 FROM generate_series(1, ${2 * MEMORIES}) AS n`);
  return { world, pool, actor, graphId, ids };
}

const STATES = [
  { state: "nobody has analyzed anything", isAnalyzed: false },
  { state: "only small graphs were analyzed", isAnalyzed: true },
];

it.each(STATES)("deletes a large graph without reading all of it for each part, while $state", async (state) => {
  const { world, graphId } = await unknownGraph(state);
  await using _world = world;
  await world.database.models.graph.update({ where: { id: graphId }, data: { userId: null } });

  const read: number[] = [];
  for (let more = true; more;) {
    // Indexes have entries of deleted rows until then.
    await vacuum(world, ["memory_version", "relationship", "lexicon", "memory_vector", "memory"]);
    const before = await everythingRead(world);
    more = await forgetAbandonedGraph(world.services);
    read.push((await everythingRead(world)) - before);
  }

  const { rows } = LIMITS.chores;
  expect(read.length).toBeGreaterThan((6 * MEMORIES) / rows);
  // Each row once to find the last one of the part, and once to delete it.
  expect(Math.max(...read), read.join(" ")).toBeLessThan(2.5 * rows);
  expect(await world.database.models.memory.count({ where: { graphId } })).toBe(0);
});

it.each(STATES)("reads what comes next in a large graph without sorting the rest, while $state", async (state) => {
  const { world, pool, graphId } = await unknownGraph(state);
  await using _world = world;
  /** Calls a function that returns the last id or word of the next part, until there is none. */
  const readPerPart = async (call: string, first: string) => {
    const read: number[] = [];
    for (let last: string | null = first; last !== null;) {
      const before = await rowsRead(world);
      const answer: { rows: { last: string | null }[] } = await pool.query(call, [graphId, last, PART]);
      read.push((await rowsRead(world)) - before);
      last = answer.rows[0]?.last ?? null;
    }
    return read;
  };

  // The words before these have the types, which all memories have.
  const words = await readPerPart("SELECT forget_words_of($1, $2, $3) AS last", "a");
  const memories = await readPerPart("SELECT last FROM queue_for_embedding($1, $2, $3)", FIRST);

  expect(words.length).toBeGreaterThan((2 * MEMORIES) / PART);
  expect(memories.length).toBeGreaterThan(MEMORIES / PART);
  expect(Math.max(...words), words.join(" ")).toBeLessThan(4 * PART);
  expect(Math.max(...memories), memories.join(" ")).toBeLessThan(4 * PART);
});

const PART = 200;
const FIRST = "00000000-0000-0000-0000-000000000000";

it.each(STATES)(
  "reads who made memories without reading other members or users, while $state",
  async ({ isAnalyzed }) => {
    await using world = await createWorld({ fresh: true });
    const { database } = world;
    const { member, teamId } = await aTeam(world, { maxMembers: 1_000 });
    const { caller } = await member.withKey(member.key);
    if (isAnalyzed) await database.pool.query("ANALYZE");
    // Planned for few rows, foreign keys would read the whole table for each new one.
    await database.pool.query(`
    BEGIN;
    SET LOCAL enable_seqscan = off;
    INSERT INTO user_account (id, email) SELECT md5('user' || n)::uuid, n || '@example.com' FROM generate_series(1, 20000) n;
    INSERT INTO team_member (user_id, team_id, role)
    SELECT md5('user' || n)::uuid, '${teamId}', 'member' FROM generate_series(1, 900) n;
    COMMIT`);
    const graphId = caller.team?.graphId;
    const { rows: memories } = await database.pool.query<{ graphId: string; id: string }>(
      `INSERT INTO memory (graph_id, id, type, title, content, tags, created_by, created_at, updated_by, updated_at)
     SELECT $1, gen_random_uuid(), 'general', 'Note', '', '{}', u.id, now(), u.id, now()
     FROM generate_series(1, 900) n JOIN user_account u ON u.id = md5('user' || n)::uuid RETURNING graph_id AS "graphId", id`,
      [graphId],
    );

    for (const count of [1, 20, 900]) {
      const items = memories.slice(0, count).map((place) => ({ ...place, author: "" }));
      const before = await everythingRead(world);
      await setMakers({ caller, database }, items, (item) => item);
      expect((await everythingRead(world)) - before, `${count} memories`).toBeLessThan(5 * count + 20);
      expect(new Set(items.map(({ author }) => author)).size).toBe(count);
    }
  },
);

it("finds by meaning without reading the vectors of other graphs, before the statistics know the model", async () => {
  await using at = await meaningfulWorld(PATIENT, undefined, { fresh: true });
  const { world, meaning } = at;
  const { pool } = world.database;
  await fillInstallation(world, 2_000);
  await pool.query("ANALYZE");
  const { model } = meaning.server;
  await pool.query("INSERT INTO embedding_model (model, filled, complete) VALUES ($1, true, true)", [model]);
  await pool.query(
    `INSERT INTO memory_vector (graph_id, memory_id, model, piece, version, change, scale, vector)
     SELECT graph_id, memory_id, $1, piece, version, change, scale, vector FROM memory_vector`,
    [model],
  );
  const actor = await world.user();
  const { id } = await aMemory(actor, { title: "The automobile stalls" });
  const context = { ...world.services, meaning };
  await embedDueMemories(context);
  const before = await everythingRead(world);

  const near = await findNearest(context, actor, "car");

  expect((await everythingRead(world)) - before).toBeLessThan(500);
  expect(JSON.stringify(near)).toContain(id);
});

it("forgets the vectors of an unused model without reading all for each part, while the statistics are older", async () => {
  await using at = await meaningfulWorld(PATIENT, undefined, { fresh: true });
  const { world, meaning } = at;
  const { pool } = world.database;
  const { model } = meaning.server;
  const storeVectors = (ofModel: string, ids: readonly string[] | null = null) =>
    pool.query(
      `INSERT INTO memory_vector (graph_id, memory_id, model, piece, version, change, scale, vector)
       SELECT graph_id, id, $1, 0, 1, row_number() OVER (ORDER BY id), 1, '' FROM memory
       WHERE $2::uuid[] IS NULL OR id = ANY ($2)`,
      [ofModel, ids],
    );
  await fillInstallation(world, 1_000);
  await pool.query("DELETE FROM memory_vector; DELETE FROM embedding_model");
  await storeVectors(model);
  await storeVectors("unused");
  await pool.query("VACUUM ANALYZE memory_vector");
  await pool.query("DELETE FROM memory_vector WHERE model = 'unused'");
  const ids = (await manyMemories(world, await world.user(), MEMORIES)).map(({ id }) => id);
  await pool.query(
    `INSERT INTO embedding_model (model, filled, complete, used_at)
     VALUES ($1, true, true, now()), ('unused', true, true, now() - interval '1 year')`,
    [model],
  );
  await storeVectors(model, ids);
  await storeVectors("unused", ids);

  const read: number[] = [];
  for (let more = true; more;) {
    await vacuum(world, ["memory_vector"]);
    const before = await everythingRead(world);
    more = await forgetUnusedVectors({ ...world.services, meaning }, PART);
    read.push((await everythingRead(world)) - before);
  }

  expect(read.length).toBeGreaterThan(MEMORIES / PART);
  expect(Math.max(...read), read.join(" ")).toBeLessThan(2.5 * PART);
});
