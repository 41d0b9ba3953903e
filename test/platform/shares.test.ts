import { type Socket, createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { memoriesBetween } from "../../src/features/bulk/export-statement.js";
import { TooManyAtOnce, Unavailable } from "../../src/operation/failure.js";
import { NIL_ID } from "../../src/operation/id.js";
import { DatabaseShares } from "../../src/operation/shares.js";
import { Patience } from "../../src/operation/patience.js";
import type { WaitedFor } from "../../src/operation/waits.js";
import { LOCK_NOT_AVAILABLE, sqlStateOf, whyUnavailable } from "../../src/platform/database/database-errors.js";
import { type Database, openDatabase } from "../../src/platform/database/database.js";
import type { Statement } from "../../src/platform/database/statement.js";
import type { Tracer } from "../../src/platform/telemetry/tracer.js";
import { heapMegabytes } from "../support/heap.js";
import { type Answer, ask } from "../support/http.js";
import { listen } from "../support/listening.js";
import { lockMemories } from "../support/locks.js";
import { PATIENT } from "../support/patience.js";
import { createWorld } from "../support/world.js";

const { connections, poolSharePerAccount, searchesPerAccount, waitingPerAccount } = LIMITS.database;
const { searchConnections, exportsPerAccount, lockWaitMs, statementTimeoutMs } = LIMITS.database;
const SHARE = Math.floor(connections * poolSharePerAccount);
const PATIENCE = { timeout: 60_000, interval: 20 };
const sleep: Statement = { name: "sleep", text: "SELECT pg_sleep($1)" };
const reasonOf = (promise: Promise<unknown>) => promise.then(() => "done").catch((error: unknown) => error);

it("lets an account use at most a third of the connections, by any way to the database", async () => {
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

it("lets an account run two searches at a time", async () => {
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

it("lets an account read one page of its exports at a time, within its share, and others go on", async () => {
  await using world = await createWorld();
  const database = world.services.shares.of("ann");
  await using lock = await lockMemories(world);
  const page = { graphId: NIL_ID, after: NIL_ID, until: NIL_ID, take: 1 };
  const exportPage = () => database.run(memoriesBetween, page);

  const pages = Array.from({ length: exportsPerAccount + 1 }, exportPage);
  await expect.poll(() => lock.waiting(), PATIENCE).toBe(exportsPerAccount);
  expect(world.services.shares.waiting.account).toBe(1);
  const others = Array.from({ length: SHARE }, () => database.models.memory.count());
  await expect.poll(() => lock.waiting(), PATIENCE).toBe(SHARE);
  expect(world.services.shares.waiting).toEqual({ shared: 0, search: 0, account: 1 + exportsPerAccount });
  const another = world.services.shares.of("bob").run(memoriesBetween, page);
  await expect.poll(() => lock.waiting(), PATIENCE).toBe(SHARE + 1);
  await lock.release();

  await Promise.all([...pages, ...others, another]);
  expect(world.services.shares.waiting.account).toBe(0);
});

it("says in the trace whether a statement waits for its account's share, or for any connection", async () => {
  await using world = await createWorld();
  const waits: unknown[] = [];
  const tracer: Pick<Tracer, "during"> = {
    during: ({ name, facts }, work) => {
      waits.push([name, facts]);
      return work(() => {});
    },
  };
  const shares = new DatabaseShares(world.database, PATIENT, tracer);
  const count: Statement = { name: "count", text: "SELECT count(*) FROM memory" };
  const waitsIn = async (tasks: ReadonlyArray<readonly [account: string, isSearch: boolean]>) => {
    waits.length = 0;
    await using lock = await lockMemories(world);
    const all = tasks.map(([account, isSearch]) => {
      const database = shares.of(account);
      return isSearch ? database.search((run) => run(count, [])) : database.run(count, []);
    });
    await expect.poll(() => waits.length, PATIENCE).toBe(1);
    await lock.release();
    await Promise.all(all);
    return waits[0];
  };
  const many = (times: number, isSearch: boolean, account = "") =>
    Array.from({ length: times }, (_, place) => [account || `${place}`, isSearch] as const);
  const wait = (pool: string) => ["wait for the database", { "memory_graph.pool": pool }];

  expect(await waitsIn(many(SHARE + 1, false, "ann"))).toEqual(wait("account"));
  expect(await waitsIn(many(searchesPerAccount + 1, true, "ann"))).toEqual(wait("account"));
  expect(await waitsIn(many(connections + 1, false))).toEqual(wait("shared"));
  expect(await waitsIn(many(searchConnections + 1, true))).toEqual(wait("search"));
});

it("answers other accounts at once while two send many requests for a locked table", async () => {
  const EACH = 20;
  await using world = await createWorld();
  // Neither the rate limit nor the places for large answers refuse them first.
  const paying = { plan: "pro" } as const;
  const [bob, ...greedy] = [await world.user(), await world.user(paying), await world.user(paying)];
  const places = { largePerAccount: 2 * EACH, largeAtOnce: 4 * EACH };
  // So long that all of them wait at the same time, also on a busy machine.
  const { url } = await world.serve({}, undefined, places, { ...PATIENT, connectionWaitMs: 8_000 });
  await using lock = await lockMemories(world);
  const query = `{ ${Array.from({ length: 12 }, (_, at) => `a${at}: memories { memories { id } }`).join(" ")} }`;
  const answers: Answer[] = [];
  const asked = Promise.all(
    greedy.flatMap(({ key }) =>
      Array.from({ length: EACH }, async () => answers.push(await ask(`${url}/v1/memories`, { key }))),
    ),
  );
  const alsoAsked = greedy.flatMap(({ key }) =>
    Array.from({ length: 5 }, () => ask(`${url}/graphql`, { key, body: { query } })),
  );
  await expect.poll(() => lock.waiting(), PATIENCE).toBe(2 * SHARE);

  for (const path of ["/me", "/keys", "/teams/me"]) {
    const { status } = await ask(url + path, { key: bob.key });
    expect([path, status]).toEqual([path, path === "/teams/me" ? 404 : 200]);
  }
  expect(await lock.waiting()).toBeLessThanOrEqual(2 * SHARE);
  await expect.poll(() => answers.length, PATIENCE).toBeGreaterThanOrEqual(2 * (EACH - SHARE));
  await lock.release();

  await asked;
  for (const { body, headers } of await Promise.all(alsoAsked)) {
    const { errors = [] } = body as { errors?: Array<{ extensions: { code: string } }> };
    // Some got no slot in time: the requests before them waited for the table.
    const busy = ["UNAVAILABLE", "RATE_LIMITED"];
    expect(errors.filter(({ extensions }) => !busy.includes(extensions.code))).toEqual([]);
    expect(headers.get("retry-after")).toEqual(errors.length > 0 ? expect.stringMatching(/^[12]$/) : null);
  }
  const refused = answers.slice(0, 2 * (EACH - SHARE));
  expect(refused.map(({ status, headers }) => [status, headers.get("retry-after")])).toEqual(
    refused.map(() => [503, "2"]),
  );
  // The log and the metrics tell them from those that an outage refuses, and whose they are.
  const lines = world.log.filter((line) => line.includes('"failures":["over_share"]'));
  const greedyIds = greedy.map(({ caller }) => caller.userId).sort();
  expect([...new Set(lines.map((line) => (JSON.parse(line) as { user_id: string }).user_id))].sort()).toEqual(
    greedyIds,
  );
  expect(world.log.join("\n")).toContain('"why":"share"');
  expect(world.bugs).toEqual([]);
});

it("refuses requests for a locked table in time, and answers all others", async () => {
  await using world = await createWorld();
  const [ann, bob] = [await world.user(), await world.user()];
  const { url } = await world.serve({}, undefined, {}, LIMITS.database);
  await using lock = await lockMemories(world);
  const stop = new AbortController();
  const flood = Array.from({ length: 2 * SHARE }, async () => {
    const seen = [];
    while (!stop.signal.aborted) {
      const begunAt = performance.now();
      const { status, headers } = await ask(`${url}/v1/memories`, { key: ann.key });
      const isInTime = performance.now() - begunAt < statementTimeoutMs / 2;
      seen.push([status, headers.get("retry-after"), isInTime]);
    }
    return seen;
  });
  await expect.poll(() => lock.waiting(), PATIENCE).toBe(SHARE);

  for (const path of ["/me", "/keys", "/healthz", "/readyz", "/me", "/keys", "/healthz", "/readyz"]) {
    expect([path, (await ask(url + path, { key: bob.key })).status]).toEqual([path, 200]);
  }
  stop.abort();

  const seen = (await Promise.all(flood)).flat();
  expect(seen).toEqual(seen.map(() => [503, "2", true]));
  expect(world.bugs).toEqual([]);
});

it("stays alive and ready while every connection waits for a lock, and serves again after their timeout", async () => {
  await using world = await createWorld();
  const people = await Promise.all(Array.from({ length: Math.ceil(connections / SHARE) }, () => world.user()));
  const late = await world.user();
  const { url } = await world.serve(
    {},
    undefined,
    {},
    { ...LIMITS.database, connectionWaitMs: 20_000, lockWaitMs: 5_000 },
  );
  await using lock = await lockMemories(world);
  const held = Promise.all(
    people.flatMap(({ key }) => Array.from({ length: SHARE }, () => ask(`${url}/v1/memories`, { key }))),
  );
  await expect.poll(() => lock.waiting({ withChores: true }), PATIENCE).toBe(connections);

  const answers = await Promise.all(["/healthz", "/readyz", "/keys"].map((path) => ask(url + path, { key: late.key })));

  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(new Set((await held).map(({ status }) => status))).toEqual(new Set([503]));
});

it("runs a statement for reserved connections at once, even if its account and all others use every other connection", async () => {
  await using world = await createWorld();
  const shares = new DatabaseShares(world.database);
  await using lock = await lockMemories(world);
  const accounts = Array.from({ length: Math.ceil(connections / SHARE) }, (_, at) => shares.of(`user ${at}`));
  const held = accounts.flatMap(({ models }) => Array.from({ length: SHARE }, () => reasonOf(models.memory.count())));
  await expect.poll(() => lock.waiting({ withChores: true }), PATIENCE).toBe(connections);

  const reserved = accounts.map((account) => reasonOf(account.run({ ...sleep, reserved: true }, [0])));
  expect(await Promise.all(reserved)).toEqual(accounts.map(() => "done"));
  expect(await lock.waiting({ withChores: true })).toBe(connections);
  await lock.release();
  await Promise.all(held);
});

it("never waits for a lock when a request has used up its waiting time, by any way to the database", async () => {
  await using world = await createWorld();
  const patience = new Patience(60_000);
  const database = new DatabaseShares(world.database, {
    ...LIMITS.database,
    connectionWaitMs: 60_000,
    lockWaitMs: 60_000,
  }).of("ann", patience);
  const count: Statement = { name: "count_memories", text: "SELECT count(*) FROM memory" };
  await using lock = await lockMemories(world);
  patience.exhaust();
  const begunAt = performance.now();

  const refused = await Promise.all(
    [
      database.run(count, []),
      database.models.memory.count(),
      database.transaction((inner) => inner.run(count, [])),
      database.search((run) => run(count, [])),
    ].map((way) => reasonOf(way)),
  );

  expect(refused.map(sqlStateOf)).toEqual(refused.map(() => LOCK_NOT_AVAILABLE));
  // The usual limit of a connection refuses them, too, but later.
  expect(performance.now() - begunAt).toBeLessThan(PATIENT.lockWaitMs);
  await lock.release();
  expect(await Promise.all([database.models.memory.count(), database.search((run) => run(count, []))])).toBeDefined();
  const show: Statement = { name: "show", text: "SHOW lock_timeout" };
  const usual = [{ lock_timeout: `${PATIENT.lockWaitMs / 1_000}s` }];
  expect(await world.database.run(show, [])).toEqual(usual);
  expect(await world.database.search((run) => run(show, []))).toEqual(usual);
});

it("lets a request with many changes wait for its timeout only once", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { url } = await world.serve({}, undefined, {}, LIMITS.database);
  await using _lock = await lockMemories(world);
  const input = '{ type: "general", title: "A note", content: "Something." }';
  const query = `mutation { ${Array.from({ length: 15 }, (_, at) => `a${at}: createMemory(input: ${input}) { id }`).join(" ")} }`;
  const begunAt = performance.now();

  const { body } = await ask(`${url}/graphql`, { key: ann.key, body: { query } });

  const { errors } = body as { errors: Array<{ extensions: { code: string } }> };
  expect(errors.map(({ extensions }) => extensions.code)).toEqual(Array(15).fill("UNAVAILABLE"));
  expect(performance.now() - begunAt).toBeLessThan(10 * lockWaitMs);
});

it("blames those who waited for a slot of their own, when the look-up of their key then takes too long", async () => {
  const never = new Promise<never>(() => {});
  const whyAfter = async (what: WaitedFor) => {
    const patience = new Patience(40);
    await patience.during(new Promise((done) => setTimeout(done, 30)), what);
    return patience.limit(never).catch((error: unknown) => error);
  };

  expect(await whyAfter("slot")).toMatchObject({ why: "share" });
  expect(await whyAfter("turn")).toMatchObject({ why: "busy" });
});

it("counts parallel waits once", async () => {
  const patience = new Patience(60_000);

  await Promise.all(
    Array.from({ length: 200 }, () => patience.during(new Promise((done) => setTimeout(done, 100)), "shared")),
  );

  expect(patience.leftMs).toBeLessThan(60_000);
  expect(patience.leftMs).toBeGreaterThan(50_000);
});

it("refuses all waiting requests when one finds that the database cannot be reached", async () => {
  const sockets: Socket[] = [];
  const deaf = createServer((socket) => void sockets.push(socket));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    deaf.close();
  });
  const port = await listen(deaf);
  await using database = openDatabase(`postgres://ann@127.0.0.1:${port}/any`, () => {}, {
    ...LIMITS.database,
    connectionWaitMs: 1_000,
    lockWaitMs: 1_000,
  });
  const shares = new DatabaseShares(database, { ...LIMITS.database, connectionWaitMs: 60_000, lockWaitMs: 1_000 });

  const refused = await Promise.all(Array.from({ length: 20 }, () => reasonOf(shares.of("ann").run(sleep, [0]))));

  expect(refused.map((error) => (error instanceof Unavailable ? error.why : whyUnavailable(error)))).toEqual(
    refused.map(() => "unreachable"),
  );
  // This process may be late to see those that the system has accepted.
  await expect.poll(() => sockets.length, PATIENCE).toBe(SHARE);
});

it("lets an account queue statements up to the limit, and refuses one more without affecting the others", async () => {
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

it("releases every connection of a share, after success and after errors", async () => {
  await using world = await createWorld();
  const shares = new DatabaseShares(world.database, PATIENT);
  const wrong: Statement = { name: "", text: "SELECT no_such_column" };
  {
    await using lock = await lockMemories(world);
    const patient = shares.of("ann", new Patience(60_000));
    const stuck = Array.from({ length: SHARE }, () => patient.models.memory.count());
    const hasty = Array.from({ length: 5 }, () => shares.of("ann", new Patience(200)));

    const late = await Promise.all(hasty.map((database) => reasonOf(database.run(sleep, [0]))));
    expect(late.map((reason) => reason instanceof Unavailable && reason.why)).toEqual(late.map(() => "share"));
    await lock.release();
    await Promise.all(stuck);
  }
  for (let time = 0; time < 2 * connections; time++) await reasonOf(shares.of("ann").run(wrong, []));
  for (let time = 0; time < 2 * connections; time++) {
    await reasonOf(shares.of("ann").search(async () => Promise.reject(new Error("Something."))));
  }

  const all = Array.from({ length: 3 * connections }, (_, at) => shares.of(`user ${at % 5}`).run(sleep, [0]));
  expect((await Promise.all(all)).length).toBe(3 * connections);
});

it("keeps nothing of an account that has nothing to do", async () => {
  const database = { run: () => Promise.resolve([]), whyWaitFailed: () => undefined } as unknown as Database;
  const shares = new DatabaseShares(database);
  const before = await heapMegabytes();

  for (let account = 0; account < 20_000; account++) await shares.of(`account ${account}`).run(sleep, [0]);

  expect((await heapMegabytes()) - before).toBeLessThan(5);
  // Until here it is in use, with all that it keeps.
  expect(shares.waiting).toEqual({ shared: 0, search: 0, account: 0 });
});
