import { randomUUID } from "node:crypto";
import tls from "node:tls";
import pg from "pg";
import { expect, it, onTestFinished, vi } from "vitest";
import { searchMemories } from "../../src/features/memories/search/search-memories.js";
import { LIMITS } from "../../src/limits.js";
import { Client, close } from "../../src/platform/database/client.js";
import { sqlStateOf, whyUnavailable } from "../../src/platform/database/database-errors.js";
import { isTimeout, openDatabase } from "../../src/platform/database/database.js";
import { BEFORE_COMMIT, type Statement } from "../../src/platform/database/statement.js";
import { ask } from "../support/http.js";
import { lockMemories } from "../support/locks.js";
import { PATIENT } from "../support/patience.js";
import { endTogether, startTcpProxy } from "../support/tcp-proxy.js";
import { createWorld } from "../support/world.js";

const { searchTimeoutMs, searchConnections, connections, connectionWaitMs, idleInTransactionMs } = LIMITS.database;
const sleep: Statement = { name: "sleep", text: "SELECT pg_sleep($1)" };
const reasonOf = (promise: Promise<unknown>) => promise.then(() => undefined).catch((error: unknown) => error);

it("gives all statements of a search one common timeout, and each search a new one", async () => {
  await using world = await createWorld();
  await using database = openDatabase(world.databaseUrl, () => {}, { ...PATIENT, searchTimeoutMs: 3_000 });

  const outcomes: unknown[] = [];
  await database.search(async (run) => {
    // The second one alone would end in time.
    for (const seconds of [1.5, 2.5, 0]) outcomes.push(await reasonOf(run(sleep, [seconds])));
  });

  expect(outcomes.map((outcome) => outcome && isTimeout(outcome))).toEqual([undefined, true, true]);
  expect(database.searchPool.totalCount).toBe(1);
  await database.search((run) => run(sleep, [1.6]));
});

it("uses a connection no longer whose settings cannot be restored", async () => {
  await using world = await createWorld();
  // The world's own may have connections of an earlier test.
  await using database = openDatabase(world.databaseUrl, () => {}, PATIENT);
  const failing = ["START TRANSACTION", "SELECT 1 / 0"].map((text): Statement => ({
    name: `restore_${text.length}`,
    text,
  }));

  const reason = await reasonOf(
    database.search(
      async (run) => {
        for (const statement of failing) await run(statement, []);
      },
      { lockMs: 100 },
    ),
  );

  expect(sqlStateOf(reason)).toBe("22012");
  expect(database.searchPool.totalCount).toBe(0);
});

it("takes the failure of a transaction's last statement for no failure of the next transaction", async () => {
  await using world = await createWorld();
  const client = await world.database.pool.connect();
  const send = (text: string) => client.query({ text });

  await send("BEGIN");
  await send(`${BEFORE_COMMIT} SELECT 1 / 0`);
  expect(sqlStateOf(await reasonOf(send("COMMIT")))).toBe("22012");
  await send("BEGIN");
  await send("CREATE TABLE kept ()");
  await send("COMMIT");
  client.release();

  expect((await world.database.pool.query("SELECT FROM kept")).rowCount).toBe(0);
});

it("cuts the connection if PostgreSQL refuses to begin a transaction, so that no statement runs without one", async () => {
  await using world = await createWorld();
  await using database = openDatabase(world.databaseUrl);
  const { query: send } = pg.Client.prototype;
  const query = vi.spyOn(pg.Client.prototype, "query");
  onTestFinished(() => query.mockRestore());
  query.mockImplementation(function (this: pg.Client, ...values: unknown[]) {
    const [{ text } = { text: "" }] = values as [{ text?: string } | undefined];
    return Reflect.apply(send, this, text === "BEGIN" ? ["SELECT 1 / 0"] : values) as never;
  });
  const addressed = (email: string) => ({
    data: {
      mailId: randomUUID(),
      email,
      hash: new Uint8Array(32),
      longHash: new Uint8Array(32),
      expiresAt: new Date(),
    },
  });

  const reason = await reasonOf(
    database.transaction(async ({ models }) => {
      await models.signUpCode.count();
      await models.signUpCode.create(addressed("ann@example.com"));
    }),
  );

  expect(whyUnavailable(reason)).toBe("lost");
  expect(await world.database.models.signUpCode.count()).toBe(0);
});

it("answers other requests while searches use all their connections", async () => {
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

it("answers 503 to a search that takes too long, and says how to search instead", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  const { url } = await world.serve({}, undefined, {}, { ...PATIENT, searchTimeoutMs });
  await using lock = await lockMemories(world);

  const { status, headers, body } = await ask(`${url}/v1/memories/search?query=anything`, { key: ann.key });
  await lock.release();

  expect([status, headers.get("retry-after")]).toEqual([503, "2"]);
  const message = expect.stringContaining("Search for fewer or rarer words") as string;
  expect(body).toMatchObject({ error: { code: "unavailable", reason: "search_too_slow", message } });
});

it("ends an idle transaction, so that statements waiting for its locks continue", async () => {
  await using world = await createWorld();
  await using database = openDatabase(world.databaseUrl, () => {}, { ...PATIENT, idleInTransactionMs });
  const lock: Statement = { name: "lock", text: "LOCK TABLE memory" };
  let tellLocked = () => {};
  const locked = new Promise<void>((done) => (tellLocked = done));
  const counted = locked.then(() => world.database.models.memory.count());
  const idle = reasonOf(
    database.transaction(async (inner) => {
      await inner.run(lock, []);
      tellLocked();
      await counted;
      return inner.run(sleep, [0]);
    }),
  );

  expect(await counted).toBe(0);

  expect(whyUnavailable(await idle)).toBeDefined();
});

it.each(["plainly", "by TLS"])("reads a long answer over many turns of the event loop, %s", async (how) => {
  await using world = await createWorld();
  await using proxy = await startTlsProxy(world.databaseUrl);
  const client = new Client(
    how === "by TLS"
      ? { connectionString: proxy.url.replace(/\?.*/, ""), ssl: KEY }
      : { connectionString: world.databaseUrl },
  );
  await client.connect();
  let [most, bytes, isDone] = [0, 0, false];
  client.connection.stream.on("data", ({ length }: Buffer) => (bytes += length));
  const endTurn = () => {
    most = Math.max(most, bytes);
    bytes = 0;
    if (!isDone) setImmediate(endTurn);
  };

  endTurn();
  expect((await client.query("SELECT repeat('x', 20000) FROM generate_series(1, 500)")).rows).toHaveLength(500);
  isDone = true;
  await close(client);

  expect(most).toBeGreaterThan(0);
  // Each read has up to 64 KiB, and what was read when the connection is paused comes with the next one.
  expect(most).toBeLessThanOrEqual(4 * 65_536);
});

/** TLS without certificates, by a key that both ends have. */
const KEY = {
  ciphers: "PSK-AES128-GCM-SHA256:@SECLEVEL=0",
  minVersion: "TLSv1.2",
  maxVersion: "TLSv1.2",
  pskCallback: () => ({ psk: Buffer.alloc(16, 1), identity: "test" }),
  checkServerIdentity: () => undefined,
} as const;

/** Gives the database TLS as PostgreSQL does, with records of the size of its buffer. */
const startTlsProxy = (url: string) =>
  startTcpProxy(url, (near, far) => {
    endTogether(near, far);
    near.once("data", () => {
      near.write("S");
      const server = { ...KEY, pskCallback: () => Buffer.alloc(16, 1) };
      const secure = new tls.TLSSocket(near, { ...server, isServer: true }).on("error", () => {});
      secure.setMaxSendFragment(8_192);
      secure.pipe(far);
      far.on("data", (bytes) => secure.write(bytes));
    });
  });

it("has few texts for waits of any length: Prisma's adapter keeps each text that it sends", async () => {
  await using world = await createWorld();
  const queries = vi.spyOn(pg.Client.prototype, "query");
  onTestFinished(() => queries.mockRestore());
  for (let lockMs = 901; lockMs < 1_000; lockMs += 7) {
    await world.database.transaction(async ({ models }) => models.graph.count(), { lockMs });
  }
  const texts = queries.mock.calls.map(([query]: readonly unknown[]) => (query as Partial<pg.QueryConfig>).text ?? "");
  expect(new Set(texts.filter((text) => text.includes("lock_timeout")))).toEqual(
    new Set(["SET LOCAL lock_timeout=1000"]),
  );
});

it.each([
  ["missing", { sslrootcert: "/nowhere.pem" }],
  ["not one", { sslcert: "package.json", sslkey: "package.json" }],
])("is unavailable while a certificate's file is %s, also for those who wait, then goes on", async (_, files) => {
  await using world = await createWorld();
  await using proxy = await startTlsProxy(world.databaseUrl);
  let isMissing = false;
  const missing = new URL(proxy.url);
  for (const [name, value] of Object.entries({ sslmode: "verify-full", ...files }))
    missing.searchParams.set(name, value);
  await using database = openDatabase(
    () => (isMissing ? missing.href : world.databaseUrl),
    () => {},
    PATIENT,
  );
  const held = Array.from({ length: connections }, () => reasonOf(database.run(sleep, [30])));
  // Only this database's: other tests sleep in theirs at the same time.
  const working = () =>
    world.database.pool.query(
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pg_sleep($1)'",
    );
  await expect.poll(async () => (await working()).rowCount).toBe(connections);
  const waiting = Array.from({ length: 2 }, () => reasonOf(database.run(sleep, [0])));
  isMissing = true;
  for (const { pid } of (await working()).rows)
    await world.database.pool.query("SELECT pg_terminate_backend($1)", [pid]);
  await Promise.all(held);

  const ways = [() => database.run(sleep, [0]), () => database.models.team.count()];
  const later = [...ways, () => database.transaction((inner) => inner.run(sleep, [0]))].map((way) => reasonOf(way()));
  const reasons = await Promise.all([...waiting, ...later]);
  isMissing = false;

  expect(reasons.map(whyUnavailable)).toEqual(reasons.map(() => "refused"));
  await Promise.all(ways.map((way) => way()));
});

it("waits for a connection until the limit, and no longer", async () => {
  await using world = await createWorld();
  await using database = openDatabase(world.databaseUrl);
  const seconds = (connectionWaitMs + 4_000) / 1_000;
  const held = Array.from({ length: connections }, () => database.run(sleep, [seconds]));

  const ways = [database.run(sleep, [0]), database.transaction((inner) => inner.run(sleep, [0]))];
  const early = await Promise.race([Promise.all(ways.map(reasonOf)), Promise.all(held)]);

  expect(early.map(whyUnavailable)).toEqual(["busy", expect.stringMatching(/^(busy|slow)$/)]);
  await Promise.all(held);
});
