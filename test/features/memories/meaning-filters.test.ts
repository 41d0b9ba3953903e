import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { chooseNear, findFewWithin } from "../../../src/features/memories/meaning/choose-near.js";
import { ROW_FILTERS } from "../../../src/features/memories/memory-filter.js";
import { TUNING } from "../../../src/features/memories/words/tuning.js";
import { LIMITS } from "../../../src/limits.js";
import { Meaning } from "../../../src/platform/meaning/meaning.js";
import { PATIENT, READS_VECTORS, findNearest, findTitles, meaningfulWorld } from "../../support/meaning.js";
import { aMemory, manyMemories, memoriesTitled } from "../../support/memories.js";
import { rowsRead } from "../../support/rows-read.js";
import { listenTo, onceAfter } from "../../support/statements.js";
import { type Actor, type World, createWorld } from "../../support/world.js";

const { filtered, mergedByMeaning } = LIMITS.embeddings;

/** Of the same meaning as `NEAR`, and a little less near. */
const QUERY = "vehicle arzt latency";
const NEAR = "The sluggish automobile of a physician";
const [EARLY, LATE] = ["Early: car, doctor, slow, bill", "Late: wagen, doctor, slow, bill"];
const BOTH = [EARLY, LATE];
const RARE = { importance: 1, type: "rare", tags: ["rare", "common"], context: { project_path: "/rare" } };

/** Filters, and which of the rare memories pass them. None of the common memories does. */
const FILTERS: ReadonlyArray<readonly [object, readonly string[]]> = [
  [{ types: ["rare"] }, BOTH],
  [{ types: ["none", "rare"] }, BOTH],
  [{ tags: ["rare"] }, BOTH],
  [{ tags: ["rare", "common"] }, BOTH],
  [{ tags: ["rare", "none"] }, []],
  [{ tags: ["rare", "none"], tagsMatch: "any" }, BOTH],
  [{ minImportance: 0.9 }, BOTH],
  [{ project: "/rare" }, BOTH],
  [{ createdAfter: "2026-06-01T00:00:00Z" }, [LATE]],
  [{ createdBefore: "2025-06-01T00:00:00Z" }, [EARLY]],
  [{ createdAfter: "2024-06-01T00:00:00Z", createdBefore: "2025-06-01T00:00:00Z" }, [EARLY]],
  [{ tags: ["common"], minImportance: 0.9 }, BOTH],
  [{ tags: ["common"], project: "/rare", createdAfter: "2026-06-01T00:00:00Z" }, [LATE]],
  [{ types: ["general", "rare"], project: "/rare" }, BOTH],
  [{ types: ["rare"], tags: ["rare"], project: "/rare", minImportance: 0.9, includeExpired: true }, BOTH],
];

it("tries every filter", () => {
  const tried = new Set(FILTERS.flatMap(([filter]) => Object.keys(filter)));
  expect(["types", "tags", ...Object.keys(ROW_FILTERS)].filter((name) => !tried.has(name))).toEqual([]);
});

it("finds by meaning what passes a rare filter, behind many memories that do not", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  const { pool } = at.world.database;
  const [near] = await memoriesTitled(ann, NEAR);
  for (const title of [EARLY, LATE, "A rechnung"]) await aMemory(ann, { ...RARE, title });
  await at.embed();
  await addCopies(at.world, ann, near.id, 3 * mergedByMeaning);
  await pool.query(
    `UPDATE memory SET created_at = CASE title WHEN $1 THEN timestamptz '2025-01-01' WHEN $2 THEN '2026-12-31'
       ELSE '2026-01-01' END`,
    [EARLY, LATE],
  );

  for (const [filter, expected] of FILTERS) {
    const { titles, meaning } = await findTitles(ann, QUERY, filter);
    expect({ filter, titles: titles.toSorted(), meaning }).toEqual({ filter, titles: expected, meaning: true });
  }
});

it("finds by meaning what is behind many memories that expired, were changed or were deleted", async () => {
  await using at = await meaningfulWorld();
  const ann = await at.world.user();
  const { pool } = at.world.database;
  const [near] = await memoriesTitled(ann, NEAR, EARLY);
  await at.embed();
  const ids = await addCopies(at.world, ann, near.id, 4 * mergedByMeaning);
  // From now on the server has all vectors in memory.
  expect((await findTitles(ann, QUERY, { limit: 50 })).titles).not.toContain(EARLY);
  const some = (part: number) => ids.slice(part * mergedByMeaning, (part + 1) * mergedByMeaning);
  await pool.query("UPDATE memory SET expires_at = now() - interval '1 day' WHERE id = ANY ($1)", [some(0)]);
  await pool.query("UPDATE memory SET version = 2 WHERE id = ANY ($1)", [some(1)]);
  await pool.query("DELETE FROM memory WHERE id = ANY ($1)", [[...some(2), ...some(3)]]);

  expect((await findTitles(ann, QUERY, { limit: 50 })).titles.toSorted()).toEqual([EARLY, NEAR]);
});

it("finds by meaning what is behind more expired or deleted memories than it looks at, on every server", async () => {
  await using at = await meaningfulWorld();
  await using second = new Meaning(at.server.client(), undefined, PATIENT);
  const ann = await at.world.user();
  const { pool } = at.world.database;
  const [near, early] = await memoriesTitled(ann, NEAR, EARLY);
  await at.embed();
  const ids = await addCopies(at.world, ann, near.id, filtered);
  const findOn = async (meaning: Meaning) =>
    (await findNearest({ ...at.world.services, meaning }, ann, QUERY))?.map(({ owner }) => owner);
  using ear = listenTo(at.world);
  for (const server of [at.meaning, second]) expect(await findOn(server)).not.toContain(early.id);

  // Of expired ones the vectors are as they should be.
  await pool.query("UPDATE memory SET expires_at = now() - interval '1 day' WHERE id <> $1", [early.id]);
  ear.heard(/./);
  for (const server of [at.meaning, second]) expect(await findOn(server)).toEqual([early.id]);
  expect(await findOn(second)).toEqual([early.id]);
  // A large graph would be read whole.
  await pool.query("UPDATE graph_usage SET memories = $1", [4 * filtered + 1]);
  expect(await findOn(second)).toEqual([]);
  await pool.query("UPDATE graph_usage SET memories = $1", [4 * filtered]);
  expect(ear.heard(READS_VECTORS)).toEqual([]);
  await pool.query("DELETE FROM memory WHERE id = ANY ($1)", [[near.id, ...ids]]);
  expect(await findOn(at.meaning)).toEqual([early.id]);
  // It has the vectors loaded again, once.
  for (let time = 0; time < 3; time++) expect(await findOn(at.meaning)).toEqual([early.id]);
  expect(ear.heard(READS_VECTORS)).toHaveLength(1);
  // One that ends after they are loaded again does not have them loaded a third time.
  const meanwhile: unknown[] = [];
  const act = async () => meanwhile.push(await findOn(second), await findOn(second));
  onceAfter(at.world, "passing_memories", act, 4);
  expect([await findOn(second), await findOn(second)]).toEqual([[early.id], [early.id]]);
  expect(meanwhile).toEqual([[early.id], [early.id]]);
  expect(ear.heard(READS_VECTORS)).toHaveLength(1);
});

it("finds by meaning in the vectors that it has while it may not load them again", async () => {
  // As much as loading them takes, but not twice.
  await using at = await meaningfulWorld({ ...PATIENT, loadedPerMinute: 2_000_000 });
  const ann = await at.world.user();
  const { pool } = at.world.database;
  const [near, early, far] = await memoriesTitled(ann, NEAR, EARLY, "A rechnung");
  await at.embed();
  const ids = await addCopies(at.world, ann, near.id, filtered);
  // More than are looked through one by one.
  await manyMemories(at.world, ann, filtered + 1);
  const idsOf = async (query: string) =>
    (await findNearest({ ...at.world.services, meaning: at.meaning }, ann, query))?.map(({ owner }) => owner);
  expect((await idsOf("rechnung"))?.[0]).toBe(far.id);
  await pool.query("DELETE FROM memory WHERE id = ANY ($1)", [[near.id, ...ids]]);

  for (let time = 0; time < 2; time++) {
    expect(await idsOf(QUERY)).toBeUndefined();
    expect((await idsOf("rechnung"))?.[0]).toBe(far.id);
  }

  at.world.travel(61_000);
  await idsOf(QUERY);
  expect((await idsOf(QUERY))?.[0]).toBe(early.id);
});

it("finds by meaning what passes a filter that many pass, and reads no large graph for a rare one", async () => {
  await using at = await meaningfulWorld(PATIENT, undefined, { fresh: true });
  const ann = await at.world.user();
  const { pool } = at.world.database;
  const [near, far] = await memoriesTitled(ann, NEAR, "A rechnung", EARLY);
  await at.embed();
  const ids = await addCopies(at.world, ann, near.id, 10 * mergedByMeaning);
  await pool.query("UPDATE memory SET type = 'near' WHERE id = ANY ($1)", [[near.id, ...ids]]);
  await addCopies(at.world, ann, far.id, filtered);

  expect((await findTitles(ann, QUERY, { types: ["general"] })).titles).toEqual([EARLY]);
  // Some of them are not enough: the nearest may be others.
  const { personalGraphId } = ann.caller;
  expect((await findFewWithin(at.world.services, personalGraphId, { minImportance: 0.1 }))?.length).toBeUndefined();
  const before = await rowsRead(at.world);
  for (let time = 0; time < 7; time++) await findTitles(ann, "arzt", { tags: ["none"] });
  expect((await rowsRead(at.world)) - before).toBeLessThan(7 * 50);
});

it("looks at more and more of the nearest until enough pass, at each once and at no more than it may", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const ids = (await manyMemories(world, ann, 4 * mergedByMeaning)).map(({ id }) => id);
  const choose = async (owners: readonly string[], versionOf: (place: number) => number, score = 1) => {
    const near = owners.map((owner, place) => ({ owner, version: versionOf(place), score, piece: 0, pieces: 1 }));
    const asked: number[] = [];
    const chosen = await chooseNear(world.services, ann.caller.personalGraphId, {}, async (most) => {
      expect(asked.push(most)).toBeLessThan(9);
      return near.slice(0, most);
    });
    const { nearest, isCut, isOutdated } = chosen ?? {};
    return { asked, chosen: nearest?.map(({ owner }) => owner), isCut, isOutdated };
  };
  const first = 2 * mergedByMeaning;

  // A third of them were not changed since.
  const some = await choose(ids, (place) => (place % 3 === 0 ? 1 : 2));
  const unchanged = ids.filter((_, place) => place % 3 === 0).slice(0, mergedByMeaning);
  expect(some).toEqual({ asked: [first, 10 * first], chosen: unchanged, isCut: false, isOutdated: false });
  const strangers = Array.from({ length: 2 * filtered }, () => randomUUID());
  expect(await choose(strangers, () => 1)).toEqual({
    asked: [first, 10 * first, filtered],
    chosen: [],
    isCut: true,
    isOutdated: true,
  });
  // What is less near means something else, and so do all after it.
  expect(await choose(strangers, () => 1, TUNING.meaning.nearness - 0.01)).toEqual({
    asked: [first],
    chosen: [],
    isCut: false,
    isOutdated: false,
  });
});

/** Adds memories with the vector of another one. */
async function addCopies(world: World, ann: Actor, id: string, count: number): Promise<string[]> {
  const ids = (await manyMemories(world, ann, count)).map((row) => row.id);
  await world.database.pool.query("UPDATE memory SET tags = '{common}' WHERE id = ANY ($1)", [ids]);
  await world.database.pool.query(
    `INSERT INTO memory_vector (graph_id, memory_id, model, piece, version, change, scale, vector)
     SELECT graph_id, own, model, piece, 1, change + place, scale, vector
     FROM memory_vector, unnest($2::uuid[]) WITH ORDINALITY AS given(own, place)
     WHERE memory_id = $1`,
    [id, ids],
  );
  return ids;
}
