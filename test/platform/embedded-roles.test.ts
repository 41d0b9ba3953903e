import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, describe, it } from "vitest";
import { startEmbeddedPostgres } from "../../src/platform/embedded/index.js";
import { openCluster } from "../../src/platform/embedded/cluster.js";
import { serviceAddress } from "../../src/platform/embedded/connection.js";
import { halt, launch } from "../../src/platform/embedded/postmaster.js";
import { PLACE, prepareBinaries, runProgram } from "../../src/platform/embedded/programs.js";
import { rightsFor } from "../../src/platform/embedded/rights.js";
import { migrate } from "../../src/platform/database/migrations.js";
import { databaseOn } from "../bench/on-server.js";
import { dataFolder, query } from "../support/embedded.js";

/** What only a superuser, or a role with more rights than ours, may do. */
const FORBIDDEN = [
  "COPY (SELECT 1) TO PROGRAM 'true'",
  "CREATE TEMP TABLE got (line text); COPY got FROM PROGRAM 'id'",
  "CREATE TEMP TABLE got (line text); COPY got FROM '/etc/passwd'",
  "COPY (SELECT 1) TO '/tmp/written-by-the-service'",
  "SELECT pg_read_file('/etc/passwd')",
  "SELECT pg_read_binary_file('PG_VERSION')",
  "SELECT pg_ls_dir('.')",
  "SELECT pg_stat_file('PG_VERSION')",
  "SELECT pg_ls_logdir()",
  "SELECT lo_import('/etc/passwd')",
  "SELECT lo_export(lo_from_bytea(0, 'x'), '/tmp/written-by-the-service')",
  "SELECT * FROM pg_authid",
  "SELECT pg_reload_conf()",
  "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'memory_graph_admin'",
  "ALTER SYSTEM SET work_mem = '1GB'",
  "ALTER ROLE memory_graph SUPERUSER",
  "ALTER ROLE memory_graph_admin PASSWORD 'mine'",
  "CREATE ROLE another",
  "CREATE DATABASE another",
  "ALTER DATABASE postgres RENAME TO another",
  "SET ROLE memory_graph_admin",
  "SET SESSION AUTHORIZATION memory_graph_admin",
  "GRANT pg_execute_server_program TO memory_graph",
  "CREATE EXTENSION file_fdw",
  "CREATE EXTENSION plpython3u",
  "CREATE FUNCTION another() RETURNS int LANGUAGE c AS 'libc.so.6', 'getpid'",
  "CREATE FUNCTION another() RETURNS int LANGUAGE internal AS 'pg_backend_pid'",
  "LOAD '/tmp/another.so'",
  "SET session_preload_libraries = 'another'",
  "CREATE EVENT TRIGGER another ON ddl_command_start EXECUTE FUNCTION pg_notify()",
  "CREATE SUBSCRIPTION another CONNECTION 'host=127.0.0.1' PUBLICATION another",
  "SELECT pg_create_logical_replication_slot('another', 'pgoutput')",
  "UPDATE pg_extension SET extowner = 10",
];

/** Kinds of objects that migrations do not create yet, but later ones might. */
const THINGS = `
  CREATE TYPE mood AS ENUM ('glad', 'sad');
  CREATE TYPE pair AS (one int, other int);
  CREATE DOMAIN positive AS int CHECK (VALUE > 0);
  CREATE TABLE note (id serial PRIMARY KEY, number int GENERATED ALWAYS AS IDENTITY, text text, mood mood);
  INSERT INTO note (text, mood) VALUES ('kept', 'glad');
  CREATE TABLE part (id int) PARTITION BY RANGE (id);
  CREATE TABLE part_one PARTITION OF part FOR VALUES FROM (0) TO (10);
  CREATE SEQUENCE "odd ""name";
  CREATE VIEW notes AS SELECT text FROM note;
  CREATE MATERIALIZED VIEW counted AS SELECT count(*) FROM note;
  CREATE SCHEMA "Other";
  CREATE FUNCTION "Other".twice(int) RETURNS int LANGUAGE sql AS 'SELECT $1 * 2';
  CREATE PROCEDURE nothing() LANGUAGE plpgsql AS 'BEGIN END';
  CREATE AGGREGATE total(int) (SFUNC = int4pl, STYPE = int);
  CREATE STATISTICS related ON text, mood FROM note;
  CREATE TEXT SEARCH CONFIGURATION plain (COPY = simple);
  CREATE EXTENSION IF NOT EXISTS unaccent;`;

/** Objects in the database that were not there at its creation and belong to another role. */
const OF_OTHERS = `
  SELECT kind, name FROM (
    SELECT 'relation' AS kind, relname AS name, 'pg_class'::regclass AS class, oid, relowner AS owner FROM pg_class WHERE relnamespace <> 99
    UNION ALL SELECT 'type', typname, 'pg_type'::regclass, oid, typowner FROM pg_type WHERE typnamespace <> 99
    UNION ALL SELECT 'function', proname, 'pg_proc'::regclass, oid, proowner FROM pg_proc
    UNION ALL SELECT 'schema', nspname, 'pg_namespace'::regclass, oid, nspowner FROM pg_namespace
    UNION ALL SELECT 'configuration', cfgname, 'pg_ts_config'::regclass, oid, cfgowner FROM pg_ts_config
    UNION ALL SELECT 'statistics', stxname, 'pg_statistic_ext'::regclass, oid, stxowner FROM pg_statistic_ext
    UNION ALL SELECT 'extension', extname, 'pg_extension'::regclass, oid, extowner FROM pg_extension
  ) AS thing
  WHERE oid >= 16384 AND owner <> 'memory_graph'::regrole
    AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = class AND objid = thing.oid AND deptype = 'e')`;

describe.each([
  ["made by this version", async () => {}],
  ["made by an earlier version, where it was the superuser", makeEarlierCluster],
])("the role of the service, in a data folder %s", (_name, prepare) => {
  it("has rights in its own database only", async () => {
    const dataDir = dataFolder();
    await prepare(dataDir);
    await using postgres = await startEmbeddedPostgres({ dataDir });
    await migrate(postgres.url);
    if (prepare !== makeEarlierCluster) await query(postgres.url, THINGS);

    expect(await query(postgres.url, "SELECT text, mood FROM note")).toEqual([{ text: "kept", mood: "glad" }]);
    expect(await query(postgres.url, OF_OTHERS)).toEqual([]);
    await query(postgres.url, "ALTER TABLE note ADD added int; DROP VIEW notes; ALTER EXTENSION unaccent UPDATE");

    const attributes = "rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls";
    const roles = await query(postgres.url, `SELECT ${attributes} FROM pg_roles WHERE rolname = current_user`);
    expect(Object.values(roles[0] ?? {})).toEqual([false, false, false, false, false]);
    expect(await query(postgres.url, "SELECT FROM pg_auth_members WHERE member = current_user::regrole")).toEqual([]);
    for (const statement of FORBIDDEN) {
      await expect(query(postgres.url, statement), statement).rejects.toMatchObject({ code: REFUSED });
    }
    for (const name of ["postgres", "template1"]) {
      await expect(query(databaseOn(postgres.url, name), "SELECT")).rejects.toMatchObject({ code: "42501" });
    }
  });
});

/** `insufficient_privilege`, or the other code that PostgreSQL uses for untrusted extensions and some more. */
const REFUSED = expect.stringMatching(/^(42501|0A000)$/) as string;

describe("a data folder of an earlier version", () => {
  it("is upgraded once when two processes start at the same time, and again after an interrupted upgrade", async () => {
    const dataDir = dataFolder();
    await makeEarlierCluster(dataDir);
    const [one, two] = await Promise.all([startEmbeddedPostgres({ dataDir }), startEmbeddedPostgres({ dataDir })]);
    const administrator = await one.administratorUrl();
    expect(await query(two.url, "SELECT text FROM note")).toEqual([{ text: "kept" }]);
    expect(readdirSync(join(dataDir, "postgres")).sort()).toEqual(["admin-password", "cluster", "password"]);
    await two.stop();

    // As if the upgrade had been interrupted before its last steps.
    const inService = databaseOn(administrator, "memory_graph");
    await query(inService, "REASSIGN OWNED BY memory_graph TO memory_graph_admin");
    await query(administrator, "ALTER ROLE memory_graph NOLOGIN");
    await one.stop();

    await using postgres = await startEmbeddedPostgres({ dataDir });
    expect(await query(postgres.url, "SELECT text FROM note")).toEqual([{ text: "kept" }]);
    expect(await query(postgres.url, OF_OTHERS)).toEqual([]);
  });
});

/** As earlier versions made it: the bootstrap superuser is the service's role, and there is one password. */
async function makeEarlierCluster(dataDir: string): Promise<void> {
  const folder = join(dataDir, "postgres");
  const binaries = await prepareBinaries();
  mkdirSync(join(folder, "cluster"), { recursive: true });
  writeFileSync(join(folder, "password"), randomBytes(24).toString("hex"), { mode: 0o600 });
  chmodSync(folder, 0o700);
  const draft = { folder, binaries, rights: await rightsFor(folder, binaries) };
  const options = ["--username=memory_graph", "--pwfile=../password", "--auth=scram-sha-256", "--encoding=UTF8"];
  await runProgram(draft, "initdb", [`--pgdata=${PLACE}`, "--locale=C.UTF-8", ...options]);
  const home = await openCluster(folder, binaries);
  const url = await serviceAddress(home, await launch(home, {}));
  await query(databaseOn(url, "postgres"), "CREATE DATABASE memory_graph");
  await migrate(url);
  await query(url, THINGS);
  await halt(home);
}
