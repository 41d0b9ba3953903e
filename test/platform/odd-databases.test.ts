import { randomUUID } from "node:crypto";
import pg from "pg";
import { expect, inject, it, onTestFinished } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { openDatabase } from "../../src/platform/database/database.js";
import { beginMove } from "../../src/platform/database/migration-lock.js";
import { countPending, migrate } from "../../src/platform/database/migrations.js";
import { SESSION_SETTINGS } from "../../src/platform/database/session-settings.js";
import { createWorld } from "../support/world.js";
import { databaseOn, onServer } from "../bench/on-server.js";

/** A new database with this form, and what has to be run in it before the service starts. */
async function oddDatabase(form: string, ...statements: readonly string[]): Promise<string> {
  const { url, prefix } = inject("databaseServer");
  const name = prefix + randomUUID().replaceAll("-", "");
  onTestFinished(() =>
    onServer(url, async (server) => void (await server.query(`DROP DATABASE ${name} WITH (FORCE)`))),
  );
  await onServer(
    url,
    async (server) => void (await server.query(`CREATE DATABASE ${name} TEMPLATE template0 ${form}`)),
  );
  await onServer(databaseOn(url, name), async (server) => {
    for (const statement of statements) await server.query(statement.replaceAll("DB", name));
  });
  return databaseOn(url, name);
}

/** For each setting a value that an operator may have chosen, and with which results would be wrong. */
const CHOSEN: { readonly [Name in keyof typeof SESSION_SETTINGS]: string } = {
  TimeZone: "Asia/Kolkata",
  DateStyle: "German",
  IntervalStyle: "sql_standard",
  bytea_output: "escape",
  extra_float_digits: "-5",
  standard_conforming_strings: "off",
  array_nulls: "off",
  gin_fuzzy_search_limit: "5000",
  default_transaction_isolation: "serializable",
  jit: "on",
};
const setting = Object.entries(CHOSEN).map(([name, value]) => `ALTER DATABASE DB SET ${name} = '${value}'`);
const IN_ADDRESS = { statement_timeout: "1", options: "-c TimeZone=Asia/Kolkata -c extra_float_digits=-5" };

it.each([
  ["the database", setting, {}],
  ["the address", [], IN_ADDRESS],
])("uses its own settings where %s has others on which results depend", async (_what, statements, parameters) => {
  const address = new URL(await oddDatabase("", ...statements));
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
  const url = address.href;
  expect((await migrate(url)).length).toBeGreaterThan(0);
  await using database = openDatabase(url);

  for (const pool of [database.pool, database.reservedPool, database.searchPool]) {
    const { rows } = await pool.query<{ name: string; setting: string }>(
      "SELECT name, setting FROM pg_settings WHERE name = ANY ($1)",
      [Object.keys(SESSION_SETTINGS)],
    );
    expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).toEqual(SESSION_SETTINGS);
  }
  const { rows } = await database.pool.query("SHOW statement_timeout");
  expect(rows).not.toEqual([{ statement_timeout: "1ms" }]);
});

/** Clients may set these, too, but the service's results do not depend on them. */
const HARMLESS = [
  // The client sends its own, or the start refuses other values.
  ..."client_encoding search_path transaction_deferrable transaction_isolation transaction_read_only".split(" "),
  // Failures, which are answered as such.
  ..."default_transaction_read_only row_security transaction_timeout".split(" "),
  ..."idle_in_transaction_session_timeout idle_session_timeout lock_timeout statement_timeout".split(" "),
  // No statement uses what they are about: words of a language, XML, money, `= NULL`, times as words, backslashes.
  ..."default_text_search_config xmlbinary xmloption lc_monetary lc_numeric lc_time".split(" "),
  ..."transform_null_equals timezone_abbreviations backslash_quote escape_string_warning".split(" "),
  // Where and when rows are stored, in which order without ORDER BY, messages, and commands that define something.
  ..."default_table_access_method default_tablespace temp_tablespaces default_toast_compression".split(" "),
  ..."gin_pending_list_limit synchronize_seqscans default_transaction_deferrable client_min_messages".split(" "),
  ..."check_function_bodies createrole_self_grant icu_validation_level quote_all_identifiers".split(" "),
  "restrict_nonsystem_relation_kind",
];

it("sets each setting of a session on which results depend", async () => {
  await using world = await createWorld();
  const { rows } = await world.database.pool.query<{ name: string }>(
    `SELECT name FROM pg_settings
     WHERE context = 'user' AND name NOT LIKE 'vacuum%' AND category ~ '^(Client Connection Defaults|Version)'
       AND category !~ 'Preloading'`,
  );
  const known = new Set([...Object.keys(SESSION_SETTINGS), ...HARMLESS]);

  expect(rows.length).toBeGreaterThan(20);
  expect(rows.map(({ name }) => name).filter((name) => !known.has(name))).toEqual([]);
});

it.each([
  ["stores text in another encoding", "ENCODING 'SQL_ASCII' LOCALE 'C'", [], /stores text as SQL_ASCII, and .* UTF8/],
  ["cannot store all letters", "ENCODING 'LATIN1' LOCALE 'C'", [], /stores text as LATIN1, and .* ENCODING 'UTF8'/],
  [
    "has another schema before public",
    "",
    ["CREATE SCHEMA other", "ALTER DATABASE DB SET search_path = other, public"],
    /works in the schema other, and the service needs public: run ALTER ROLE \w+ IN DATABASE \w+ SET search_path = public\.$/,
  ],
  [
    "has no schema that exists",
    "",
    ["CREATE EXTENSION pg_trgm", "ALTER DATABASE DB SET search_path = other"],
    /works in no schema, and the service needs public: run ALTER ROLE .* SET search_path = public\.$/,
  ],
  [
    "hides an extension",
    "",
    ["CREATE SCHEMA extensions", "CREATE EXTENSION pg_trgm SCHEMA extensions"],
    /does not find the extensions in the schema extensions: run ALTER ROLE .* SET search_path = public, extensions\.$/,
  ],
  [
    "has tables of another program",
    "",
    ["CREATE TABLE customers (id int)"],
    /\(its schema public is not empty\): another program uses it, .* Create a database for the service alone/,
  ],
])("says what to do with a database that %s", async (_what, form, statements, sentence) => {
  const url = await oddDatabase(form, ...statements);

  await expect(migrate(url)).rejects.toThrow(sentence);
});

it("names the role that logs in, to which settings belong, also if that acts as the owner of the tables", async () => {
  const url = new URL(await oddDatabase("", "CREATE SCHEMA extensions", "CREATE EXTENSION pg_trgm SCHEMA extensions"));
  const role = `login_${randomUUID().replaceAll("-", "")}`;
  const run = (...statements: readonly string[]) =>
    onServer(url.href, async (server) => {
      for (const sql of statements) await server.query(sql);
    });
  const way = Object.assign(new URL(url), { username: role, password: "hush" }).href;
  await run(
    `CREATE ROLE ${role} LOGIN PASSWORD 'hush'`,
    `DO $$ BEGIN EXECUTE format('GRANT %I TO ${role}', current_user);
                 EXECUTE format('ALTER ROLE ${role} SET role = %L', current_user); END $$`,
  );
  onTestFinished(() => run(`DROP OWNED BY ${role}`, `DROP ROLE ${role}`));

  const refusal = await migrate(way).catch((error: Error) => error.message);
  const [, advice = ""] = /: run (ALTER ROLE .*)\.$/.exec(String(refusal)) ?? [];
  await run(advice);

  expect(advice).toContain(role);
  expect((await migrate(way)).length).toBeGreaterThan(0);
});

it.each([
  ["nothing", []],
  ["tables, but not the extensions", ["GRANT CREATE ON SCHEMA public TO ROLE"]],
  ["the extensions, but no tables", ["GRANT CREATE ON DATABASE DB TO ROLE"]],
  [
    "both, but not use them",
    [
      "REVOKE USAGE ON SCHEMA public FROM PUBLIC",
      "GRANT CREATE ON SCHEMA public TO ROLE",
      "GRANT CREATE ON DATABASE DB TO ROLE",
    ],
  ],
  [
    "both, but not connect",
    [
      "REVOKE CONNECT ON DATABASE DB FROM PUBLIC",
      "GRANT CREATE ON DATABASE DB TO ROLE",
      "GRANT CREATE ON SCHEMA public TO ROLE",
    ],
  ],
])("says what lets a role start the service that may create %s", async (_what, grants) => {
  const role = `guest_${randomUUID().replaceAll("-", "")}`;
  const byRole = grants.map((statement) => statement.replaceAll("ROLE", role));
  const limits = ["REVOKE CREATE ON SCHEMA public FROM PUBLIC", `CREATE ROLE ${role} LOGIN PASSWORD 'hush'`, ...byRole];
  const url = await oddDatabase("", ...limits);
  const run = (...statements: readonly string[]) =>
    onServer(url, async (server) => {
      for (const sql of statements) await server.query(sql);
    });
  onTestFinished(() => run(`DROP OWNED BY ${role} CASCADE`, `DROP ROLE ${role}`));
  const way = Object.assign(new URL(url), { username: role, password: "hush" }).href;

  const refusal = await migrate(way).catch((error: Error) => error.message);
  const [, advice = ""] = /have an administrator run(?: in it)?: (.*;) Then start again\.$/.exec(String(refusal)) ?? [];
  await run(advice);

  expect(advice).toContain(role);
  expect((await migrate(way)).length).toBeGreaterThan(0);
});

it.for([
  ["knows no letters but A to Z", "LOCALE 'C'", /^The locale of the database \w+ .* knows no letters but A to Z, /, 14],
  [
    "has another small letter for I, as Turkish does",
    "LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR' LOCALE 'C.UTF-8'",
    /^The locale of the database \w+ .* another small letter for I than i, /,
    // Before, words were made small by the locale of the system, which may have no Turkish.
    18,
  ],
] as const)("warns at each start if the locale %s, and starts", async ([, form, warning, version], { skip }) => {
  await onServer(inject("databaseServer").url, async (server) => {
    const { rows } = await server.query<{ number: number }>(
      "SELECT current_setting('server_version_num')::int AS number",
    );
    skip((rows[0]?.number ?? 0) < version * 10_000, `PostgreSQL is older than ${version}.`);
  });
  const url = await oddDatabase(`ENCODING 'UTF8' ${form}`);
  const told: string[] = [];

  for (const _start of [1, 2]) await migrate(url, { warn: (message) => void told.push(message) });

  expect(told).toEqual([told[0], told[0]]);
  expect(told[0]).toMatch(warning);
  expect(told[0]).toMatch(/ Create another one with CREATE DATABASE .*, and move to it with npm run migrate-to\.$/);
});

it("warns at each start if an extension was dropped, and says how to create it again", async () => {
  await using world = await createWorld();
  await world.database.pool.query("DROP EXTENSION btree_gin CASCADE; DROP EXTENSION pg_trgm CASCADE");
  const told: string[] = [];

  await migrate(world.databaseUrl, { warn: (message) => void told.push(message) });

  expect(told).toEqual([
    expect.stringMatching(/Run there CREATE EXTENSION pg_trgm; CREATE EXTENSION btree_gin; .* memory_search/),
  ]);
});

it("serves as a role with rights on another's tables, and says which it lacks, or who has to migrate", async () => {
  await using world = await createWorld();
  const role = `app_${randomUUID().replaceAll("-", "")}`;
  const run = (...statements: readonly string[]) =>
    onServer(world.databaseUrl, async (database) => {
      for (const sql of statements) await database.query(sql);
    });
  await run(`CREATE ROLE ${role} LOGIN PASSWORD 'hush'`);
  onTestFinished(() =>
    onServer(inject("databaseServer").url, async (server) => void (await server.query(`DROP ROLE ${role}`))),
  );
  const way = Object.assign(new URL(world.databaseUrl), { username: role, password: "hush" }).href;
  const start = () => migrate(way).catch((error: Error) => error.message);

  const [, lacked = "", advice = ""] =
    /read and change ([\w, ]+): .* run in the database \w+ (GRANT .*;) Then start again, or name \w+ in DATABASE_URL\.$/.exec(
      String(await start()),
    ) ?? [];
  // That of the migrations it only reads.
  await run(advice, `REVOKE INSERT, UPDATE, DELETE ON _prisma_migrations FROM ${role}`);
  // Tables of extensions and of other roles are not the service's.
  await run("CREATE TABLE of_extension (); ALTER EXTENSION pg_trgm ADD TABLE of_extension");
  await run("CREATE TABLE of_others (); ALTER TABLE of_others OWNER TO pg_monitor");
  const granted = await start();
  await run(`REVOKE DELETE ON memory FROM ${role}`);
  const partly = await start();
  await run(
    `GRANT DELETE ON memory TO ${role}`,
    "DELETE FROM _prisma_migrations WHERE migration_name = (SELECT max(migration_name) FROM _prisma_migrations)",
  );

  expect(lacked).toMatch(/^_prisma_migrations, api_key, .*, user_account$/);
  expect(granted).toEqual([]);
  expect(partly).toMatch(/does not let app_\w+ read and change memory: have /);
  expect(await start()).toMatch(
    /migrations are missing, and only \w+, which owns the tables, .* Name that role in DATA/,
  );
  const counted = onServer(way, async (database) => void (await countPending(database)));
  await expect(counted).rejects.toThrow(/^migrations are missing, and only \w+, which owns the tables/);
  await run(`DROP OWNED BY ${role}`);
});

it("names the host of an address that has it among its parameters", async () => {
  const url = new URL(await oddDatabase("ENCODING 'LATIN1' LOCALE 'C'"));
  const parameters = new URLSearchParams({
    host: url.hostname,
    port: url.port || "5432",
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
  });

  await expect(migrate(`postgres://${url.pathname}?${parameters.toString()}`)).rejects.toThrow(
    ` at ${url.hostname} stores text as LATIN1`,
  );
});

it("goes on after a migration that was refused, or whose end Prisma could not note", async () => {
  const url = await oddDatabase("", "CREATE TYPE team AS (id int)");
  const refused = migrate(url);
  await expect(refused).rejects.toThrow(/\(relation "team" already exists\): another program uses it, .*alone/);
  await expect(refused).rejects.toHaveProperty("cause.migration", expect.stringMatching(/^\d+_teams$/));
  await onServer(url, async (database) => {
    await database.query("DROP TYPE team");
    await database.query(
      `CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'The connection is lost.'; END $$`,
    );
    await database.query(
      "CREATE TRIGGER lose BEFORE UPDATE OF applied_steps_count ON _prisma_migrations FOR EACH ROW EXECUTE FUNCTION lose()",
    );
  });
  await expect(migrate(url)).rejects.toThrow("The connection is lost.");
  await onServer(url, async (database) => {
    await database.query("DROP FUNCTION lose CASCADE");
    expect((await database.query("SELECT FROM team")).rowCount).toBe(0);
  });

  expect((await migrate(url)).length).toBeGreaterThan(0);
  expect(await migrate(url)).toEqual([]);
});

it("waits for a migration that PostgreSQL still runs for a process that was killed, and does not repeat it", async () => {
  const url = await oddDatabase("");
  const last = (await migrate(url)).at(-1);
  await onServer(url, async (killed) => {
    // Prisma's lock, which the connection of the script holds.
    await killed.query("SELECT pg_advisory_lock(72707369)");
    await killed.query("UPDATE _prisma_migrations SET finished_at = NULL WHERE migration_name = $1", [last]);
    const again = migrate(url);
    const waits = `SELECT FROM pg_locks JOIN pg_database d ON d.oid = database
      WHERE datname = current_database() AND locktype = 'advisory' AND objid = 72707369 AND NOT granted`;
    await expect.poll(async () => (await killed.query(waits)).rowCount).toBe(1);

    await killed.query("UPDATE _prisma_migrations SET finished_at = now() WHERE rolled_back_at IS NULL");
    await killed.query("SELECT pg_advisory_unlock_all()");

    expect(await again).toEqual([]);
    expect((await killed.query("SELECT FROM _prisma_migrations WHERE rolled_back_at IS NOT NULL")).rowCount).toBe(0);
  });
});

it("migrates where PostgreSQL ends long transactions", async () => {
  const url = await oddDatabase(
    "",
    `DO $$ BEGIN IF current_setting('server_version_num')::int >= 170000 THEN
       ALTER DATABASE DB SET transaction_timeout = '200ms'; END IF; END $$`,
    "CREATE FUNCTION wait() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.3); END $$",
    "CREATE EVENT TRIGGER wait ON ddl_command_start WHEN TAG IN ('CREATE EXTENSION') EXECUTE FUNCTION wait()",
  );

  expect((await migrate(url)).length).toBeGreaterThan(0);
});

it("keeps its locks where PostgreSQL ends idle sessions", async () => {
  const url = await oddDatabase("", "ALTER DATABASE DB SET idle_session_timeout = '10min'");
  const client = new pg.Client(url);
  onTestFinished(() => client.end());
  await client.connect();

  expect(await beginMove(client)).toBe(true);

  expect((await client.query("SHOW idle_session_timeout")).rows).toEqual([{ idle_session_timeout: "0" }]);
});

it("warns if its role may open fewer connections than a server needs, and says whose tables a role may not use", async () => {
  await using world = await createWorld();
  const { pool } = world.database;
  const role = `role_${randomUUID().replaceAll("-", "")}`;
  await pool.query(`CREATE ROLE ${role} LOGIN PASSWORD 'hush' CONNECTION LIMIT 16`);
  onTestFinished(() =>
    onServer(inject("databaseServer").url, async (server) => void (await server.query(`DROP ROLE ${role}`))),
  );
  const asRole = Object.assign(new URL(world.databaseUrl), { username: role, password: "hush" });
  const told: string[] = [];

  const refused = migrate(asRole.href, { warn: (message) => void told.push(message) });

  await expect(refused).rejects.toThrow(/read and change _prisma_migrations, .*: have .*, which owns the tables, run /);
  // Shadow PostgreSQL's own functions.
  await pool.query(
    `CREATE FUNCTION public.current_setting(name text) RETURNS text LANGUAGE sql AS $$
       SELECT CASE name WHEN 'max_connections' THEN '17' WHEN 'superuser_reserved_connections' THEN '3'
         ELSE pg_catalog.current_setting(name) END $$;
     CREATE FUNCTION public.current_setting(name text, boolean) RETURNS text LANGUAGE sql AS $$
       SELECT CASE name WHEN 'reserved_connections' THEN '2' ELSE pg_catalog.current_setting(name, $2) END $$`,
  );
  await pool.query(`ALTER ROLE ${role} IN DATABASE "${asRole.pathname.slice(1)}" SET search_path = public, pg_catalog`);
  await expect(migrate(asRole.href, { warn: (message) => void told.push(message) })).rejects.toThrow();
  expect(told).toEqual([
    expect.stringMatching(/lets role_\w+ open 16 connections, and a server opens up to 17: .*LIMIT/),
    expect.stringMatching(/open 12 connections, .* Raise max_connections there, or the CONNECTION LIMIT/),
  ]);
});

it.each([
  ["waits only for a limited time for a table that another program has locked", { tableLockMs: 200 }, "locked a table"],
  ["ends what takes too long", { tableLockMs: 0, migrationMs: 300 }, "due to statement timeout"],
])("%s while it migrates", async (_what, waits, sentence) => {
  await using world = await createWorld();
  await onServer(world.databaseUrl, async (holder) => {
    await holder.query(
      "DELETE FROM _prisma_migrations WHERE migration_name = (SELECT max(migration_name) FROM _prisma_migrations)",
    );
    // The list of migrations can still be read, but not changed.
    await holder.query("BEGIN; LOCK TABLE _prisma_migrations IN EXCLUSIVE MODE");

    const migrating = migrate(world.databaseUrl, { waits: { ...LIMITS.start, migrationMs: 5_000, ...waits } });

    await expect(migrating).rejects.toThrow(sentence);
  });
});
