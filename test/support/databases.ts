import { randomUUID } from "node:crypto";
import { inject } from "vitest";
import { type OpenDatabase, openDatabase } from "../../src/platform/database/database.js";
import { databaseOn, onServer } from "../bench/on-server.js";
import { PATIENT } from "./patience.js";

/** An empty migrated database, for one test at a time. */
export interface EmptyDatabase {
  readonly name: string;
  readonly url: string;
  readonly database: OpenDatabase;
  /** The same database, for a server with its own connections. */
  readonly forServer: OpenDatabase;
}

interface KeptDatabase extends EmptyDatabase {
  /** Its tables, triggers and settings when it was created, to detect changes. */
  readonly catalog: string;
}

/** At most one for each worker: idle connections count against PostgreSQL's connection limit. */
const KEPT_MAX = 1;
const kept: KeptDatabase[] = [];

/** Reuses a database of an earlier test of this worker, whose connections are open already, or creates a new one. */
export async function takeDatabase({ fresh }: { fresh: boolean }): Promise<EmptyDatabase> {
  if (!fresh) return kept.pop() ?? makeDatabase();
  const made = await makeDatabase();
  await made.database.pool.query(WITHOUT_AUTOVACUUM);
  return made;
}

/** A table's statistics, gathered meanwhile, change which rows PostgreSQL reads: of a small table it reads all. */
const WITHOUT_AUTOVACUUM = `
  DO $$ DECLARE stored regclass; BEGIN
    FOR stored IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace LOOP
      EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = off, toast.autovacuum_enabled = off)', stored);
    END LOOP;
  END $$`;

/** Empties a database for the next test. Drops it if a test changed its schema or settings, or caused deadlocks. */
export async function giveBack(given: EmptyDatabase): Promise<void> {
  const one = given as KeptDatabase;
  if (kept.length < KEPT_MAX && (await isEmptied(one))) kept.push(one);
  else await drop(one);
}

async function makeDatabase(): Promise<KeptDatabase> {
  const { url: server, prefix, from } = inject("databaseServer");
  const name = prefix + randomUUID().replaceAll("-", "");
  await onServer(server, async (client) => void (await client.query(`CREATE DATABASE ${name} ${from}`)));
  const url = databaseOn(server, name);
  const [database, forServer] = [openDatabase(url, () => {}, PATIENT), openDatabase(url, () => {}, PATIENT)];
  const { catalog } = await lookAt(database);
  return { name, url, database, forServer, catalog };
}

async function drop({ name, database, forServer }: KeptDatabase): Promise<void> {
  await Promise.all([database[Symbol.asyncDispose](), forServer[Symbol.asyncDispose]()]);
  await onServer(inject("databaseServer").url, async (server) => {
    await server.query(`DROP DATABASE ${name} WITH (FORCE)`);
  });
}

async function isEmptied({ database, forServer, catalog }: KeptDatabase): Promise<boolean> {
  try {
    const now = await lookAt(database);
    if (now.catalog !== catalog || now.connections > connectionsOf(database) + connectionsOf(forServer)) return false;
    await database.pool.query(now.bytes > SMALL_BYTES ? `TRUNCATE ${now.tables}` : deletingFrom(now.tables));
    return true;
  } catch {
    return false;
  }
}

/** Above this size tables are truncated. TRUNCATE creates new files, which takes longer than deleting a few rows. */
const SMALL_BYTES = 4 * 1_048_576;

/** The order does not matter: in replica mode PostgreSQL does not check foreign keys. */
const deletingFrom = (tables: string): string =>
  [
    "BEGIN; SET LOCAL session_replication_role = replica",
    ...tables.split(", ").map((table) => `DELETE FROM ${table}`),
    "COMMIT",
  ].join("; ");

const connectionsOf = ({ pool, reservedPool, searchPool }: OpenDatabase): number =>
  pool.totalCount + reservedPool.totalCount + searchPool.totalCount;

interface Look {
  readonly catalog: string;
  readonly connections: number;
  readonly tables: string;
  /** The size of the tables, including dead rows. */
  readonly bytes: number;
}

async function lookAt({ pool }: OpenDatabase): Promise<Look> {
  const { rows } = await pool.query<Look>({ name: "look", text: LOOK });
  const [look] = rows;
  if (!look) throw new Error("A query without rows.");
  return look;
}

/** It runs after each test: prepared, and with functions instead of views, it takes a fifth of the CPU. */
const LOOK = `
  SELECT pg_stat_get_db_numbackends(this.oid) AS connections, tables, bytes, md5(concat(
           (SELECT string_agg(relname, ',' ORDER BY oid) FROM pg_class WHERE relnamespace = 'public'::regnamespace),
           (SELECT string_agg(attname, ',' ORDER BY attrelid, attnum) FROM pg_attribute
            WHERE attrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r')),
           (SELECT string_agg(conname || convalidated, ',' ORDER BY oid) FROM pg_constraint
            WHERE connamespace = 'public'::regnamespace),
           (SELECT string_agg(tgname || tgenabled::text, ',' ORDER BY oid) FROM pg_trigger),
           (SELECT string_agg(proname, ',' ORDER BY oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace),
           datallowconn, obj_description('_prisma_migrations'::regclass, 'pg_class'),
           pg_stat_get_db_deadlocks(this.oid),
           (SELECT string_agg(setconfig::text, ',' ORDER BY setrole) FROM pg_db_role_setting WHERE setdatabase = this.oid),
           (SELECT string_agg(checksum || finished_at, ',' ORDER BY id) FROM _prisma_migrations))) AS catalog
  FROM pg_database AS this,
    (SELECT string_agg(oid::regclass::text, ', ') AS tables,
       sum(pg_relation_size(oid) + coalesce(pg_relation_size(nullif(reltoastrelid, 0)), 0))::int AS bytes
     FROM pg_class
     WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> '_prisma_migrations') AS stored
  WHERE this.datname = current_database()`;
