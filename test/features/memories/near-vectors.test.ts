import { expect, inject, it } from "vitest";
import { deleteMemory } from "../../../src/features/memories/delete-memory.js";
import { findByMeaning } from "../../../src/features/memories/meaning/find-by-meaning.js";
import { indexVectors } from "../../../src/features/memories/meaning/index-vectors.js";
import { LIMITS } from "../../../src/limits.js";
import { VectorIndex } from "../../../src/platform/meaning/vector-index.js";
import { onServer } from "../../bench/on-server.js";
import { aMemory, memoriesTitled } from "../../support/memories.js";
import { PATIENT, findNearest, findTitles as find, meaningfulWorld } from "../../support/meaning.js";

let hasPgvector = false;
await onServer(inject("databaseServer").url, async (server) => {
  const { rowCount } = await server.query("SELECT FROM pg_available_extensions WHERE name = 'vector'");
  hasPgvector = rowCount === 1;
});
if (!hasPgvector) console.error("pgvector is not installed: its indexes of vectors are not tried.");

/** A world in which no graph's vectors fit into memory. */
const roomlessWorld = () => meaningfulWorld(PATIENT, new VectorIndex(1), { fresh: true });
type RoomlessWorld = Awaited<ReturnType<typeof roomlessWorld>>;

/** Makes the indexes that searches have wanted. */
async function index({ world, meaning }: RoomlessWorld, url = world.databaseUrl) {
  await indexVectors({ ...world.services, meaning }, url);
  await meaning.indexing;
}

const indexesOf = async ({ world: { database } }: RoomlessWorld) => {
  const { rows } = await database.pool.query<{ name: string }>(
    "SELECT relname AS name FROM pg_class WHERE relname ~ '^near_vectors_' ORDER BY 1",
  );
  return rows.map(({ name }) => name);
};

it.skipIf(!hasPgvector)("finds by meaning what does not fit into memory, by an index of pgvector", async () => {
  await using at = await roomlessWorld();
  const { pool } = at.world.database;
  await pool.query("CREATE EXTENSION vector");
  const [ann, bob] = [await at.world.user(), await at.world.user()];
  const [, physician, car] = await memoriesTitled(
    ann,
    "Wagen der Flotte",
    "A physician calls",
    "The automobile stalls",
  );
  await memoriesTitled(bob, "Another automobile");
  await at.embed();
  expect(await find(ann, "vehicle")).toEqual({ titles: [], meaning: false });

  await index(at);

  expect(await indexesOf(at)).toHaveLength(1);
  const { titles, meaning } = await find(ann, "vehicle");
  expect(titles.toSorted()).toEqual(["The automobile stalls", "Wagen der Flotte"]);
  expect(meaning).toBe(true);
  expect(await find(ann, "doctor")).toEqual({ titles: ["A physician calls"], meaning: true });

  expect(await find(ann, "vehicle", { types: ["problem"] })).toEqual({ titles: [], meaning: true });
  expect(await find(ann, "vehicle", { createdAfter: "2100-01-01T00:00:00Z" })).toEqual({ titles: [], meaning: true });
  await ann.did(deleteMemory, { id: car.id });
  await memoriesTitled(ann, "A new automobile");
  await at.embed();
  expect((await find(ann, "vehicle")).titles.toSorted()).toEqual(["A new automobile", "Wagen der Flotte"]);
  // The index of one graph is none of another.
  expect(await find(bob, "vehicle")).toEqual({ titles: [], meaning: false });
  // The pieces of a memory count, and it is found once, by its nearest one.
  await pool.query(
    `INSERT INTO memory_vector (graph_id, memory_id, model, piece, version, change, scale, vector)
     SELECT graph_id, memory_id, model, number, version, change, scale, vector
     FROM memory_vector, generate_series(1, 3) AS number WHERE memory_id = $1`,
    [physician.id],
  );
  expect(await find(ann, "doctor")).toEqual({ titles: ["A physician calls"], meaning: true });
});

it.skipIf(!hasPgvector)("finds what passes a filter behind many nearer ones, by an index of pgvector", async () => {
  await using at = await roomlessWorld();
  const { pool } = at.world.database;
  await pool.query("CREATE EXTENSION vector");
  const ann = await at.world.user();
  const [near] = await memoriesTitled(ann, "The automobile");
  const { id } = await aMemory(ann, { title: "Wagen der Flotte, and a physician", tags: ["rare"] });
  await at.embed();
  // As if there were many memories with almost the same text.
  await pool.query("ALTER TABLE memory_vector DROP CONSTRAINT memory_vector_graph_id_memory_id_fkey");
  await pool.query(
    `INSERT INTO memory_vector (graph_id, memory_id, model, piece, version, change, scale, vector)
     SELECT graph_id, gen_random_uuid(), model, piece, version, change + number, scale,
       set_byte(vector, length(vector) - 1, number % 90)
     FROM memory_vector, generate_series(1, $2) AS number WHERE memory_id = $1`,
    [near.id, 3 * LIMITS.embeddings.indexed],
  );
  await pool.query("ANALYZE memory_vector");
  await find(ann, "vehicle");
  await index(at);
  const context = { ...at.world.services, meaning: at.meaning };
  const meant = { text: "vehicle", use: "query" } as const;

  const found = await findByMeaning(context, ann.caller.personalGraphId, meant, { tags: ["rare"] });

  expect(found?.map(({ owner }) => owner)).toEqual([id]);
});

it.skipIf(!hasPgvector)("deletes an index that was left unfinished, or whose model or graph is gone", async () => {
  await using at = await roomlessWorld();
  const { pool, models } = at.world.database;
  await pool.query("CREATE EXTENSION vector");
  const [ann, bob] = [await at.world.user(), await at.world.user()];
  for (const actor of [ann, bob]) await memoriesTitled(actor, "The automobile");
  await at.embed();
  for (const actor of [ann, bob]) await find(actor, "vehicle");
  await index(at);
  const made = await indexesOf(at);
  expect(made).toHaveLength(2);
  await index(at);
  expect(await indexesOf(at)).toEqual(made);

  await pool.query("UPDATE pg_index SET indisvalid = false WHERE indexrelid = $1::regclass", [made[0]]);
  await index(at);
  expect(await indexesOf(at)).toEqual([made[1]]);
  for (const actor of [ann, bob]) await find(actor, "vehicle");
  at.world.travel(61_000);
  for (const actor of [ann, bob]) await find(actor, "vehicle");
  await index(at);
  expect(await indexesOf(at)).toEqual(made);

  await models.graphVectors.delete({ where: { graphId: ann.caller.personalGraphId } });
  await index(at);
  expect(await indexesOf(at)).toHaveLength(1);
  await models.embeddingModel.deleteMany();
  await index(at);
  expect(await indexesOf(at)).toEqual([]);
});

it("finds as many memories in an index as in memory, also behind one with many pieces", async () => {
  await using at = await roomlessWorld();
  const ann = await at.world.user();
  const titles = Array.from({ length: 3 }, (_, number) => `The automobile ${number}`);
  const [first, ...others] = await memoriesTitled(ann, ...titles);
  await at.embed();
  // An index with many pieces of the first memory, then one of each other.
  await at.world.database.pool.query(`
    CREATE OR REPLACE FUNCTION near_vectors(p_graph_id uuid, p_model text, p_numbers int[], p_among uuid[], p_most int)
    RETURNS json LANGUAGE sql STABLE AS $$
      SELECT json_agg(near ORDER BY score DESC) FROM (
        SELECT memory_id AS owner, version, number AS piece, 1 AS pieces,
          CASE memory_id WHEN '${first?.id}' THEN 1 ELSE .9 END AS score
        FROM memory_vector, generate_series(0, CASE memory_id WHEN '${first?.id}' THEN 500 ELSE 0 END) AS number
        WHERE graph_id = p_graph_id ORDER BY score DESC LIMIT p_most) AS near
    $$`);

  const found = await findNearest({ ...at.world.services, meaning: at.meaning }, ann, "vehicle");

  expect(found?.map(({ owner }) => owner).toSorted()).toEqual([first, ...others].map((one) => one?.id).toSorted());
});

it("searches by words, as before, without pgvector", async () => {
  await using at = await roomlessWorld();
  const ann = await at.world.user();
  await memoriesTitled(ann, "The automobile");
  await at.embed();
  await find(ann, "vehicle");

  await index(at);

  expect(await indexesOf(at)).toEqual([]);
  expect(await find(ann, "vehicle")).toEqual({ titles: [], meaning: false });
  expect((await find(ann, "automobile")).titles).toEqual(["The automobile"]);
});

it("says once why vectors could not be indexed, and waits before it tries again", async () => {
  await using at = await roomlessWorld();
  const url = "postgres://nobody@127.0.0.1:1/none";
  const context = { ...at.world.services, meaning: at.meaning };

  for (let time = 0; time < 3; time++) await indexVectors(context, url);
  await expect.poll(() => at.world.log.join("\n")).toMatch(/ECONNREFUSED/);
  await indexVectors(context, url);

  expect(at.world.log.filter((line) => line.includes("vectors could not be indexed"))).toHaveLength(1);
  expect(at.meaning.indexing).toBeDefined();
});
