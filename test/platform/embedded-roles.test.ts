import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startEmbeddedPostgres } from "../../src/platform/embedded/index.js";
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

it("gives the service's role rights in its own database only", async () => {
  const dataDir = dataFolder();
  await using postgres = await startEmbeddedPostgres({ dataDir });
  await migrate(postgres.url);
  await query(postgres.url, THINGS);

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

/** `insufficient_privilege`, or the other code that PostgreSQL uses for untrusted extensions and some more. */
const REFUSED = expect.stringMatching(/^(42501|0A000)$/) as string;

it("finishes the roles when a process ended before their last steps, also for two processes at once", async () => {
  const dataDir = dataFolder();
  const first = await startEmbeddedPostgres({ dataDir });
  await migrate(first.url);
  await query(first.url, THINGS);
  await query(await first.administratorUrl(), "ALTER ROLE memory_graph NOLOGIN");
  await first.stop();

  const [one, two] = await Promise.all([startEmbeddedPostgres({ dataDir }), startEmbeddedPostgres({ dataDir })]);
  expect(await query(one.url, "SELECT text, mood FROM note")).toEqual([{ text: "kept", mood: "glad" }]);
  expect(await query(two.url, OF_OTHERS)).toEqual([]);
  await two.stop();
  await one.stop();
  expect(readdirSync(join(dataDir, "postgres")).sort()).toEqual(["admin-password", "cluster", "password"]);
});
