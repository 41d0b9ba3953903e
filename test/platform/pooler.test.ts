import { randomUUID } from "node:crypto";
import { expect, inject, it, onTestFinished } from "vitest";
import { program as doctor } from "../../src/commands/doctor.js";
import { program as migrateTo } from "../../src/commands/migrate-to.js";
import { LIMITS } from "../../src/limits.js";
import { type OpenDatabase, isTimeout, openDatabase } from "../../src/platform/database/database.js";
import { whyUnavailable } from "../../src/platform/database/database-errors.js";
import { migrate } from "../../src/platform/database/migrations.js";
import { examinePooler, preparePooler } from "../../src/platform/database/pooler.js";
import type { Statement } from "../../src/platform/database/statement.js";
import { lookForDisagreement } from "../model/run.js";
import { onServer } from "../bench/on-server.js";
import { runHere } from "../support/commands.js";
import { pgBouncerVersion, startPgBouncer } from "../support/pgbouncer.js";
import { ask } from "../support/http.js";
import { PATIENT } from "../support/patience.js";
import { startServerProcess } from "../support/server-process.js";
import { roundsOf } from "../support/rounds.js";
import { createWorld } from "../support/world.js";

const version = pgBouncerVersion();
if (version === undefined) console.error("PgBouncer is not installed: tests of a pooler are skipped.");

/** From this version on, PgBouncer can keep prepared statements of clients apart. */
const KEEPS_NAMES = 1.21;
const isNew = (version ?? 0) >= KEEPS_NAMES;
const KINDS = [
  { what: "without names of statements", keepsNames: false, settings: isNew ? { max_prepared_statements: 0 } : {} },
  { what: "with names of statements", keepsNames: true, settings: { max_prepared_statements: 100 } },
];

const here = KINDS.filter(({ keepsNames }) => isNew || !keepsNames);
if (here.length < KINDS.length)
  console.error("PgBouncer is older than 1.21: it is tested without names of statements.");

const withPgBouncer = it.skipIf(version === undefined);

withPgBouncer.each(here)("does everything through PgBouncer, $what", async (kind) => {
  await using bouncer = await startPgBouncer(inject("databaseServer").url, kind.settings);
  const way = async (url: string) => bouncer.urlOf(url);

  expect(await lookForDisagreement({ steps: roundsOf(4_000), seed: 1, way }, () => {})).not.toHaveProperty("failure");
});

withPgBouncer.each(here)("keeps every timeout through PgBouncer, $what", async ({ keepsNames, settings }) => {
  await using world = await createWorld({ fresh: true });
  await using bouncer = await startPgBouncer(world.databaseUrl, { ...settings, default_pool_size: 1 });
  const pooled = bouncer.urlOf(world.databaseUrl);
  const pooler = await preparePooler({ direct: world.databaseUrl, pooled });
  const { connectionWaitMs } = PATIENT;
  await using database = openDatabase(pooled, () => {}, { ...LIMITS.database, connectionWaitMs }, { pooler });

  expect(pooler).toEqual({ keepsNames });
  const usual = { timeout: "10s", locks: "1500ms", idle: "5s", zone: "UTC", jit: "off" };
  expect(await settingsOf(database)).toEqual(usual);
  const late = await database.search((run) => run(sleep(60), [])).catch((error: unknown) => error);
  expect(isTimeout(late)).toBe(true);
  // All of these share one connection to PostgreSQL.
  const search = () => database.search(async (run) => [await run(SETTINGS, []), await run(SETTINGS, [])]);
  const [searches, others] = await Promise.all([
    Promise.all(Array.from({ length: 20 }, search)),
    Promise.all(Array.from({ length: 20 }, () => settingsOf(database))),
  ]);
  const distinct = (answers: readonly unknown[]) => [...new Set(answers.map((each) => JSON.stringify(each)))];
  expect(distinct(searches.flat(2))).toEqual(distinct([{ ...usual, timeout: "2s" }]));
  expect(distinct(others)).toEqual(distinct([usual]));
  expect(await database.run(SETTINGS, [], { lockMs: 300 })).toEqual([{ ...usual, locks: "300ms" }]);
  const inTransaction = await database.transaction((inner) => inner.run(SETTINGS, []), { lockMs: 200 });
  expect(inTransaction).toEqual([{ ...usual, locks: "200ms" }]);
  expect(await settingsOf(database)).toEqual(usual);
});

it.skipIf(!isNew)(
  "goes on without names, and mixes up no statements, when PgBouncer keeps them no longer",
  async () => {
    await using world = await createWorld({ fresh: true });
    await using bouncer = await startPgBouncer(world.databaseUrl, {
      max_prepared_statements: 100,
      default_pool_size: 1,
    });
    const pooled = bouncer.urlOf(world.databaseUrl);
    const pooler = await preparePooler({ direct: world.databaseUrl, pooled });
    const said: string[] = [];
    const open = () => openDatabase(pooled, ({ message }) => said.push(message), LIMITS.database, { pooler });
    await using one = open();
    await using other = open();
    await world.user();
    const five: Statement = { name: "test_number", text: "SELECT 5 AS number" };
    const seven: Statement = { ...five, text: "SELECT 7 AS number" };
    expect([await one.models.team.count(), await one.run(five, [])]).toEqual([0, [{ number: 5 }]]);

    await bouncer.command("SET max_prepared_statements = 0");

    // Another process, which learned before that names are kept: each has its first statements under the same names.
    expect([await other.models.user.count(), await other.run(seven, [])]).toEqual([1, [{ number: 7 }]]);
    expect(await one.run(five, [])).toEqual([{ number: 5 }]);
    expect(await one.transaction(({ models }) => models.team.count())).toBe(0);
    const first = await other.models.user.count().catch(whyUnavailable);
    expect([1, "unnamed"]).toContain(first);
    expect(await Promise.all([one.models.team.count(), other.models.user.count()])).toEqual([0, 1]);
    expect(said).toContainEqual(expect.stringContaining("no longer keeps the names of statements apart"));
  },
);

const SETTINGS = {
  name: "settings",
  text: `SELECT current_setting('statement_timeout') AS timeout, current_setting('lock_timeout') AS locks,
                current_setting('idle_in_transaction_session_timeout') AS idle, current_setting('TimeZone') AS zone, current_setting('jit') AS jit`,
};
const sleep = (seconds: number) => ({ name: "sleep", text: `SELECT pg_sleep(${seconds})` });

async function settingsOf({ pool }: OpenDatabase): Promise<unknown> {
  return (await pool.query(SETTINGS.text)).rows[0];
}

it("stores the settings for the role that logs in, also if that acts as the owner of the tables", async () => {
  await using world = await createWorld();
  const name = `${new URL(world.databaseUrl).pathname.slice(1)}_login`;
  const way = new URL(world.databaseUrl);
  [way.username, way.password] = [name, "secret"];
  const administer = (sql: string) =>
    onServer(world.databaseUrl, async (server) => {
      await server.query(sql);
    });
  await administer(`
    CREATE ROLE ${name} LOGIN PASSWORD 'secret';
    DO $$ BEGIN
      EXECUTE format('GRANT %I TO ${name}', current_user);
      EXECUTE format('ALTER ROLE ${name} SET role = %L', current_user);
    END $$`);
  onTestFinished(() =>
    onServer(inject("databaseServer").url, async (server) => {
      await server.query(`DROP ROLE ${name}`);
    }),
  );

  // Without a pooler, the stored settings are those of a new connection.
  await expect(preparePooler({ direct: way.href, pooled: way.href })).resolves.toBeDefined();
});

it("refuses two addresses of different databases, though the role has the settings for both", async () => {
  await using one = await createWorld();
  await using other = await createWorld();
  for (const { databaseUrl: url } of [one, other]) await preparePooler({ direct: url, pooled: url });
  const environment = { DATABASE_URL: one.databaseUrl, DIRECT_DATABASE_URL: other.databaseUrl };

  const { code, output } = await runHere(doctor, ["--json"], environment);

  await expect(preparePooler({ direct: other.databaseUrl, pooled: one.databaseUrl })).rejects.toThrow(
    /DATABASE_URL leads to the database "\w+", but DIRECT_DATABASE_URL to "\w+"/,
  );
  expect([code, output]).toEqual([1, expect.stringContaining("DATABASE_URL leads to the database")]);
});

it("says how to end connections that lack the settings where a pooler has no console, and that way works", async () => {
  await using world = await createWorld({ fresh: true });
  // As while a password is changed: the role that logs in acts as the one that owns the tables.
  const [owner, second] = [`owner_${randomUUID().slice(0, 8)}`, `second_${randomUUID().slice(0, 8)}`];
  await world.database.pool.query(`CREATE ROLE ${owner};
    CREATE ROLE ${second} LOGIN PASSWORD 'hush' IN ROLE ${owner}; ALTER ROLE ${second} SET role = '${owner}'`);
  onTestFinished(() =>
    onServer(
      inject("databaseServer").url,
      async (server) => void (await server.query(`DROP ROLE ${second}, ${owner}`)),
    ),
  );
  const acting = Object.assign(new URL(world.databaseUrl), { username: second, password: "hush" }).href;

  for (const url of [world.databaseUrl, acting]) {
    // Stands for a pooler's connection: it was opened before, and is used again.
    await using old = openDatabase(url, () => {});
    const processId = async () =>
      (await old.pool.query<{ pid: number }>("SELECT pg_backend_pid() AS pid")).rows[0]?.pid;
    const before = await processId();

    const refusal = await examinePooler(url).catch(({ message }: Error) => message);
    const [end = ""] = /(?:SET ROLE NONE; )?SELECT pg_terminate_backend.*?;/.exec(String(refusal)) ?? [];
    await onServer(url, async (server) => void (await server.query(end)));

    await expect.poll(() => processId().catch(() => before)).not.toBe(before);
  }
});

withPgBouncer("starts behind PgBouncer, and serves", async () => {
  await using world = await createWorld({ fresh: true });
  await using bouncer = await startPgBouncer(world.databaseUrl);
  const ann = await world.user();
  await using server = await startServerProcess({
    DATABASE_URL: bouncer.urlOf(world.databaseUrl),
    DIRECT_DATABASE_URL: world.databaseUrl,
  });
  const body = { type: "fix", title: "Retry", content: "Wait longer." };

  expect((await ask(`${server.url}/v1/memories`, { key: ann.key, body })).status).toBe(201);
  const { body: found } = await ask(`${server.url}/v1/memories/search?query=retry`, { key: ann.key });
  expect(JSON.stringify(found)).toContain("Wait longer.");
});

withPgBouncer("says in a sentence that an address leads through a pooler, or that it lacks the settings", async () => {
  await using world = await createWorld({ fresh: true });
  await using strict = await startPgBouncer(world.databaseUrl);
  await using silent = await startPgBouncer(world.databaseUrl, {
    ignore_startup_parameters: "statement_timeout, options",
  });

  for (const bouncer of [strict, silent]) {
    const pooled = bouncer.urlOf(world.databaseUrl);
    await expect(migrate(pooled)).rejects.toThrow(/leads through a pooler.*set DIRECT_DATABASE_URL/);
    await expect(examinePooler(pooled)).rejects.toThrow(/lack the role's settings .*statement_timeout.*run RECONNECT/);
  }
});

withPgBouncer.each([
  ["has lent all its connections", { query_wait_timeout: 1 }, "query_wait_timeout"],
  ["is paused", {}, "Query read timeout"],
])("says that PgBouncer lends no connection when it %s", async (_what, settings, said) => {
  await using world = await createWorld({ fresh: true });
  await using bouncer = await startPgBouncer(world.databaseUrl, settings);
  const pooled = bouncer.urlOf(world.databaseUrl);
  await preparePooler({ direct: world.databaseUrl, pooled });
  await bouncer.command("PAUSE");

  const { output } = await runHere(doctor, ["--json"], {
    DATABASE_URL: pooled,
    DIRECT_DATABASE_URL: world.databaseUrl,
  });

  expect(output).toContain(`lends no connection (${said}): all are in use, or it is paused. Look at SHOW POOLS`);
});

withPgBouncer("knows why PgBouncer refuses: it has no room for a client, or no connection for too long", async () => {
  await using world = await createWorld({ fresh: true });
  await using bouncer = await startPgBouncer(world.databaseUrl, { max_client_conn: 2, query_wait_timeout: 1 });
  const pooled = bouncer.urlOf(world.databaseUrl);
  const pooler = await preparePooler({ direct: world.databaseUrl, pooled });
  const open = () => openDatabase(pooled, () => {}, LIMITS.database, { pooler });
  await using other = open();
  const reasons = () =>
    Promise.all([
      other.run({ name: "test_one", text: "SELECT 1" }, []).catch(whyUnavailable),
      other.models.team.count().catch(whyUnavailable),
    ]);

  {
    await using database = open();
    await Promise.all([database.pool.query("SELECT pg_sleep(0.2)"), database.pool.query("SELECT pg_sleep(0.2)")]);
    expect(await reasons()).toEqual(["exhausted", "exhausted"]);
  }
  await bouncer.command("PAUSE");
  expect(await reasons()).toEqual(["busy", "busy"]);
});

withPgBouncer("moves a database when PgBouncer has let its connections go, and says so before", async () => {
  await using world = await createWorld({ fresh: true });
  await using target = await createWorld();
  await onServer(world.databaseUrl, async (server) => {
    await server.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
  });
  await using bouncer = await startPgBouncer(world.databaseUrl);
  const pooled = bouncer.urlOf(world.databaseUrl);
  const environment = { DATABASE_URL: pooled, DIRECT_DATABASE_URL: world.databaseUrl };
  await onServer(pooled, async (client) => void (await client.query("SELECT 1")));

  const refused = await runHere(migrateTo, [target.databaseUrl], environment);
  await bouncer.reconnect();
  const moved = await runHere(migrateTo, [target.databaseUrl], environment);

  expect([refused.code, refused.errors]).toEqual([1, expect.stringContaining("RECONNECT on PgBouncer's console")]);
  expect([moved.code, moved.output]).toEqual([0, expect.stringContaining("Copied 0 memories")]);
});

withPgBouncer(
  "lets the doctor look at the pooler, whose older connections lack the settings until RECONNECT",
  async () => {
    await using world = await createWorld({ fresh: true });
    await using bouncer = await startPgBouncer(world.databaseUrl, { default_pool_size: 1 });
    const pooled = bouncer.urlOf(world.databaseUrl);
    const findings = async (environment: Record<string, string>) => {
      const { output } = await runHere(doctor, ["--json"], environment);
      const { findings: all } = JSON.parse(output) as { findings: { part: string; state: string; says: string }[] };
      return Object.fromEntries(all.map(({ part, state, says }) => [part, `${state}: ${says}`]));
    };
    const both = { DATABASE_URL: pooled, DIRECT_DATABASE_URL: world.databaseUrl };

    expect((await findings({ DATABASE_URL: pooled }))["database"]).toContain(
      "wrong: The address of the database leads",
    );
    expect((await findings(both))["pooler"]).toContain("wrong: Connections of the pooler");
    await expect(preparePooler({ direct: world.databaseUrl, pooled })).rejects.toThrow("run RECONNECT");
    await bouncer.reconnect();
    expect(await findings(both)).toMatchObject({
      database: expect.stringMatching(/^ok/) as string,
      pooler: expect.stringMatching(/^ok: The pooler works/) as string,
    });
  },
);
