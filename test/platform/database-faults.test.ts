import { expect, it } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { READ_ONLY, sqlStateOf } from "../../src/platform/database/database-errors.js";
import { openDatabase } from "../../src/platform/database/database.js";
import type { Statement } from "../../src/platform/database/statement.js";
import { onServer } from "../bench/on-server.js";
import { type FaultyProxy, startFaultyProxy } from "../support/faulty-proxy.js";
import { ask } from "../support/http.js";
import { withLimits } from "../support/limits.js";
import { PATIENT } from "../support/patience.js";
import { roundsOf } from "../support/rounds.js";
import { type Actor, type World, createWorld } from "../support/world.js";

const PATIENCE = { timeout: 60_000, interval: 200 };
const NOTE = { type: "general", title: "A note", content: "Something." };
const sleep: Statement = { name: "sleep", text: "SELECT pg_sleep($1)" };
const { connections, searchConnections } = LIMITS.database;

/** A server that reaches its database through a faulty network, and a user who sends requests. */
async function serveBehind(world: World): Promise<{ network: FaultyProxy; url: string; ann: Actor }> {
  const network = await startFaultyProxy(world.databaseUrl);
  const { url } = await world.serve({}, network.url, {}, LIMITS.database);
  return { network, url, ann: await world.user() };
}

it("recovers within seconds after the network lost everything while all connections were in use", async () => {
  await using world = await createWorld();
  const network = await startFaultyProxy(world.databaseUrl);
  const { url, services } = await world.serve({}, network.url, {}, LIMITS.database);
  const ann = await world.user();
  const { database } = services;
  const reserved: Statement = { ...sleep, reserved: true };
  // Long enough that all of them run at once, also on a busy machine.
  const busy = [
    ...Array.from({ length: connections - 2 }, () => database.run(sleep, [3])),
    ...Array.from({ length: 2 }, () => database.transaction((inner) => inner.run(sleep, [3]))),
    ...Array.from({ length: searchConnections }, () => database.search((run) => run(sleep, [3]))),
    database.run(reserved, [3]),
  ];
  const ended = Promise.allSettled(busy);
  await expect.poll(() => activeStatements(world)).toBe(busy.length);

  network.become("swallow");
  const during = [];
  for (let asked = 0; asked < 3; asked++) {
    const askedAt = performance.now();
    const [memories, health] = [await ask(`${url}/v1/memories`, { key: ann.key }), await ask(`${url}/healthz`)];
    during.push([memories.status, memories.headers.get("retry-after") !== null, health.status]);
    expect(performance.now() - askedAt).toBeLessThan(10_000);
  }
  network.become("forward");
  const backAt = performance.now();
  await expect.poll(async () => (await ask(`${url}/v1/memories`, { key: ann.key })).status, PATIENCE).toBe(200);

  expect(during).toEqual(during.map(() => [503, true, 200]));
  // Well before the statement timeout: the service asked PostgreSQL whether the statement was still running.
  expect(performance.now() - backAt).toBeLessThan(LIMITS.database.statementTimeoutMs);
  expect((await ended).map(({ status }) => status)).toEqual(busy.map(() => "rejected"));
  const again = Array.from({ length: 2 * connections }, () => ask(`${url}/v1/memories`, { key: ann.key, body: NOTE }));
  expect((await Promise.all(again)).map(({ status }) => status)).toEqual(again.map(() => 201));
  expect(world.bugs).toEqual([]);
});

it("loses only the connections on which it gets what is no message of PostgreSQL", async () => {
  await using world = await createWorld();
  const { network, url, ann } = await serveBehind(world);
  const list = async () => (await ask(`${url}/v1/memories`, { key: ann.key })).status;
  expect(await list()).toBe(200);

  network.become("garble");
  const during = await list();
  network.become("forward");

  expect(during).toBe(503);
  await expect.poll(list, PATIENCE).toBe(200);
  expect(world.bugs).toEqual([]);
});

/** Changes a setting of the world's database, for connections that are opened from then on. */
function alterDatabase({ databaseUrl }: World, change: string): Promise<void> {
  const name = new URL(databaseUrl).pathname.slice(1);
  return onServer(
    databaseUrl.replace(name, "postgres"),
    async (server) => void (await server.query(`ALTER DATABASE ${name} ${change}`)),
  );
}

it("makes changes as soon as the database accepts them, though its connections were opened while it did not", async () => {
  await using world = await createWorld();
  const alter = (change: string) => alterDatabase(world, change);
  await alter("SET default_transaction_read_only = on");
  await using database = openDatabase(world.databaseUrl, () => {}, PATIENT);
  const change = () =>
    database
      .transaction((inner) => inner.models.user.updateMany({ data: { name: "Ann" } }))
      .then(() => "made", sqlStateOf);
  const changes = () => Promise.all(Array.from({ length: connections }, change));

  expect(new Set(await changes())).toEqual(new Set([READ_ONLY]));
  await alter("RESET default_transaction_read_only");
  expect(new Set(await changes())).toEqual(new Set(["made"]));
});

it("leaves a database that accepts no changes, with connections that only read and are always in use, too", async () => {
  using _limits = withLimits("database", { readOnlyKeptMs: 500 });
  await using world = await createWorld();
  await alterDatabase(world, "SET default_transaction_read_only = on");
  await using database = openDatabase(world.databaseUrl, () => {}, PATIENT);
  const look: Statement<readonly [], { accepts: boolean }> = {
    name: "look",
    text: "SELECT current_setting('transaction_read_only') = 'off' AS accepts",
  };
  const looks = async () =>
    [
      await database.run(look, []),
      await database.run({ ...look, reserved: true }, []),
      await database.search((run) => run(look, [])),
    ].map(([row]) => row?.accepts);

  expect(await looks()).toEqual([false, false, false]);
  await alterDatabase(world, "RESET default_transaction_read_only");
  await expect.poll(looks, PATIENCE).toEqual([true, true, true]);
});

it("fails statements on a dead network long before the statement timeout", async () => {
  await using world = await createWorld();
  await using network = await startFaultyProxy(world.databaseUrl);
  await using database = openDatabase(network.url);
  const waiting = Array.from({ length: 2 }, () => database.run(sleep, [60]));
  const given = Promise.allSettled(waiting);
  await database.run({ ...sleep, reserved: true }, [0]);
  await expect.poll(() => activeStatements(world)).toBe(waiting.length);

  network.become("swallow");
  const late = new Promise((done) => setTimeout(done, LIMITS.database.statementTimeoutMs, "late"));
  const ended = await Promise.race([given, late]);

  expect(ended).toEqual(waiting.map(() => expect.objectContaining({ status: "rejected" })));
});

it("forgets connections that are gone, and asks nothing about them", async () => {
  await using world = await createWorld();
  await using network = await startFaultyProxy(world.databaseUrl);
  const bounds = { ...PATIENT, suspectAfterMs: LIMITS.database.suspectAfterMs };
  await using database = openDatabase(network.url, () => {}, bounds);
  const given = Promise.allSettled([database.run(sleep, [60])]);
  await expect.poll(() => activeStatements(world)).toBe(1);
  network.cut();
  await given;

  // Long enough that the lost one would be suspected. Searches never are.
  for (let times = 0; times < 2; times++) {
    await database.search((run) => run(sleep, [LIMITS.database.suspectAfterMs / 1_000]));
  }

  expect(database.reservedPool.totalCount).toBe(0);
});

it("logs broken connections once a minute, however many there are", async () => {
  await using world = await createWorld();
  const { network, url, ann } = await serveBehind(world);
  for (let breaks = 0; breaks < 3; breaks++) {
    const ways = Array.from({ length: 6 }, () => ask(`${url}/v1/memories`, { key: ann.key }));
    await Promise.all(ways);
    network.cut();
    await expect.poll(async () => (await ask(`${url}/me`, { key: ann.key })).status, PATIENCE).toBe(200);
  }

  expect(world.log.filter((line) => line.includes("a connection to the database was lost"))).toHaveLength(1);
});

it("keeps a statement that PostgreSQL is running, however long it waits for a lock", async () => {
  await using world = await createWorld();
  const locker = await world.database.pool.connect();
  await locker.query("BEGIN; LOCK TABLE memory");

  const waiting = world.database.models.memory.count();
  await world.database.run(sleep, [(LIMITS.database.suspectAfterMs + 2_000) / 1_000]);
  await locker.query("COMMIT");
  locker.release();

  expect(await waiting).toBe(0);
});

it("keeps a connection whose long answer it still reads, however slow the process is", async () => {
  await using world = await createWorld();
  const long: Statement = { name: "long", text: "SELECT repeat('x', 10000) FROM generate_series(1, 600)" };
  let isOver = false;
  // An answer is read by 128 KiB in each turn of the event loop: so it takes twice as long as is suspect.
  const turn = () => {
    const end = performance.now() + (2 * LIMITS.database.suspectAfterMs) / 45;
    while (performance.now() < end);
    if (!isOver) setImmediate(turn);
  };
  const answer = world.database.run(long, []).finally(() => (isOver = true));
  turn();

  expect(await answer).toHaveLength(600);
});

it.each(["refuse", "deny", "swallow", "dribble"] as const)(
  "answers 503 while the network does this: %s",
  async (weather) => {
    await using world = await createWorld();
    const { network, url, ann } = await serveBehind(world);
    const readiness = async () => (await ask(`${url}/readyz`)).status;
    expect(await readiness()).toBe(200);

    network.become(weather);
    const statuses = await Promise.all([
      ...["/me", "/v1/memories", "/v1/memories/search?query=a", "/healthz"].map(
        async (path) => (await ask(url + path, { key: ann.key })).status,
      ),
      // Nobody's key, so nobody who could have been deleted meanwhile.
      ask(`${url}/teams/invitations/unknown`).then(({ status }) => status),
    ]);
    // The previous answer is cached for a second.
    await expect.poll(readiness, PATIENCE).toBe(503);
    network.become("forward");
    network.cut();

    expect(statuses).toEqual([503, 503, 503, 200, 503]);
    await expect.poll(async () => (await ask(`${url}/me`, { key: ann.key })).status, PATIENCE).toBe(200);
    await expect.poll(readiness, PATIENCE).toBe(200);
    expect(world.bugs).toEqual([]);
  },
);

/** Changes of every kind: with and without Idempotency-Key, as one statement and in a transaction, at both doors. */
const CHANGES: Record<string, (url: string, key: string) => ReturnType<typeof ask>> = {
  "a memory": (url, key) => ask(`${url}/v1/memories`, { key, body: NOTE }),
  "a memory, to be made once": (url, key) =>
    ask(`${url}/v1/memories`, { key, body: NOTE, headers: { "idempotency-key": crypto.randomUUID() } }),
  "a team": (url, key) => ask(`${url}/teams`, { key, body: { name: "Crew", max_members: 3 } }),
  "a key": (url, key) => ask(`${url}/keys`, { key, body: { name: "CI", scopes: ["memories:read"] } }),
  "a memory by GraphQL": (url, key) =>
    ask(`${url}/graphql`, {
      key,
      headers: { "idempotency-key": crypto.randomUUID() },
      body: {
        query: `mutation { createMemory(input: { type: "general", title: "A", content: "B" }) { id } }`,
      },
    }),
};

it.each(Object.entries(CHANGES))("never logs a cut connection as a bug, during %s", async (_name, change) => {
  await using world = await createWorld();
  const { network, url } = await serveBehind(world);
  const people = await Promise.all(Array.from({ length: 6 }, () => world.user()));
  const over = new AbortController();
  const answers: unknown[] = [];
  const work = people.map(async ({ key }) => {
    while (!over.signal.aborted) answers.push(told(await change(url, key)));
  });

  for (let cuts = 0; cuts < roundsOf(80); cuts++) {
    const before = answers.length;
    await expect.poll(() => answers.length, { ...PATIENCE, interval: 5 }).toBeGreaterThan(before + (cuts % 7));
    network.cut();
  }
  over.abort();
  await Promise.all(work);

  expect(
    answers.filter((answer) => !["done", "conflict", "rate_limited", "unavailable"].includes(String(answer))),
  ).toEqual([]);
  expect(answers).toContain("unavailable");
  expect(world.bugs).toEqual([]);
});

/** The outcome in one word, from the answer of either door. */
function told({ status, body }: Awaited<ReturnType<typeof ask>>): string {
  const { error, errors } = body as { error?: { code: string }; errors?: Array<{ extensions: { code: string } }> };
  const code = error?.code ?? errors?.[0]?.extensions.code.toLowerCase();
  return code ?? (status < 300 ? "done" : String(status));
}

/** How many statements PostgreSQL is running in the world's database, other than this query. */
async function activeStatements({ database }: World): Promise<number> {
  const { rows } = await database.pool.query<{ count: number }>(
    `SELECT count(*)::int FROM pg_stat_activity
     WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()`,
  );
  return rows[0]?.count ?? 0;
}
