import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import pg from "pg";
import { expect, inject, it, onTestFinished } from "vitest";
import { program as backup } from "../../src/commands/backup.js";
import { program as doctor } from "../../src/commands/doctor.js";
import { program as migrateTo } from "../../src/commands/migrate-to.js";
import { program as restore } from "../../src/commands/restore.js";
import { program as user } from "../../src/commands/user.js";
import { memory } from "../../src/features/memories/get-memory.js";
import { LIMITS } from "../../src/limits.js";
import { searchMemories } from "../../src/features/memories/search/search-memories.js";
import { verifyGraphs } from "../../src/features/memories/index.js";
import { updateMemory } from "../../src/features/memories/update-memory.js";
import { COPY_NAME, moveDatabase, readDatabase, writeDatabase } from "../../src/platform/database/copy-database.js";
import type { Address } from "../../src/platform/database/one-connection.js";
import { acquireServerLock, startEmbeddedPostgres } from "../../src/platform/embedded/index.js";
import { migrate } from "../../src/platform/database/migrations.js";
import { LONG_TRANSACTIONS } from "../../src/platform/database/session-settings.js";
import { databaseOn, onServer } from "../bench/on-server.js";
import { runHere, runProcess } from "../support/commands.js";
import { dataFolder, madeFolder } from "../support/embedded.js";
import { aFolder } from "../support/folder.js";
import { aLink, aMemory, findTitles, manyMemories, memoriesTitled, miscounted } from "../support/memories.js";
import { rowsOf } from "../support/tables.js";
import { aTeam, anInvitee } from "../support/teams.js";
import { endTogether, startTcpProxy } from "../support/tcp-proxy.js";
import { type World, createWorld } from "../support/world.js";

/** Enough for many parts of a stream, which end within rows. */
const MEMORIES = 1_000;

it("restores a backup with the same data in an empty database, which can be used at once", async () => {
  await using source = await fillWorld();
  await using target = await createWorld();
  await empty(target);
  const folder = await aFolder();
  const file = join(folder, "backup.sql.gz");

  const written = await runHere(backup, [file, "--json"], { DATABASE_URL: source.world.databaseUrl });
  const read = await runHere(restore, [file, "--json"], { DATABASE_URL: target.databaseUrl });

  for (const { code, errors } of [written, read]) {
    expect([code, errors]).toEqual([0, expect.stringContaining("  memory: 1,002\n")]);
  }
  const { tables } = JSON.parse(written.output) as { tables: Record<string, number> };
  expect(tables["memory"]).toBe(MEMORIES + 2);
  expect((JSON.parse(read.output) as { tables: object }).tables).toEqual(tables);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await contentOf(target)).toEqual(await contentOf(source.world));
  expect(await miscounted(target)).toEqual([]);
  const ann = await (await target.user()).withKey(source.ann.key);
  expect(await ann.did(memory, { id: source.id })).toMatchObject({ title: "Changed", relationshipsTotal: 1 });
  expect((await ann.did(searchMemories, { query: "changed" })).memories).toHaveLength(1);
  await aMemory(ann, { title: "After the restore" });
  expect(await miscounted(target)).toEqual([]);
});

it("moves everything to another server; refuses a database in use, and a target with users", async () => {
  await using source = await fillWorld(10_000);
  await using full = await fillWorld(1);
  await using target = await createWorld();
  const environment = { DATABASE_URL: source.world.databaseUrl, TARGET_DATABASE_URL: target.databaseUrl };

  await closeConnections(source.world);
  const server = await connect(source.world, "memory-graph-gateway");
  const used = await runHere(migrateTo, [], { ...environment, DIRECT_DATABASE_URL: source.world.databaseUrl });
  await server[Symbol.asyncDispose]();
  await empty(target);
  const there = await runHere(migrateTo, [], { ...environment, TARGET_DATABASE_URL: full.world.databaseUrl });
  const moved = await runHere(migrateTo, ["--json"], environment);
  const wrong = await runHere(migrateTo, ["mysql://there"], environment);

  expect(used.code).toBe(1);
  expect(used.errors).toMatch(
    /in use by memory-graph-gateway at 127\.0\.0\.1\. Stop the service first, .* Then run RECONNECT on PgBouncer's/,
  );
  expect([moved.code, moved.errors]).toEqual([0, expect.stringContaining("  memory: 10,002\n")]);
  expect(JSON.parse(moved.output)).toMatchObject({ tables: { memory: 10_002 } });
  expect([there.code, there.errors]).toEqual([1, expect.stringContaining("not empty")]);
  expect([wrong.code, wrong.errors]).toEqual([2, expect.stringContaining("TARGET_DATABASE_URL")]);
  expect(await contentOf(target)).toEqual(await contentOf(source.world));
});

it("finds a server whose role acts as another one, as after a change of the password, and moves without it", async () => {
  await using target = await createWorld();
  await empty(target);
  const { url, prefix } = inject("databaseServer");
  const name = prefix + randomUUID().replaceAll("-", "");
  const administer = (sql: string) => onServer(url, async (client) => void (await client.query(sql)));
  for (const sql of [
    `CREATE ROLE ${name}`,
    `CREATE ROLE ${name}_2 LOGIN PASSWORD 'hush' IN ROLE ${name}`,
    `ALTER ROLE ${name}_2 SET role = '${name}'`,
    `CREATE DATABASE ${name} OWNER ${name}`,
  ]) {
    await administer(sql);
  }
  onTestFinished(async () => {
    for (const what of [`DATABASE ${name}`, `ROLE ${name}_2`, `ROLE ${name}`]) await administer(`DROP ${what}`);
  });
  const way = Object.assign(new URL(databaseOn(url, name)), { username: `${name}_2`, password: "hush" }).href;
  await migrate(way);
  const environment = { DATABASE_URL: way, TARGET_DATABASE_URL: target.databaseUrl };

  const server = await connect({ databaseUrl: way }, "memory-graph-gateway");
  const used = await runHere(migrateTo, [], environment);
  await server[Symbol.asyncDispose]();
  // Of a hosted PostgreSQL.
  await using _monitor = await connect({ databaseUrl: databaseOn(url, name) }, "a superuser's monitor");
  const moved = await runHere(migrateTo, [], environment);

  expect([used.code, used.errors]).toEqual([1, expect.stringContaining("in use by memory-graph-gateway. Stop")]);
  expect([moved.code, moved.output]).toEqual([0, expect.stringContaining("Copied 0 memories")]);
});

it("restores what comes through a pipe, in parts of any size", async () => {
  await using source = await fillWorld(10);
  await using target = await createWorld();
  await empty(target);
  const folder = await aFolder();
  const file = join(folder, "backup.sql.gz");
  await runHere(backup, [file], { DATABASE_URL: source.world.databaseUrl });
  const pipe = join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);

  const content = await readFile(file);
  const bytes = Array.from(content, (_byte, at) => content.subarray(at, at + 1));
  const [{ code, errors }] = await Promise.all([
    runHere(restore, [pipe], { DATABASE_URL: target.databaseUrl }),
    writeFile(pipe, bytes),
  ]);

  expect([code, errors]).toEqual([0, expect.stringContaining("  memory: ")]);
  expect(await contentOf(target)).toEqual(await contentOf(source.world));
});

it("leaves alone tables of extensions, such as one that PostGIS fills when it is created", async () => {
  await using source = await fillWorld(10);
  await using restored = await createWorld();
  await using moved = await createWorld();
  const file = join(await madeFolder(), "backup.sql.gz");
  await Promise.all([restored, moved].map(empty));
  for (const { database } of [source.world, restored, moved]) {
    await database.pool.query(`CREATE EXTENSION IF NOT EXISTS pg_trgm; CREATE TABLE of_extension (name text);
      INSERT INTO of_extension VALUES (current_database()); ALTER EXTENSION pg_trgm ADD TABLE of_extension`);
  }
  await closeConnections(source.world);
  const environment = { DATABASE_URL: source.world.databaseUrl };

  const saving = await runHere(backup, [file, "--json"], environment);
  const restoring = await runHere(restore, [file], { DATABASE_URL: restored.databaseUrl });
  const moving = await runHere(migrateTo, [moved.databaseUrl], environment);

  expect([saving.code, saving.output]).toEqual([0, expect.not.stringContaining("of_extension")]);
  for (const { code, errors } of [restoring, moving]) expect([code, errors]).toEqual([0, expect.any(String)]);
  expect(restoring.output).toBe(`Restored 12 memories and all else from ${file}.\n`);
  for (const { database, databaseUrl } of [restored, moved]) {
    const { rows } = await database.pool.query("SELECT name FROM of_extension");
    expect(rows).toEqual([{ name: new URL(databaseUrl).pathname.slice(1) }]);
    expect(await database.models.memory.count()).toBe(12);
  }
});

it("refuses a database as its own target, also where its URL is written in another way", async () => {
  await using world = await createWorld();
  const same = new URL(world.databaseUrl);
  same.port ||= "5432";
  same.searchParams.set("application_name", "another");

  const moved = await runHere(migrateTo, [same.href], { DATABASE_URL: world.databaseUrl });

  expect([moved.code, moved.errors]).toEqual([2, expect.stringContaining("The target is this database")]);
});

it("lets nothing start on a moved database until somebody takes it back", async () => {
  await using source = await fillWorld(10);
  await using target = await createWorld();
  const environment = { DATABASE_URL: source.world.databaseUrl, TARGET_DATABASE_URL: target.databaseUrl };
  const show = ["show", "--email", source.ann.email];
  await closeConnections(source.world);
  const { host, pathname } = new URL(target.databaseUrl);

  const untouched = await runHere(migrateTo, ["--take-back"], environment);
  const asJson = await runHere(migrateTo, ["--take-back", "--json"], environment);
  await runHere(migrateTo, [], environment);
  const refused = [await runHere(user, show, environment), await runHere(migrateTo, [], environment)];
  const examined = await runHere(doctor, [], environment);
  const started = await runHere(user, show, { DATABASE_URL: target.databaseUrl });
  const saved = await runHere(backup, [join(await madeFolder(), "old.sql.gz")], environment);
  const takenBack = await runHere(migrateTo, ["--take-back"], environment);
  const again = await runHere(user, show, environment);

  expect(untouched.output).toBe("The data of this database were not moved.\n");
  expect(JSON.parse(asJson.output)).toEqual({ was_moved: false });
  for (const { code, errors } of refused) {
    expect([code, errors]).toEqual([1, expect.stringContaining(`The data were moved to ${host}${pathname} at 20`)]);
    expect(errors).toContain("Set DATABASE_URL to that database.");
  }
  expect(examined.output + examined.errors).toContain(`The data were moved to ${host}${pathname}`);
  expect([started.code, saved.code, takenBack.code, again.code]).toEqual([0, 0, 0, 0]);
  expect(takenBack.output).toBe("The service starts on this database again.\n");
});

it("lets others start while it finds the service running, since it moves nothing then", async () => {
  await using source = await fillWorld(1);
  await using target = await createWorld();
  const environment = { DATABASE_URL: source.world.databaseUrl, TARGET_DATABASE_URL: target.databaseUrl };
  await closeConnections(source.world);
  await using server = await connect(source.world, "memory-graph-gateway");
  const moving = runHere(migrateTo, [], environment);
  const looking = `SELECT FROM pg_stat_activity WHERE datname = current_database()
    AND application_name = '${COPY_NAME}' AND query LIKE '%pg_roles%'`;
  await expect.poll(async () => (await server.query(looking)).rowCount).toBe(1);

  // As every command and every server does at its start.
  const starting = await migrate(source.world.databaseUrl).catch((error: unknown) => error);

  expect(starting).toEqual([]);
  expect((await moving).errors).toContain("in use by memory-graph-gateway");
});

it("lets nobody change or start on the database while it moves, and copies nothing if somebody does", async () => {
  await using source = await fillWorld(10);
  await using target = await createWorld();
  const environment = { DATABASE_URL: source.world.databaseUrl, TARGET_DATABASE_URL: target.databaseUrl };
  await closeConnections(source.world);
  const moving = await heldMove(environment, target);

  const starting = await migrate(source.world.databaseUrl).catch((error: unknown) => error);
  const command = await runHere(user, ["show", "--email", source.ann.email], environment);
  // A server of an earlier version does not check for a move, and stays connected.
  await using earlier = await connect(source.world, "memory-graph-gateway");
  const change = await earlier.query("UPDATE memory SET title = 'Missed'").then(
    () => "changed",
    (error: unknown) => error,
  );
  const refused = await moving.goOn();

  expect(starting).toMatchObject({ message: expect.stringMatching(/^`npm run migrate-to` is moving this database/) });
  expect([command.code, command.errors]).toEqual([1, expect.stringContaining("start again when it has ended")]);
  expect(change).toMatchObject({ code: "55P03" });
  expect([refused.code, refused.errors]).toEqual([1, expect.stringContaining("in use by memory-graph-gateway")]);
  expect(await target.database.models.user.count()).toBe(0);

  await earlier[Symbol.asyncDispose]();
  await closeConnections(source.world);
  const moved = await runHere(migrateTo, [], environment);
  expect([moved.code, await contentOf(target)]).toEqual([0, await contentOf(source.world)]);
});

it("names the source, and copies nothing, if the source is lost at the end", async () => {
  await using source = await fillWorld(10);
  await using target = await createWorld();
  const { databaseUrl } = source.world;
  const byName = new URL(databaseUrl);
  byName.hostname = "localhost";
  await closeConnections(source.world);
  const moving = await heldMove({ DATABASE_URL: byName.href, TARGET_DATABASE_URL: target.databaseUrl }, target);

  const { rowCount } = await source.world.database.pool.query(
    `SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a JOIN pg_locks l USING (pid)
     WHERE datname = current_database() AND application_name = $1 AND l.locktype = 'advisory'`,
    [COPY_NAME],
  );
  const { code, errors } = await moving.goOn();

  expect([rowCount, code]).toEqual([1, 1]);
  expect(errors).toMatch(/\nPostgreSQL at localhost:\d+ cannot be used now: .*\n$/);
  expect(await target.database.models.user.count()).toBe(0);
});

it("keeps what was copied if the disks of both databases are full at the end, and says what to do", async () => {
  await using source = await fillWorld(1);
  await using target = await createWorld();
  await empty(target);
  await migrate(target.databaseUrl);
  await source.world.database.pool.query(`
    CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE 'No space left on device' USING ERRCODE = '53100'; END $$;
    CREATE EVENT TRIGGER refused ON ddl_command_start WHEN TAG IN ('COMMENT') EXECUTE FUNCTION refuse()`);
  await target.database.pool.query(`
    CREATE FUNCTION fit(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$
      BEGIN IF current_query() = 'ANALYZE' THEN RAISE 'No space left on device' USING ERRCODE = '53100'; END IF;
      RETURN $1; END $$;
    CREATE INDEX fits ON memory (fit(title))`);
  await closeConnections(source.world);
  await closeConnections(target);

  const environment = { DATABASE_URL: source.world.databaseUrl, TARGET_DATABASE_URL: target.databaseUrl };
  const { code, errors } = await runHere(migrateTo, [], environment);

  expect(code).toBe(1);
  expect(errors).toMatch(
    /\nEverything was copied\. Start the service with the target .* never again on the old .*: No space left on device\n$/,
  );
  const { rows } = await target.database.pool.query("SELECT count(*)::int AS count FROM memory");
  expect(rows).toEqual([{ count: 3 }]);
});

it("waits for the connections of a server that is just ending", async () => {
  await using source = await createWorld();
  await using target = await createWorld();
  await empty(target);
  await closeConnections(source);
  const server = await connect(source, "memory-graph-gateway");

  const moving = runHere(migrateTo, [], { DATABASE_URL: source.databaseUrl, TARGET_DATABASE_URL: target.databaseUrl });
  const looks = new Set<number>();
  const countLooks = async () => {
    const { rows } = await server.query(`SELECT query_start AS at FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = '${COPY_NAME}' AND query LIKE '%FROM pg_stat_activity%'`);
    for (const { at } of rows as Array<{ at: Date }>) looks.add(at.getTime());
    return looks.size;
  };
  await expect.poll(countLooks, { interval: 10 }).toBeGreaterThan(2);
  await server[Symbol.asyncDispose]();

  expect(await moving).toMatchObject({ code: 0, output: expect.stringContaining("Copied 0 memories") });
});

it("names the target's address if the target cannot be used", async () => {
  await using source = await createWorld();
  for (const wrong of ["postgres://ann:hush@127.0.0.1:1/graph", "postgres://ann:100%ff@127.0.0.1/graph"]) {
    await closeConnections(source);
    const environment = { DATABASE_URL: source.databaseUrl };
    const given = await runHere(migrateTo, [wrong], environment);
    expect([given.code, given.errors]).toEqual([1, expect.stringContaining("the target")]);
    const set = await runHere(migrateTo, [], { ...environment, TARGET_DATABASE_URL: wrong });
    expect([set.code, set.errors]).toEqual([1, expect.stringMatching(/\bTARGET_DATABASE_URL\b/)]);
  }
});

it("moves the embedded database unless a server is running", async () => {
  await using target = await createWorld();
  const environment = { DATA_DIR: await madeFolder(), TARGET_DATABASE_URL: target.databaseUrl, NODE_ENV: "test" };
  const server = await startEmbeddedPostgres({ dataDir: environment.DATA_DIR });
  const lock = await acquireServerLock(server.url, environment.DATA_DIR);

  const used = await runHere(migrateTo, [], environment);
  await lock.release();
  await server.stop();
  const moving = await heldMove(environment, target);
  await using joined = await startEmbeddedPostgres({ dataDir: environment.DATA_DIR });
  const starting = await migrate(joined.url).catch((error: unknown) => error);
  const moved = await moving.goOn();

  expect([used.code, used.errors]).toEqual([
    1,
    expect.stringMatching(/in use by memory-graph server lock at .* missed\.\n$/),
  ]);
  expect(starting).toMatchObject({ message: expect.stringContaining("is moving this database") });
  expect([moved.code, moved.output]).toEqual([0, expect.stringContaining("Copied 0 memories")]);
});

it("backs up a database of an earlier version unchanged, and refuses one without the service's tables", async () => {
  await using source = await fillWorld(10);
  const folder = await aFolder();
  const { pool } = source.world.database;
  const newest = "SELECT max(migration_name) FROM _prisma_migrations";
  await pool.query(`DELETE FROM _prisma_migrations WHERE migration_name = (${newest})`);
  const migrations = async () => (await pool.query("SELECT migration_name FROM _prisma_migrations ORDER BY 1")).rows;
  const before = await migrations();

  const saved = await runHere(backup, [join(folder, "old")], { DATABASE_URL: source.world.databaseUrl });
  const none = await runHere(backup, [join(folder, "none")], { DATA_DIR: dataFolder(), NODE_ENV: "test" });

  expect(saved.code).toBe(0);
  expect(await migrations()).toEqual(before);
  expect([none.code, none.errors]).toEqual([
    1,
    expect.stringContaining("no tables of the service: check DATABASE_URL"),
  ]);
});

it("backs up the database as it was at one moment, whatever is changed meanwhile", async () => {
  await using source = await fillWorld(10);
  await using target = await createWorld();
  const before = await contentOf(source.world);
  // Holds hardly more than the first line, so the tables are read only when it is read.
  const held = new PassThrough({ highWaterMark: 1 });
  const written = writeDatabase(addressOf(source.world), held);
  await once(held, "readable");

  await aMemory(source.ann, { title: "Later" });
  // A server that starts does not wait for the backup.
  expect(await migrate(source.world.databaseUrl, { waits: { ...LIMITS.start, migrationLockMs: 0 } })).toEqual([]);
  // As a migration that writes a table anew. A transaction that began earlier would see no rows in it.
  await using other = await connect(source.world);
  await expect(other.query("ALTER TABLE memory ADD COLUMN rewritten float DEFAULT random()")).rejects.toThrow(
    "lock timeout",
  );
  const [text] = await Promise.all([buffer(held), written]);

  await readDatabase(addressOf(target), Readable.from([text]));
  expect(await contentOf(target)).toEqual(before);
});

it("learns the words that the copied lexicon lacks, as after a change of PostgreSQL's version", async () => {
  await using source = await createWorld();
  await using restored = await createWorld();
  await using moved = await createWorld();
  const ann = await source.user();
  await memoriesTitled(ann, "Added a column", "Adding a column");
  await source.database.pool.query("DELETE FROM lexicon WHERE word IN ('ad', 'add')");
  await Promise.all([restored, moved].map(empty));
  await closeConnections(source);
  const file = join(await madeFolder(), "backup.sql.gz");
  const environment = { DATABASE_URL: source.databaseUrl };

  await runHere(backup, [file], environment);
  const restoring = await runHere(restore, [file], { DATABASE_URL: restored.databaseUrl });
  const moving = await runHere(migrateTo, [moved.databaseUrl], environment);

  for (const { code, errors } of [restoring, moving]) {
    expect([code, errors]).toEqual([0, expect.stringMatching(/All is copied\. Making the words for searching/)]);
  }
  for (const target of [restored, moved]) {
    const copied = await (await target.user()).withKey(ann.key);
    expect((await findTitles(copied, "added")).toSorted()).toEqual(["Added a column", "Adding a column"]);
  }
});

it("backs up a database that is being migrated only before or after a migration", async () => {
  await using world = await createWorld({ fresh: true });
  await empty(world);
  const progress = { isOver: false };
  const migrated = migrate(world.databaseUrl).finally(() => (progress.isOver = true));

  const heads: string[] = [];
  while (!progress.isOver) {
    const target = new PassThrough();
    const written = writeDatabase(addressOf(world), target).catch((error: Error) => {
      target.destroy();
      expect(error.message).toMatch("no tables of the service");
    });
    const [text] = await Promise.all([buffer(target).catch(() => Buffer.alloc(0)), written]);
    heads.push(text.toString().split("\n")[0] ?? "");
  }

  const newest = (await migrated).at(-1);
  expect(heads.filter((head) => head !== "" && !head.endsWith(` ${newest}`))).toEqual([]);
});

it("ends and disconnects when its target is closed or cannot be used", async () => {
  await using source = await fillWorld(MEMORIES);
  await using used = await fillWorld(1);
  const closed = new PassThrough().destroy();
  const breaking = new PassThrough({ highWaterMark: 1 });
  const from = addressOf(source.world);

  await expect(writeDatabase(from, closed)).rejects.toThrow("The target was closed.");
  const written = writeDatabase(from, breaking);
  await once(breaking, "readable");
  breaking.destroy(new Error("a broken pipe"));
  await expect(written).rejects.toThrow("a broken pipe");
  const moved = moveDatabase({ from, to: addressOf(used.world), tell: () => {}, beforeCommit: async () => {} });
  await expect(moved).rejects.toThrow("is not empty");

  const copying = { text: "SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1" };
  await expect
    .poll(async () => (await source.world.database.pool.query({ ...copying, values: [COPY_NAME] })).rowCount)
    .toBe(0);
});

it("leaves the target unlocked and empty when the source is lost during a move", async () => {
  await using source = await fillWorld(MEMORIES);
  await using target = await createWorld();
  await using holder = await connect(target);
  // The source is read no further than a buffer, so that it is lost before its end.
  await holder.query("BEGIN; LOCK TABLE memory IN ACCESS EXCLUSIVE MODE");
  const ends = { from: addressOf(source.world), to: addressOf(target) };
  const moved = moveDatabase({ ...ends, tell: () => {}, beforeCommit: async () => {} });
  const refused = expect(moved).rejects.toThrow();
  const losing = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = $1 AND query LIKE 'COPY %'`;
  const lose = async () => (await source.world.database.pool.query(losing, [COPY_NAME])).rowCount;
  await expect.poll(lose).toBe(1);

  await holder.query("ROLLBACK");

  await refused;
  const copying = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1";
  await expect.poll(async () => (await target.database.pool.query(copying, [COPY_NAME])).rowCount).toBe(0);
  expect(await target.database.models.memory.count()).toBe(0);
});

it("says that the connection broke when its target goes away during a move, and blames no address", async () => {
  await using source = await fillWorld(10);
  await using target = await createWorld();
  await using proxy = await startTcpProxy(target.databaseUrl, (near, far) => {
    near.pipe(far).pipe(near);
    endTogether(near, far);
  });
  await using holder = await connect(target);
  await holder.query("BEGIN; LOCK TABLE memory IN ACCESS EXCLUSIVE MODE");
  const to = { ...addressOf(target), url: proxy.url };
  const moved = moveDatabase({ from: addressOf(source.world), to, tell: () => {}, beforeCommit: async () => {} });
  const refused = expect(moved).rejects.toThrow(/cannot be used now: .* Connections to the database broke/);
  const waiting = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
  await expect.poll(async () => (await target.database.pool.query(waiting)).rowCount).toBe(1);

  proxy.cut();

  await refused;
});

it("takes its time where databases end slow statements and idle transactions", async () => {
  await using source = await fillWorld(10);
  await using target = await createWorld();
  for (const { database, databaseUrl } of [source.world, target]) {
    const name = new URL(databaseUrl).pathname.slice(1);
    // PostgreSQL has the last one from 17 on.
    const { rows } = await database.pool.query<{ setting: string }>(
      `SELECT name AS setting FROM pg_settings
       WHERE name IN ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`,
    );
    for (const { setting } of rows) await database.pool.query(`ALTER DATABASE "${name}" SET ${setting} = '100ms'`);
  }
  await using holder = await connect(target);
  await holder.query(`SET idle_in_transaction_session_timeout = 0; ${LONG_TRANSACTIONS}`);
  await holder.query("BEGIN; LOCK TABLE memory IN ACCESS EXCLUSIVE MODE");
  const ends = { from: addressOf(source.world), to: addressOf(target) };
  const moved = moveDatabase({ ...ends, tell: () => {}, beforeCommit: async () => {} });
  const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
    AND query_start < clock_timestamp() - interval '300ms'`;
  const ended = moved.then(() => Promise.reject(new Error("The move did not wait.")));
  await Promise.race([ended, expect.poll(async () => (await target.database.pool.query(waiting)).rowCount).toBe(1)]);

  // The source is still locked.
  await using other = await connect(source.world);
  await other.query(`SET statement_timeout = 0; ${LONG_TRANSACTIONS}`);
  await expect(other.query("UPDATE memory SET title = 'Missed'")).rejects.toThrow("lock timeout");
  await holder.query("ROLLBACK");

  expect((await moved)["memory"]).toBe(12);
});

it("gives up on a source without lines, whatever its size", async () => {
  await using target = await createWorld();
  let read = 0;
  const zeros = Readable.from(
    (function* () {
      while (read++ < 1_000) yield Buffer.alloc(65_536);
      throw new Error("Everything was read.");
    })(),
  );

  await expect(readDatabase(addressOf(target), zeros)).rejects.toThrow(
    "This is no backup of this service: give a file that `npm run backup` wrote.",
  );
  expect(read).toBeLessThan(100);
});

it("verifies a target's certificate by each mode that asks for TLS, without a warning of several lines", async () => {
  await using source = await fillWorld(1);
  await using target = await createWorld();
  await closeConnections(source.world);

  const address = new URL(target.databaseUrl);
  address.searchParams.set("sslmode", "require");
  const { code, errors } = await runProcess("migrate-to", [address.href], { DATABASE_URL: source.world.databaseUrl });

  expect([code, errors]).toEqual([1, expect.stringMatching(/^[^\n]*(offers no TLS|is not trusted)[^\n]*\n$/)]);
});

it("refuses a file that is cut, changed, of another schema or no backup, and a target with any row", async () => {
  await using source = await fillWorld(10);
  await using target = await createWorld();
  const folder = await aFolder();
  const sink = new PassThrough();
  const [whole] = await Promise.all([buffer(sink), writeDatabase(addressOf(source.world), sink)]);
  const text = whole.toString();
  const cases = {
    "cut in a table": text.slice(0, text.indexOf('COPY "memory"') + 300),
    "cut between tables": text.slice(0, text.indexOf('COPY "team"')),
    "without its end": text.slice(0, text.lastIndexOf("-- end")),
    "with a row less": text.replace(/(COPY "api_key"[^\n]*\n)[^\n]*\n/, "$1"),
    "of another schema": text.replace(/schema \w+/, "schema 20200101000000_other"),
    "of other statements": text.replace(/COPY "team" [^\n]*/, "DROP TABLE team;"),
    "with another one behind it": text + text,
    "with a long line behind it": text + "x".repeat(100_000),
    "of something else": "SELECT 1;\n",
    empty: "",
  };

  for (const [name, content] of Object.entries(cases)) {
    await expect(readDatabase(addressOf(target), Readable.from([Buffer.from(content)])), name).rejects.toThrow(
      /damaged|too early|no backup|into an empty database/,
    );
  }
  // As where a server with embeddings has started before.
  await target.database.models.embeddingModel.create({ data: { model: "one" } });
  await expect(readDatabase(addressOf(target), Readable.from([whole]))).rejects.toThrow("database is not empty");
  const file = join(folder, "plain");
  await writeFile(file, text);
  const plain = await runHere(restore, [file], { DATABASE_URL: target.databaseUrl });
  const inFolder = await runHere(restore, [folder], { DATABASE_URL: target.databaseUrl });
  const absent = await runHere(restore, [join(folder, "none")], { DATA_DIR: join(folder, "data") });

  const [packed, unmigrated] = [join(folder, "packed"), join(folder, "unmigrated")];
  await writeFile(packed, gzipSync(cases["of another schema"]));
  const other = await runHere(restore, [packed], { DATA_DIR: unmigrated });

  expect([other.code, other.errors]).toEqual([1, expect.stringContaining("into an empty database")]);
  expect(existsSync(unmigrated), "A database was made, though the file cannot be restored.").toBe(false);
  expect([plain.code, plain.errors]).toEqual([1, expect.stringContaining("is damaged or no backup")]);
  expect([inFolder.code, inFolder.errors]).toEqual([1, "A folder cannot be read as a file: name the file.\n"]);
  expect([absent.code, absent.errors]).toEqual([1, expect.stringContaining("ENOENT")]);
  expect(existsSync(join(folder, "data"))).toBe(false);
  expect(await readFile(file, "utf8")).toBe(text);
  expect(await target.database.models.user.count()).toBe(0);
});

/** A move that is stopped halfway, waiting for a locked table of the target, until it is released. */
async function heldMove(environment: Record<string, string>, target: World) {
  const holder = await connect(target);
  await holder.query("BEGIN; LOCK TABLE memory IN SHARE MODE");
  const moved = runProcess("migrate-to", [], environment);
  const ended = moved.then(({ errors }) => Promise.reject(new Error(`The move did not wait: ${errors}`)));
  await Promise.race([ended, expect.poll(() => waitersAt(target)).toBe(1)]);
  return {
    async goOn() {
      await holder[Symbol.asyncDispose]();
      return moved;
    },
  };
}

async function connect({ databaseUrl }: Pick<World, "databaseUrl">, name = "a test") {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: name, lock_timeout: 300 });
  client.on("error", () => {});
  await client.connect();
  return { query: (sql: string) => client.query(sql), [Symbol.asyncDispose]: () => client.end() };
}

async function waitersAt({ database }: World): Promise<number> {
  const { rowCount } = await database.pool.query(
    "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
  );
  return rowCount ?? 0;
}

/** Leaves a database as `CREATE DATABASE` makes it. */
const empty = async ({ database }: World) =>
  void (await database.pool.query("DROP SCHEMA public CASCADE; CREATE SCHEMA public"));

const addressOf = ({ databaseUrl: url }: World): Address => ({ url, variable: "DATABASE_URL" });

/** A world with rows in most tables. */
async function fillWorld(count = MEMORIES) {
  const world = await createWorld();
  const staff = await aTeam(world);
  await anInvitee(world, staff);
  const ann = staff.owner;
  await manyMemories(world, ann, count, "A line\nwith a tab\tand \\. and\n\\.\nends.");
  for await (const _ of verifyGraphs(world.database, { repair: true })) continue;
  const { id } = await aMemory(ann, { title: "First", context: { project_path: "/here" } });
  const { id: other } = await aMemory(ann, { title: "Second" });
  await ann.did(updateMemory, { id, title: "Changed" });
  await aLink(ann, { id }, { id: other });
  return { world, ann, id, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

/** On a connection of its own: the world's may have been closed. */
async function contentOf({ databaseUrl }: World): Promise<string[]> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  const rows = await rowsOf(client);
  await client.end();
  return rows;
}

/** Closes all connections to the world's database; its pools open new ones when they need them. */
async function closeConnections({ databaseUrl }: World): Promise<void> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  await client.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
  );
  await client.end();
}
