import { expect, it } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { DatabaseShares, TooManyAtOnce } from "../../src/operation/shares.js";
import { Unavailable } from "../../src/operation/failure.js";
import type { Statement } from "../../src/platform/database.js";
import { type Answer, ask } from "../support/http.js";
import { lockMemories } from "../support/locks.js";
import { createWorld } from "../support/world.js";

const { connections, poolSharePerAccount, searchesPerAccount, waitingPerAccount, connectionWaitMs } = LIMITS.database;
const SHARE = Math.floor(connections * poolSharePerAccount);
const PATIENCE = { timeout: 20_000, interval: 20 };
const sleep: Statement = { name: "sleep", text: "SELECT pg_sleep($1)" };
const reasonOf = (promise: Promise<unknown>) => promise.then(() => "done").catch((error: unknown) => error);

it("lets no account hold more than a third of the connections, by any way to the database", async () => {
  await using world = await createWorld();
  const database = world.services.shares.of("ann");
  await using lock = await lockMemories(world);

  const all = Promise.all(
    Array.from({ length: SHARE }, () => [
      database.models.memory.count(),
      database.transaction(({ models }) => models.memory.count()),
      database.run({ name: "", text: "SELECT count(*) FROM memory" }, []),
    ]).flat(),
  );
  await expect.poll(() => lock.waiting(), PATIENCE).toBe(SHARE);
  expect(world.database.pool.waitingCount).toBe(0);
  await lock.release();

  expect((await all).length).toBe(3 * SHARE);
});

it("lets an account search only twice at the same time", async () => {
  await using world = await createWorld();
  const database = world.services.shares.of("ann");
  await using lock = await lockMemories(world);
  const count: Statement = { name: "count", text: "SELECT count(*) FROM memory" };

  const all = Promise.all(
    Array.from({ length: searchesPerAccount + 1 }, () => database.search((run) => run(count, []))),
  );
  await expect.poll(() => lock.waiting(), PATIENCE).toBe(searchesPerAccount);
  await lock.release();

  expect((await all).length).toBe(searchesPerAccount + 1);
});

it("answers others at once while one account asks for as much as it can of a table that is locked", async () => {
  await using world = await createWorld();
  const [ann, bob] = [await world.user(), await world.user()];
  const { url } = await world.serve();
  await using lock = await lockMemories(world);
  const query = `{ ${Array.from({ length: 12 }, (_, at) => `a${at}: memories { memories { id } }`).join(" ")} }`;
  const answers: Answer[] = [];
  const asked = Promise.all(
    Array.from({ length: 20 }, async () => answers.push(await ask(`${url}/v1/memories`, { key: ann.key }))),
  );
  const alsoAsked = Array.from({ length: 5 }, () => ask(`${url}/graphql`, { key: ann.key, body: { query } }));
  await expect.poll(() => lock.waiting(), PATIENCE).toBe(SHARE);

  for (const path of ["/me", "/keys", "/teams/me"]) {
    const { status } = await ask(url + path, { key: bob.key });
    expect([path, status]).toEqual([path, path === "/teams/me" ? 404 : 200]);
  }
  expect(await lock.waiting()).toBeLessThanOrEqual(SHARE);
  await expect.poll(() => answers.length, PATIENCE).toBeGreaterThanOrEqual(20 - SHARE);
  await lock.release();

  await asked;
  for (const { body, headers } of await Promise.all(alsoAsked)) {
    const { errors = [] } = body as { errors?: Array<{ extensions: { code: string } }> };
    expect(errors.filter(({ extensions }) => extensions.code !== "UNAVAILABLE")).toEqual([]);
    expect(headers.get("retry-after")).toBe(errors.length > 0 ? "2" : null);
  }
  const refused = answers.slice(0, 20 - SHARE);
  expect(refused.map(({ status, headers }) => [status, headers.get("retry-after")])).toEqual(
    refused.map(() => [503, "2"]),
  );
  expect(world.bugs).toEqual([]);
});

it("says 503 in time, and is alive and ready, while every connection waits for a lock", async () => {
  await using world = await createWorld();
  const people = await Promise.all(Array.from({ length: Math.ceil(connections / SHARE) }, () => world.user()));
  const late = await world.user();
  const { url } = await world.serve();
  await using lock = await lockMemories(world);
  const held = Promise.all(
    people.flatMap(({ key }) => Array.from({ length: SHARE }, () => ask(`${url}/v1/memories`, { key }))),
  );
  await expect.poll(() => lock.waiting({ withChores: true }), PATIENCE).toBe(connections);

  const answers = await Promise.all(
    ["/me", "/keys", "/healthz", "/readyz"].map((path) => ask(url + path, { key: late.key })),
  );
  await lock.release();

  expect(answers.map(({ status }) => status)).toEqual([503, 503, 200, 200]);
  expect(answers.map(({ headers }) => headers.get("retry-after"))).toEqual(["2", "2", null, null]);
  expect(new Set((await held).map(({ status }) => status))).toEqual(new Set([200, 503]));
});

it("lets an account wait with as many statements as it may, and refuses one more without harm to the others", async () => {
  await using world = await createWorld();
  const { shares } = world.services;
  const ann = shares.of("ann");
  const held = Array.from({ length: SHARE }, () => ann.run(sleep, [1]));
  const waiting = Array.from({ length: waitingPerAccount }, () => ann.run(sleep, [0]));

  const refused = await reasonOf(ann.run(sleep, [0]));
  const other = await reasonOf(shares.of("bob").run(sleep, [0]));

  expect(refused).toBeInstanceOf(TooManyAtOnce);
  expect(other).toBe("done");
  await Promise.all([...held, ...waiting]);
});

it("gives every place back, however what was done there ended", async () => {
  await using world = await createWorld();
  const shares = new DatabaseShares(world.database);
  const wrong: Statement = { name: "", text: "SELECT no_such_column" };
  const stuck = Array.from({ length: SHARE }, () => shares.of("ann").run(sleep, [(connectionWaitMs + 1_000) / 1_000]));

  const late = await Promise.all(Array.from({ length: 5 }, () => reasonOf(shares.of("ann").run(sleep, [0]))));
  expect(late.map((reason) => reason instanceof Unavailable && reason.why)).toEqual(late.map(() => "busy"));
  await Promise.all(stuck);
  for (let time = 0; time < 2 * connections; time++) await reasonOf(shares.of("ann").run(wrong, []));
  for (let time = 0; time < 2 * connections; time++) {
    await reasonOf(shares.of("ann").search(async () => Promise.reject(new Error("Something."))));
  }

  const all = Array.from({ length: 3 * connections }, (_, at) => shares.of(`user ${at % 5}`).run(sleep, [0]));
  expect((await Promise.all(all)).length).toBe(3 * connections);
});
