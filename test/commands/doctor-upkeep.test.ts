import { randomUUID } from "node:crypto";
import pg from "pg";
import { expect, inject, it, onTestFinished } from "vitest";
import { BOUNDS, type Bounds, assertMaintained } from "../../src/commands/doctor/upkeep.js";
import { LIMITS } from "../../src/limits.js";
import { onConnection } from "../../src/platform/database/one-connection.js";
import { databaseOn, onServer } from "../bench/on-server.js";
import { examine } from "../support/doctor.js";
import { lockMemories, waitingForLocks } from "../support/locks.js";
import { aMemory, findTitles, memoriesTitled } from "../support/memories.js";
import { reportCounts } from "../support/rows-read.js";
import { createWorld } from "../support/world.js";

it("says which table is bloated, which has no statistics, and why", async () => {
  // Other tests leave dead rows in a database that is used again.
  await using world = await createWorld({ fresh: true });
  const client = new pg.Client(world.databaseUrl);
  await client.connect();
  const run = async (text: string) => {
    await client.query(text);
    await reportCounts(client);
  };
  const said = async () => (await examine({ DATABASE_URL: world.databaseUrl })).by.get("database")?.says;
  await run("ALTER TABLE audit_entry SET (autovacuum_enabled = false)");

  await run(`INSERT INTO audit_entry (id, door, action, detail)
    SELECT gen_random_uuid(), 'rest', 'createTeam', repeat('x', 40) FROM generate_series(1, 200000)`);
  await expect.poll(said).toMatch(/audit_entry \(200000 rows\) has no statistics.*ANALYZE audit_entry/);
  expect(await said()).toMatch(/Autovacuum is off/);
  await run("ANALYZE audit_entry");
  await expect.poll(said).toMatch(/^PostgreSQL/);
  await run("DELETE FROM audit_entry");
  await expect.poll(said).toMatch(/audit_entry has 200000 dead rows beside 0 live ones/);
  await run("VACUUM audit_entry");
  await expect.poll(said).toMatch(/^PostgreSQL/);
  await client.end();
});

it("names who blocks statements, who has a transaction open for long, and when connections run out", async () => {
  await using world = await createWorld({ fresh: true });
  await using lock = await lockMemories(world);
  const client = new pg.Client(world.databaseUrl);
  await client.connect();
  const problemsWith = (bounds: Partial<Bounds>) =>
    assertMaintained(client, { ...BOUNDS, ...bounds }).then(
      () => "",
      ({ message }: Error) => message,
    );
  const soon = { blockingSeconds: 0 };
  expect(await problemsWith(soon)).toBe("");
  const reading = world.database.models.memory.count().catch(() => {});
  await expect.poll(() => lock.waiting()).toBe(1);

  expect(await problemsWith(soon)).toMatch(
    /^Process \d+ \(.*, idle in transaction\) has had a transaction open for \d+ s, and blocks others \(\d+\):/,
  );
  expect(await problemsWith({})).toBe("");
  expect(await problemsWith({ openSeconds: 0 })).toMatch(/idle in transaction\) has had .* open for \d+ s:/);
  expect(await problemsWith({ connectionsShare: 0 })).toMatch(/^\d+ of PostgreSQL's \d+ connections/);
  await lock.release();
  await reading;
  await client.end();
});

it("says how many more problems of a kind there are than it names", async () => {
  await using world = await createWorld({ fresh: true });
  const clients = Array.from({ length: 5 }, () => new pg.Client(world.databaseUrl));
  for (const client of clients) await client.connect();
  const [examining, ...open] = clients;
  for (const client of open) await client.query("BEGIN; SELECT 1");
  // PostgreSQL prepares no transactions, as it is set by default.
  await examining?.query(`CREATE SCHEMA shown; SET search_path = shown, public, pg_catalog;
    CREATE VIEW pg_prepared_xacts AS
    SELECT 'lost' AS gid, current_database() AS database, now() - interval '1 h' AS prepared`);

  const kept = examining && assertMaintained(examining, { ...BOUNDS, openSeconds: 0 });

  await expect(kept).rejects.toThrow(
    /^(Process [^:]*: it keeps locks, and dead rows\. SELECT pg_terminate_backend\(\d+\) ends it\. ){3}More of this kind, named once these are solved: 1\. The prepared transaction 'lost' is open since/,
  );
  for (const client of clients) await client.end();
});

it("counts connections and names who blocks a statement, although sessions of other roles are hidden", async () => {
  await using world = await createWorld({ fresh: true });
  const { pool } = world.database;
  const role = `ordinary_${randomUUID().slice(0, 8)}`;
  await pool.query(`CREATE ROLE ${role} LOGIN PASSWORD 'hush'; GRANT SELECT ON memory TO ${role}`);
  onTestFinished(() =>
    onServer(inject("databaseServer").url, async (server) => void (await server.query(`DROP ROLE ${role}`))),
  );
  const url = Object.assign(new URL(world.databaseUrl), { username: role, password: "hush" }).href;
  await using lock = await lockMemories(world);
  const clients = [url, url, world.databaseUrl, world.databaseUrl].map((each) => new pg.Client(each));
  const [reader, client, second, third] = clients as [pg.Client, pg.Client, pg.Client, pg.Client];
  for (const each of clients) await each.connect();
  // As the service, whose statements give up long before anybody has blocked them for 20 s.
  const statement = `SET lock_timeout = ${LIMITS.database.lockWaitMs}; SELECT count(*) FROM memory`;
  const read = (): Promise<unknown> =>
    reader.query(statement).catch((error: { code?: string }) => (error.code === "55P03" ? read() : undefined));
  const reading = read();

  const said = () => assertMaintained(client).then(String, ({ message }: Error) => message);
  await expect.poll(said).toMatch(/^Process \d+ \(.*state not visible\) blocks others \(1\):/);
  // Who comes later waits behind this one, too, which is not the cause.
  const locking = second.query("BEGIN; LOCK TABLE memory; COMMIT");
  await expect.poll(() => lock.waiting()).toBe(2);
  const waiting = third.query("SELECT count(*) FROM memory");
  const long = `SELECT FROM pg_locks JOIN pg_database d ON d.oid = database WHERE datname = current_database()
    AND NOT granted AND relation = 'memory'::regclass AND mode = 'AccessShareLock'
    AND waitstart < clock_timestamp() - interval '${BOUNDS.waitingSeconds} s'`;
  await expect.poll(async () => (await pool.query(long)).rowCount).toBeGreaterThan(1);
  // It sees that sessions of others wait: all see all locks.
  expect(await said()).toMatch(
    /^Process \d+ \(.*state not visible\) blocks others \([2-9]\): [^:]* ends it, run as \w+ or a superuser\.$/,
  );
  await lock.release();
  await Promise.all([reading, locking, waiting]);
  const used = assertMaintained(client, { ...BOUNDS, connectionsShare: 0 });
  await expect(used).rejects.toThrow(/^([3-9]|\d{2,}) of PostgreSQL's/);
  await Promise.all(clients.map((each) => each.end()));
  await pool.query(`DROP OWNED BY ${role}`);
});

it("names a replication slot that keeps the log of changes for nobody", async () => {
  await using world = await createWorld();
  const { pool } = world.database;
  const name = `unread_${randomUUID().replaceAll("-", "")}`;
  await pool.query("SELECT pg_create_physical_replication_slot($1, true)", [name]);
  try {
    const kept = onConnection({ url: world.databaseUrl, variable: "DATABASE_URL" }, {}, (client) =>
      assertMaintained(client, { ...BOUNDS, keptBytes: -1 }),
    );
    await expect(kept).rejects.toThrow(`The replication slot ${name}`);
  } finally {
    await pool.query("SELECT pg_drop_replication_slot($1)", [name]);
  }
});

it("says that the extension for vectors is of a version that may damage its indexes", async () => {
  await using world = await createWorld({ fresh: true });
  const said = (version: string) =>
    onConnection({ url: world.databaseUrl, variable: "DATABASE_URL" }, {}, async (client) => {
      // The extension itself is in few places.
      await client.query(`CREATE SCHEMA IF NOT EXISTS shown; SET search_path = shown, public, pg_catalog;
        CREATE OR REPLACE VIEW pg_extension AS SELECT 'vector' AS extname, '${version}' AS extversion`);
      return assertMaintained(client).then(
        () => "",
        ({ message }: Error) => message,
      );
    });

  for (const version of ["0.7.0", "0.8.1", "0.8.3"]) {
    expect(await said(version)).toMatch(
      new RegExp(String.raw`^The extension vector ${version} .* 0\.8\.4 .*ALTER EXTENSION vector UPDATE.*REINDEX`),
    );
  }
  for (const version of ["0.8.4", "0.8.10", "0.10.0", "1.0", "unknown"]) expect(await said(version)).toBe("");
});

it("says that the locale has changed since the indexes were made, as by an upgrade of the system", async () => {
  const { url, prefix } = inject("databaseServer");
  const name = prefix + randomUUID().replaceAll("-", "");
  const form = "TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C'";
  onTestFinished(() => onServer(url, async (server) => void (await server.query(`DROP DATABASE ${name}`))));
  await onServer(url, async (server) => void (await server.query(`CREATE DATABASE ${name} ${form}`)));
  await onServer(databaseOn(url, name), async (client) => {
    await assertMaintained(client);
    await client.query("UPDATE pg_database SET datcollversion = '1.0' WHERE datname = current_database()");

    await expect(assertMaintained(client)).rejects.toThrow(
      new RegExp(
        `database ${name} is of version [\\d.]+ now, and was of 1\\.0, .* Run REINDEX DATABASE ${name}, then ALTER`,
      ),
    );
  });
});

const TITLES = ["Added a column", "Adding a column", "Nothing"];

/** Lets a database stem words in another way, as a major version does from which it is upgraded. */
async function withOtherStems(client: pg.Client, work: () => Promise<unknown>): Promise<void> {
  const stemBy = (dictionary: string) =>
    client.query(`ALTER TEXT SEARCH CONFIGURATION pg_catalog.english ALTER MAPPING FOR asciiword WITH ${dictionary}`);
  await stemBy("pg_catalog.simple");
  await work();
  await stemBy("english_stem");
}

it("says that memories are stored with words of another version, which a procedure makes again", async () => {
  await using world = await createWorld({ fresh: true });
  const ann = await world.user();
  await onServer(world.databaseUrl, async (client) => {
    await withOtherStems(client, () => memoriesTitled(ann, ...TITLES));
    await client.query("UPDATE lexicon SET documents = 1");
    const rows = async () =>
      (await client.query("SELECT to_jsonb(m) - 'search' AS row FROM memory m ORDER BY id")).rows;
    const before = await rows();
    expect(await findTitles(ann, "added")).toEqual(TITLES.slice(0, 1));
    await expect(assertMaintained(client)).rejects.toThrow(
      /so searches miss some: run SET statement_timeout = 0; CALL refresh_search\(\); in psql/,
    );

    await client.query("CALL refresh_search()");

    await assertMaintained(client);
    expect((await findTitles(ann, "added")).toSorted()).toEqual(["Added a column", "Adding a column"]);
    expect(await rows()).toEqual(before);
  });
});

it("says so too if only the lexicon lacks these words, as after a backup of another version was restored", async () => {
  await using world = await createWorld({ fresh: true });
  const ann = await world.user();
  await memoriesTitled(ann, ...TITLES);
  await onServer(world.databaseUrl, async (client) => {
    await client.query("UPDATE lexicon SET documents = 1");
    await client.query("DELETE FROM lexicon WHERE word IN ('ad', 'add')");
    expect(await findTitles(ann, "added")).toEqual(TITLES.slice(0, 1));
    await expect(assertMaintained(client)).rejects.toThrow(/CALL refresh_search\(\)/);

    await client.query("CALL refresh_search()");

    await assertMaintained(client);
    expect((await findTitles(ann, "added")).toSorted()).toEqual(["Added a column", "Adding a column"]);
  });
});

it("learns words for searching again that are just being forgotten", async () => {
  await using world = await createWorld({ fresh: true });
  const ann = await world.user();
  await onServer(world.databaseUrl, async (client) => {
    await memoriesTitled(ann, "Adding a column");
    await client.query("UPDATE lexicon SET documents = 1");
    // As `forget_words_of` does, which has seen no memory with them.
    await client.query("BEGIN; SELECT FROM graph_root FOR UPDATE; DELETE FROM lexicon");
    const refreshing = onServer(world.databaseUrl, async (other) => void (await other.query("CALL refresh_search()")));
    await expect.poll(() => waitingForLocks(world)).toBe(1);
    await client.query("COMMIT");
    await refreshing;
    await assertMaintained(client);
  });
});

it("looks for words of another version in some pages only, whatever lies before, and in large memories, too", async () => {
  await using world = await createWorld({ fresh: true });
  const ann = await world.user();
  await onServer(world.databaseUrl, async (client) => {
    await client.query("ALTER TABLE memory SET (autovacuum_enabled = false)");
    await withOtherStems(client, () =>
      aMemory(ann, { title: "Adding a column", content: "A long text. ".repeat(500) }),
    );
    await expect(assertMaintained(client)).rejects.toThrow(/so searches miss some/);
    await client.query("CALL refresh_search()");
    await assertMaintained(client);

    await client.query("UPDATE memory SET content = 'A short one.'");
    const { rows: columns } = await client.query<{ names: string }>(
      `SELECT string_agg(attname, ', ') AS names FROM pg_attribute WHERE attrelid = 'memory'::regclass
         AND attnum > 0 AND attgenerated = '' AND NOT attisdropped AND attname NOT IN ('id', 'client_id')`,
    );
    const names = String(columns[0]?.names);
    await client.query(
      `INSERT INTO memory (id, ${names}) SELECT gen_random_uuid(), ${names} FROM memory, generate_series(1, 12000)`,
    );
    await client.query("DELETE FROM memory");
    const pages: number[] = [];
    // Of several calls, since one may also read the catalogue, after another session has changed something there.
    for (let call = 0; call < 3; call++) {
      const { rows } = await client.query<{ "QUERY PLAN": [{ Plan: Record<string, number> }] }>(
        "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT is_search_outdated(10)",
      );
      const plan = rows[0]?.["QUERY PLAN"][0].Plan;
      pages.push(Number(plan?.["Shared Hit Blocks"]) + Number(plan?.["Shared Read Blocks"]));
    }
    const { rows: sizes } = await client.query<{ pages: number }>(
      "SELECT pg_relation_size('memory')::int / 8192 AS pages",
    );
    expect(sizes[0]?.pages).toBeGreaterThan(400);
    expect(Math.min(...pages)).toBeLessThan(100);
  });
});
