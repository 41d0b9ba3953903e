import { expect, it, vi } from "vitest";
import { deleteMemory } from "../../../src/features/memories/delete-memory.js";
import { memory as getMemory } from "../../../src/features/memories/get-memory.js";
import { embedDueMemories } from "../../../src/features/memories/meaning/embed-memories.js";
import { readNearMemories, mergeByRank } from "../../../src/features/memories/search/merge-by-rank.js";
import { searchMemories } from "../../../src/features/memories/search/search-memories.js";
import { shareMemories } from "../../../src/features/memories/share-memories.js";
import { updateMemory } from "../../../src/features/memories/update-memory.js";
import { createTeam } from "../../../src/features/teams/create-team.js";
import { LIMITS } from "../../../src/limits.js";
import { Meaning } from "../../../src/platform/meaning/meaning.js";
import { VectorIndex } from "../../../src/platform/meaning/vector-index.js";
import { type Trouble } from "../../support/embeddings-server.js";
import type { Meter } from "../../../src/platform/telemetry/meter.js";
import { aLink, aMemory, memoriesTitled } from "../../support/memories.js";
import { PATIENT, READS_VECTORS, findNearest, findTitles as find, meaningfulWorld } from "../../support/meaning.js";
import { listenTo } from "../../support/statements.js";
import { type Actor, type World } from "../../support/world.js";

it("finds memories with the same meaning in other words, after those with every word", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  await memoriesTitled(ann, "The automobile stalls", "A physician calls", "Wagen der Flotte", "Buy a car");
  await at.embed();

  expect(await find(ann, "car")).toEqual({
    titles: ["Buy a car", expect.any(String), expect.any(String)],
    meaning: true,
  });
  expect((await find(ann, "vehicle")).titles.toSorted()).toEqual([
    "Buy a car",
    "The automobile stalls",
    "Wagen der Flotte",
  ]);
  expect(await find(ann, "vehicle", { types: ["problem"] })).toEqual({ titles: [], meaning: true });
  expect((await find(ann, "vehicle", { limit: 1, offset: 1 })).titles).toHaveLength(1);
  const { mergedByWords } = LIMITS.embeddings;
  const pages = [0, 1].map((beyond) => find(ann, "vehicle", { limit: mergedByWords - 1, offset: 1 + beyond }));
  expect((await Promise.all(pages)).map(({ meaning }) => meaning)).toEqual([true, false]);
  expect(await find(ann, "vehicle", { limit: 200 })).toEqual({ titles: [], meaning: false });
  expect((await ann.did(searchMemories, { query: "vehicle", explain: true })).memories[0]).toMatchObject({
    matches: [],
    snippet: "Something.",
    supersededBy: null,
    relevance: expect.closeTo(1, 1),
  });
});

it("finds only what is nearer than unrelated texts, by a model for which all texts are near", async () => {
  await using at = await meaningfulWorld();
  await using narrow = new Meaning(at.server.client("narrow"), undefined, PATIENT);
  const ann = await at.world.user();
  await memoriesTitled(ann, "The automobile stalls", "A physician calls");
  await at.embed(narrow);
  const context = { ...at.world.services, meaning: narrow };

  const [nearest, other] = (await findNearest(context, ann, "vehicle")) ?? [];

  expect(nearest?.score).toBeCloseTo(1, 1);
  expect(other?.score).toBeLessThan(0.1);
});

it("finds by meaning also if the server refuses the texts that tell how near unrelated ones are", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  await memoriesTitled(ann, "The automobile stalls");
  await at.embed();
  at.server.refused = "violin";

  expect(await find(ann, "vehicle")).toEqual({ titles: ["The automobile stalls"], meaning: true });
});

it("puts what words find well before what is only meant, and what they hardly find behind it", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  const { caller } = ann;
  const graphId = caller.personalGraphId;
  const merging = { ...at.world.services, caller };
  const titles = ["A physician calls", "The doctor is in", "The automobile stalls"] as const;
  const stored = await memoriesTitled(ann, ...titles);
  const [physician, doctor, automobile] = titles;
  await at.embed();
  const wishes = { query: "vehicle", limit: 10, offset: 0, explain: false, withText: false, withLinks: false };
  const nearest = (await findNearest({ ...at.world.services, meaning: at.meaning }, ann, "vehicle")) ?? [];
  const known = await readNearMemories(merging, graphId, await everyMemory(at.world), wishes);
  const merge = async (...relevances: readonly number[]) => {
    const hits = relevances.flatMap((relevance, place) => {
      const hit = known.get(stored[place]?.id ?? "");
      return hit ? { ...hit, relevance } : [];
    });
    const merged = await mergeByRank(
      merging,
      graphId,
      { found: { hits, total: hits.length, concepts: [], unknownWords: [] }, nearest },
      wishes,
    );
    return merged.hits.map(({ title }) => title);
  };

  expect(await merge(0.9, 0.8)).toEqual([physician, doctor, automobile]);
  expect(await merge(0.55, 0.54)).toEqual([physician, doctor, automobile]);
  // The first is clearly better than the second.
  expect(await merge(0.3, 0.2)).toEqual([physician, automobile, doctor]);
  expect((await merge(0.2, 0.2, 0.2))[0]).toBe(automobile);
});

it("does not search by meaning for what has none: numbers, hashes and signs", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  // To this server, texts without a known word mean the same.
  await memoriesTitled(ann, "Rotate the keys");
  await at.embed();

  for (const query of ["k8s", "utf8", "2024年的发票问题", "of a certificate", "JIRA-4521"])
    expect(await find(ann, query), query).toEqual({ titles: ["Rotate the keys"], meaning: true });
  for (const query of ["8f3a9c77e1", "0x80070005", "10.32.4.17", "-->", "3fa85f64-5717-4562-b3fc-2c963f66afa6"])
    expect(await find(ann, query), query).toEqual({ titles: [], meaning: false });
});

/** As if each were meant. */
const everyMemory = async ({ database }: World) =>
  (await database.models.memory.findMany()).map(({ id: owner, version }) => ({
    owner,
    version,
    score: 1,
    piece: 0,
    pieces: 1,
  }));

it("follows changes of texts and relationships, and deletions, on every server", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  const [first, second] = await memoriesTitled(ann, "The automobile", "The wagen");
  await at.embed();
  const other = new Meaning(at.server.client(), undefined, PATIENT);
  expect((await find(ann, "vehicle")).titles).toHaveLength(2);

  await ann.did(updateMemory, { id: first.id, title: "The physician" });
  // Until it is embedded again, it is found neither by its old meaning nor by its new one.
  expect((await find(ann, "vehicle")).titles).toEqual(["The wagen"]);
  await at.embed(other);
  expect((await find(ann, "vehicle")).titles).toEqual(["The wagen"]);
  expect((await find(ann, "arzt")).titles).toEqual(["The physician"]);
  const third = await aMemory(ann, { title: "An automobile" });
  await at.embed(other);
  await aLink(ann, third, second, { relationshipType: "REPLACES" });
  expect((await find(ann, "vehicle")).titles).toEqual(["An automobile", "The wagen"]);
  await ann.did(deleteMemory, { id: third.id });
  expect((await find(ann, "vehicle")).titles).toEqual(["The wagen"]);
  const { id } = await aMemory(ann);
  await ann.did(deleteMemory, { id });
  await at.embed(other);
  expect(await waiting(at.world)).toBe(0);
  await other[Symbol.asyncDispose]();
});

it("loads the vectors of a graph once for simultaneous searches", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  await memoriesTitled(ann, "The automobile", "The wagen");
  await at.embed();
  using ear = listenTo(at.world);

  const found = await Promise.all(Array.from({ length: 5 }, () => find(ann, "vehicle")));

  expect(found.map(({ titles }) => titles.length)).toEqual([2, 2, 2, 2, 2]);
  expect(ear.heard(READS_VECTORS)).toHaveLength(1);
});

it("finds nothing of other graphs, and finds shared memories in the team's graph", async () => {
  await using at = await meaningfulWorld();
  const [ann, bob] = [await at.world.user(), await at.world.user()];
  const [shared] = await memoriesTitled(ann, "The automobile");
  await memoriesTitled(bob, "A wagen of Bob's");
  await at.embed();
  expect((await find(ann, "vehicle")).titles).toEqual(["The automobile"]);
  expect((await find(bob, "vehicle")).titles).toEqual(["A wagen of Bob's"]);

  await ann.did(createTeam, { name: "Crew", maxMembers: 2 });
  await ann.did(shareMemories, { ids: [shared.id] });
  expect((await find(ann, "vehicle", { graph: "personal" })).titles).toEqual([]);
  await at.embed();
  expect((await find(ann, "vehicle")).titles).toEqual(["The automobile"]);
});

it("loads all vectors of a graph with more vectors than one read loads", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  const physicians = ["A physician calls", "A physician leaves", "A physician waits"];
  const [car] = await memoriesTitled(ann, "The automobile", ...physicians);
  await at.embed();
  const { pool, models } = at.world.database;
  await models.memoryVector.updateMany({ data: { change: 2 } });
  await models.memoryVector.updateMany({ where: { memoryId: car.id }, data: { change: 1 } });
  // The first read ends within the second change, whose other vectors are read together with the next ones.
  await pool.query(
    `INSERT INTO memory_vector (graph_id, memory_id, model, piece, version, change, scale, vector)
     SELECT graph_id, memory_id, model, number, version, change, scale, vector
     FROM memory_vector, generate_series(1, $2) AS number WHERE memory_id = $1 ORDER BY number`,
    [car.id, LIMITS.embeddings.loaded - 2],
  );

  const { titles, meaning } = await find(ann, "arzt");

  expect(meaning).toBe(true);
  expect(titles.slice(0, 3).toSorted()).toEqual(physicians);
});

it.each<Trouble>(["fails", "hangs", "nan", "zero", "huge", "fewer", "uneven", "no json"])(
  "searches by words alone while the server %s, and stores nothing wrong",
  async (trouble) => {
    await using at = await meaningfulWorld({ searchMs: 150 });
    const ann = await at.world.user();
    await memoriesTitled(ann, "The automobile");
    await at.embed();
    await memoriesTitled(ann, "Another wagen", "A vehicle of words");
    at.server.trouble = trouble;

    expect(await find(ann, "vehicle")).toEqual({ titles: ["A vehicle of words"], meaning: false });
    if (trouble !== "hangs") {
      expect(await embedDueMemories({ ...at.world.services, meaning: at.meaning })).toBe(false);
      expect(await at.world.database.models.memoryVector.count()).toBe(1);
      expect(await at.world.database.models.embeddingDue.count()).toBe(2);
    }
    expect(at.world.log.join("\n")).not.toContain("secret-key");
  },
);

it("says that nothing is found by meaning while nothing is embedded, and in the log when the server is slow", async () => {
  await using at = await meaningfulWorld({ searchMs: 50 });
  const ann = await at.world.user();
  await memoriesTitled(ann, "The automobile");
  expect(await find(ann, "vehicle")).toEqual({ titles: [], meaning: false });

  await at.embed();
  at.server.delayMs = 1_000;
  expect(await find(ann, "vehicle")).toEqual({ titles: [], meaning: false });
  expect(at.world.log.join("\n")).toContain('"waited_ms":50');
});

it("does nothing more for searches that are answered, once a slow server embeds their query", async () => {
  await using at = await meaningfulWorld({ searchMs: 150 });
  const ann = await at.world.user();
  await memoriesTitled(ann, "The automobile");
  await at.embed();
  at.server.delayMs = 400;
  using looked = vi.spyOn(at.meaning.index, "find");
  const before = at.server.asked.length;

  const late = Array.from({ length: 5 }, () => find(ann, "vehicle"));
  expect((await Promise.all(late)).map(({ meaning }) => meaning)).toEqual(Array.from({ length: 5 }, () => false));
  await Promise.all([at.meaning.vectorOf("vehicle", "query", "one"), at.meaning.unrelatedBy("one", "query")]);
  await expect.poll(() => find(ann, "vehicle")).toEqual({ titles: ["The automobile"], meaning: true });

  expect(looked).toHaveBeenCalledTimes(1);
  // The query, and what tells how near unrelated texts are.
  expect(at.server.asked.length - before).toBe(3);
});

const waiting = ({ database }: World) => database.models.embeddingDue.count();

it("finds by meaning again after vectors could not be loaded", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  const { pool } = at.world.database;
  await memoriesTitled(ann, "The automobile");
  await at.embed();
  await pool.query("ALTER TABLE memory_vector RENAME TO away");
  expect(await find(ann, "vehicle")).toEqual({ titles: [], meaning: false });
  await pool.query("ALTER TABLE away RENAME TO memory_vector");

  expect(await find(ann, "vehicle")).toEqual({ titles: ["The automobile"], meaning: true });
});

it("counts as failures of the embeddings server only its own", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  await memoriesTitled(ann, "The automobile");
  await at.embed();
  let failures = 0;
  const meter = { embeddingsFailed: () => void failures++ } as unknown as Meter;
  const context = { ...at.world.services, meaning: at.meaning, meter };

  await at.world.database.pool.query("ALTER TABLE memory_vector RENAME TO away");
  expect(await findNearest(context, ann, "vehicle")).toBeNull();
  expect(failures).toBe(0);
  await at.world.database.pool.query("ALTER TABLE away RENAME TO memory_vector");
  at.server.trouble = "fails";
  expect(await findNearest(context, ann, "wagen")).toBeNull();
  expect(failures).toBe(1);
});

it("drops the vectors of the least recently searched graph from memory, and loads them again", async () => {
  await using at = await meaningfulWorld(PATIENT, new VectorIndex(200_000));
  const people: Actor[] = [];
  for (let person = 0; person < 4; person++) people.push(await at.world.user());
  for (const actor of people) await memoriesTitled(actor, "The automobile");
  await at.embed();

  for (let round = 0; round < 4; round++) {
    const found = await Promise.all(people.map(async (actor) => (await find(actor, "vehicle")).titles));
    for (const titles of found) expect([["The automobile"], []]).toContainEqual(titles);
  }
  for (const actor of people) {
    await find(actor, "vehicle");
    expect((await find(actor, "vehicle")).titles).toEqual(["The automobile"]);
  }
  // What it notes of a graph goes with the vectors.
  expect(at.meaning.loaded.size).toBeLessThan(people.length);
});

it("reads the vectors of a graph that is too large for the memory no more than once a minute, and says so", async () => {
  await using at = await meaningfulWorld(PATIENT, new VectorIndex(200_000));
  const [ann, bob] = [await at.world.user(), await at.world.user()];
  const [car] = await memoriesTitled(ann, "The automobile");
  await memoriesTitled(bob, "The wagen");
  await at.embed();
  await at.world.database.pool.query(
    `INSERT INTO memory_vector (graph_id, memory_id, model, piece, version, change, scale, vector)
     SELECT graph_id, memory_id, model, number, version, change + number, scale, vector
     FROM memory_vector, generate_series(1, $2) AS number WHERE memory_id = $1`,
    [car.id, LIMITS.embeddings.loaded + 10],
  );
  using ear = listenTo(at.world);

  for (let time = 0; time < 5; time++) {
    expect(await find(ann, "vehicle")).toEqual({ titles: [], meaning: false });
    expect((await find(bob, "vehicle")).titles).toEqual(["The wagen"]);
  }

  expect(ear.heard(READS_VECTORS)).toHaveLength(2);
  expect(at.world.log.join("\n")).toMatch(/the vectors of a graph take 1 MiB; EMBEDDINGS_MEMORY_MB is 0/);
  at.world.travel(61_000);
  await find(ann, "vehicle");
  expect(ear.heard(READS_VECTORS)).toHaveLength(1);
});

it("loads no more vectors in a minute than it may, however many graphs take each other's place", async () => {
  const bytes = 200_000;
  await using at = await meaningfulWorld({ ...PATIENT, loadedPerMinute: 3 * bytes }, new VectorIndex(bytes));
  const people = [await at.world.user(), await at.world.user()];
  for (const actor of people) await memoriesTitled(actor, "The automobile");
  await at.embed();
  using ear = listenTo(at.world);

  // Without a bound every second search would load.
  const rounds = 30;
  for (let round = 0; round < rounds; round++) for (const actor of people) await find(actor, "vehicle");

  const loads = ear.heard(READS_VECTORS).length;
  expect(loads).toBeGreaterThan(people.length);
  expect(loads).toBeLessThan(rounds / 2);
  at.world.travel(61_000);
  for (const actor of people) {
    // The first search may only find out that the vectors are no longer in memory.
    await find(actor, "vehicle");
    expect((await find(actor, "vehicle")).titles).toEqual(["The automobile"]);
  }
});

it("says of each hit when it was last changed, found by words or by meaning", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  const [changed] = await memoriesTitled(ann, "The automobile", "A vehicle of words");
  await ann.did(updateMemory, { id: changed.id, importance: 0.9 });
  await at.embed();

  const { memories } = await ann.did(searchMemories, { query: "vehicle" });

  const whole = await Promise.all(memories.map(({ memoryId: id }) => ann.did(getMemory, { id })));
  expect(memories.map(({ title, updatedAt }) => [title, updatedAt])).toEqual(
    whole.map(({ title, updatedAt }) => [title, updatedAt]),
  );
  expect(whole.map(({ version }) => version).toSorted()).toEqual([1, 2]);
});
