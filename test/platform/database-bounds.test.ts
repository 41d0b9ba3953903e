import { expect, it } from "vitest";
import { searchMemories } from "../../src/features/memories/search-memories.js";
import { LIMITS } from "../../src/limits.js";
import { type Statement, isTimeout } from "../../src/platform/database.js";
import { createWorld } from "../support/world.js";

const { searchTimeoutMs, searchConnections } = LIMITS.database;
const sleep: Statement = { name: "sleep", text: "SELECT pg_sleep($1)" };
const reasonOf = (promise: Promise<unknown>) => promise.then(() => undefined).catch((error: unknown) => error);

it("gives all statements of a search one time together, and the next search all of it again", async () => {
  await using world = await createWorld();
  const { database } = world;
  const most = (0.9 * searchTimeoutMs) / 1_000;

  const outcomes: unknown[] = [];
  await database.search(async (run) => {
    for (const seconds of [most, most, 0]) outcomes.push(await reasonOf(run(sleep, [seconds])));
  });

  expect(outcomes.map((outcome) => outcome && isTimeout(outcome))).toEqual([undefined, true, true]);
  expect(world.database.searchPool.totalCount).toBe(1);
  await database.search((run) => run(sleep, [most]));
});

it("answers everything else while searches hold all the connections that they have", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const searches = Array.from({ length: searchConnections + 1 }, () =>
    reasonOf(world.database.search((run) => run(sleep, [1]))),
  );

  await expect.poll(() => world.database.searchPool.waitingCount).toBe(1);
  await world.database.run(sleep, [0]);

  expect(await Promise.all(searches)).toEqual(searches.map(() => undefined));
  expect((await ann.did(searchMemories, { query: "anything" })).total).toBe(0);
});

it("says 503 and how to search instead where a search found nothing in its time", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const locker = await world.database.pool.connect();
  await locker.query("BEGIN; LOCK TABLE memory");

  const verdict = await ann.does(searchMemories, { query: "anything" });

  expect(verdict).toBeRefused("unavailable", "search_too_slow");
  await locker.query("COMMIT");
  locker.release();
});
