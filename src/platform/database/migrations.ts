import { createHash } from "node:crypto";
import { readFile, readdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PrismaPg } from "@prisma/adapter-pg";
import { bindMigrationAwareSqlAdapterFactory } from "@prisma/driver-adapter-utils";
import pg from "pg";
import { LIMITS } from "../../limits.js";
import { Client } from "./client.js";
import { NOT_ALLOWED, READ_ONLY } from "./database-errors.js";
import { forDistributed, isDistributed } from "./distribute.js";
import { IS_OF_EXTENSION } from "./extension-tables.js";
import { assertFits, assertMayUse } from "./fitting-database.js";
import { type Waits, assertStays, takeMigrationLock } from "./migration-lock.js";
import { assertNotMoved } from "./moved-database.js";
import { PROJECT } from "../project.js";
import { LONG_TRANSACTIONS, withOptions } from "./session-settings.js";
import {
  type AddressVariable,
  PRISMA_NOT_EMPTY,
  StartError,
  THROUGH_POOLER,
  explainDatabase,
  placeOf,
} from "../start-error.js";

const FOLDER = join(PROJECT, "prisma", "migrations");
interface Migration {
  readonly name: string;
  readonly script: string;
}

interface MigrateOptions {
  /** Where the address is from; `DATABASE_URL` by default. */
  readonly variable?: AddressVariable | undefined;
  /** Gets a sentence when this has to wait. */
  readonly tell?: (message: string) => void;
  /** Gets what does not fit, but keeps nobody from starting. */
  readonly warn?: (message: string) => void;
  readonly waits?: Waits;
}

const VERSION_MIN = 14;

/**
 * Applies the missing migrations to the database at `url`, and returns their names. If several servers start at once,
 * one migrates and the others wait, with a message.
 * @throws StartError when the database cannot be used, is another program's, is being or was moved, a newer version has
 * migrated it, a migration was changed after it was applied, or another server migrates for too long.
 */
export async function migrate(
  url: string,
  { variable, tell = () => {}, warn = () => {}, waits = LIMITS.start }: MigrateOptions = {},
): Promise<string[]> {
  const migrations = await readMigrations();
  const lock = lockClient(url, waits, variable);
  try {
    await lock.connect();
    const place = { host: placeOf(url).host, variable: variable ?? "DATABASE_URL" } as const;
    await assertUsable(lock, place.host, waits);
    const warnings = await assertFits(lock, place);
    warnings.forEach(warn);
    await assertStays(lock);
    await assertNotMoved(lock);
    await takeMigrationLock(lock, tell, waits);
    await assertMayUse(lock, place);
    const applied = await readApplied(lock);
    assertNotNewer(applied, migrations);
    const pending = pendingOf(applied, migrations);
    if (pending.length > 0) await assertOwner(lock);
    if (applied.some(({ finished }) => !finished)) await forgetFailures(lock, migrations);
    // Loading the engine takes longer than the rest of the start, so it is loaded only if migrations are pending.
    return pending.length === 0 ? [] : await applyMigrations(url, migrations, waits);
  } catch (error) {
    throw explainDatabase(error, url, variable);
  } finally {
    // The start must not wait for a connection that does not close.
    await Promise.race([lock.end().catch(() => {}), sleep(1_000, undefined, { ref: false })]);
  }
}

/** @throws StartError when the URL is not valid, or a file that it names cannot be read. */
function lockClient(url: string, { connectMs, catalogMs }: Waits, variable?: AddressVariable): pg.Client {
  try {
    return new Client({
      connectionString: withOptions(url),
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
      statement_timeout: catalogMs,
      query_timeout: catalogMs + 1_000,
    });
  } catch (error) {
    throw explainDatabase(error, url, variable);
  }
}

async function assertUsable(database: pg.Client, host: string, { catalogMs }: Waits): Promise<void> {
  const { rows } = await database.query<{ version: string; read_only: string; timeout: string }>(
    `SELECT current_setting('server_version') AS version, current_setting('transaction_read_only') AS read_only,
            (SELECT setting FROM pg_settings WHERE name = 'statement_timeout') AS timeout`,
  );
  const { version = "", read_only: readOnly, timeout } = rows[0] ?? {};
  assertVersion(version, host);
  // A pooler ignores the connection's timeout, and its advisory locks would not hold, either.
  if (timeout !== String(catalogMs)) throw new StartError(THROUGH_POOLER);
  assertTakesChanges(readOnly);
}

/**
 * @param readOnly the value of `transaction_read_only`
 * @throws an error like PostgreSQL's own where it is on
 */
export function assertTakesChanges(readOnly: string | undefined): void {
  if (readOnly === "on") throw Object.assign(new Error("The database is read only."), { code: READ_ONLY });
}

/** @throws StartError for a PostgreSQL that is too old. */
export function assertVersion(version: string, host: string): void {
  if (Number.parseInt(version, 10) >= VERSION_MIN) return;
  throw new StartError(`PostgreSQL at ${host} is version ${version}: the service needs ${VERSION_MIN} or newer.`);
}

type Queryable = Pick<pg.Pool, "query"> | Pick<pg.Client, "query">;

/** Whether the database has every migration of this version. */
export async function isMigrated(database: Queryable): Promise<boolean> {
  return pendingOf(await readApplied(database), await readMigrations()).length === 0;
}

/** Whether the database accepts no changes: it is a standby, or somebody has set it so. */
export async function isReadOnly(database: Queryable): Promise<boolean> {
  const { rows } = await database.query<{ setting: string }>(
    "SELECT current_setting('transaction_read_only') AS setting",
  );
  return rows[0]?.setting === "on";
}

/** Whether a newer version has migrated the database. */
export async function isOvertaken(database: Queryable): Promise<boolean> {
  return newerThan(await readApplied(database), await readMigrations()) !== undefined;
}

interface Pending {
  readonly count: number;
  /** The one that was begun and is not finished. */
  readonly begun?: string | undefined;
}

/**
 * Counts the migrations that a start would apply. What it tries for that is rolled back.
 * @throws StartError, or PostgreSQL's own error, when the start would be refused: a newer version has migrated the
 * database, another program uses it, or the role may not create what the first migration creates.
 */
export async function countPending(database: pg.Client): Promise<Pending> {
  const migrations = await readMigrations();
  const applied = await readApplied(database);
  assertNotNewer(applied, migrations);
  const pending = pendingOf(applied, migrations).map(({ name }) => name);
  if (pending.length === 0) return { count: 0 };
  await assertOwner(database);
  await assertNotOccupied(database);
  await database.query(`BEGIN; CREATE EXTENSION IF NOT EXISTS pg_trgm; CREATE EXTENSION IF NOT EXISTS btree_gin;
    CREATE TABLE created_to_find_out_whether_that_is_allowed (); ROLLBACK`);
  const begun = applied.find(({ finished, migration_name: name }) => !finished && pending.includes(name));
  return { count: pending.length, begun: begun?.migration_name };
}

/**
 * Otherwise some migrations would be applied, up to the first that alters a table.
 * @throws an error like PostgreSQL's own where the tables belong to a role as which this one cannot act
 */
async function assertOwner(database: Queryable): Promise<void> {
  const { rows } = await database.query<{ owner: string }>(
    `SELECT quote_ident(pg_get_userbyid(relowner)) AS owner FROM pg_class
     WHERE oid = to_regclass('_prisma_migrations') AND NOT pg_has_role(relowner, 'USAGE')`,
  );
  if (!rows[0]) return;
  const message = `migrations are missing, and only ${rows[0].owner}, which owns the tables, can apply them`;
  throw Object.assign(new Error(message), { code: NOT_ALLOWED });
}

/** Prisma's engine refuses such a database, too, but only when it migrates. Tables of extensions do not count. */
async function assertNotOccupied(database: pg.Client): Promise<void> {
  const { rowCount } = await database.query(
    `SELECT FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
       AND to_regclass('_prisma_migrations') IS NULL AND NOT ${IS_OF_EXTENSION} LIMIT 1`,
  );
  if (rowCount !== 0) throw Object.assign(new Error("The schema is not empty."), { code: PRISMA_NOT_EMPTY });
}

/** To Prisma's engine, a database with other tables than these, and PostGIS' own, is not empty. */
async function tablesOfExtensions(database: Queryable): Promise<string[]> {
  const { rows } = await database.query<{ name: string }>(
    `SELECT 'public.' || relname AS name FROM pg_class c
     WHERE relnamespace = 'public'::regnamespace AND ${IS_OF_EXTENSION}`,
  );
  return rows.map(({ name }) => name);
}

let read: Promise<Migration[]> | undefined;

function readMigrations(): Promise<Migration[]> {
  return (read ??= (async () => {
    const entries = await readdir(FOLDER, { withFileTypes: true });
    const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
    return Promise.all(
      names.sort().map(async (name) => ({ name, script: await readFile(`${FOLDER}/${name}/migration.sql`, "utf8") })),
    );
  })());
}

/** The newest one of this version, which stands for its schema. */
export const newestMigration = async (): Promise<string> => (await readMigrations()).at(-1)?.name ?? "none";

/** The advisory lock of Prisma's own tools. */
const PRISMA_LOCK = 72_707_369;

/**
 * Lets migrations that were begun and not finished run again: each is one transaction with the note that it finished, so
 * an unfinished one has changed nothing, whether PostgreSQL refused it or the process was killed.
 */
async function forgetFailures(database: pg.Client, migrations: readonly Migration[]): Promise<void> {
  await database.query(
    `UPDATE _prisma_migrations SET rolled_back_at = now()
     WHERE finished_at IS NULL AND rolled_back_at IS NULL AND migration_name = ANY($1)
       AND pg_try_advisory_xact_lock($2)`,
    [migrations.map(({ name }) => name), PRISMA_LOCK],
  );
}

interface Applied {
  readonly migration_name: string;
  readonly checksum: string;
  readonly finished: boolean;
}

async function readApplied(database: Queryable): Promise<Applied[]> {
  const { rows: tables } = await database.query<{ found: string | null }>(
    "SELECT to_regclass('_prisma_migrations') AS found",
  );
  if (!tables[0]?.found) return [];
  const { rows } = await database.query<Applied>(
    `SELECT migration_name, checksum, finished_at IS NOT NULL AS finished
     FROM _prisma_migrations WHERE rolled_back_at IS NULL`,
  );
  return rows;
}

/**
 * Servers that run when a newer version migrates go on, so that they can be replaced one after the other. One that
 * starts later would write rows that lack what the newer version expects.
 * @throws StartError when the database has a migration that is newer than all of this version.
 */
function assertNotNewer(applied: readonly Applied[], migrations: readonly Migration[]): void {
  const newer = newerThan(applied, migrations);
  if (!newer) return;
  throw new StartError(
    `A newer version of the service has migrated this database (${newer.migration_name}). Start that version, or ` +
      "restore a backup from before.",
  );
}

function newerThan(applied: readonly Applied[], migrations: readonly Migration[]): Applied | undefined {
  const newest = migrations.at(-1)?.name ?? "";
  return applied.find(({ migration_name: name }) => name > newest);
}

/** @throws StartError when a migration was changed after it was applied. */
function pendingOf(applied: readonly Applied[], migrations: readonly Migration[]): Migration[] {
  const known = new Map(applied.map((row) => [row.migration_name, row]));
  return migrations.filter(({ name, script }) => {
    const row = known.get(name);
    if (!row?.finished) return true;
    if (row.checksum === createHash("sha256").update(script).digest("hex")) return false;
    throw new StartError(
      `The migration ${name} was changed after it had been applied. If you changed it, restore it and add a new one; ` +
        "otherwise start the version that migrated this database.",
    );
  });
}

/** Uses Prisma's own engine in WebAssembly: it needs no download, and is compatible with `prisma migrate deploy`. */
async function applyMigrations(
  url: string,
  migrations: readonly Migration[],
  { connectMs, tableLockMs, migrationMs }: Waits,
): Promise<string[]> {
  const { SchemaEngine } = await schemaEngine();
  const pool = new pg.Pool({
    connectionString: withOptions(url),
    max: 1,
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    lock_timeout: tableLockMs,
    statement_timeout: migrationMs,
    query_timeout: migrationMs + 1_000,
    idleTimeoutMillis: 0,
  });
  // The engine's own lock ends with this connection. On another one, a process that was paused would go on with what it
  // believed before, and apply again what another server has applied since.
  let lost: Error | undefined;
  pool.on("error", (error) => {
    lost ??= error;
    if (!pool.ending) void pool.end();
  });
  const scripts = new WholeScripts(pool);
  for (const { name, script } of migrations) scripts.names.set(script, name);
  if (await isDistributed(pool)) scripts.formOf = forDistributed;
  const adapter = bindMigrationAwareSqlAdapterFactory(scripts);
  const engine = await SchemaEngine.new({ datamodels: undefined }, () => {}, adapter);
  try {
    const { appliedMigrationNames } = await engine.applyMigrations({
      migrationsList: {
        baseDir: FOLDER,
        lockfile: { path: "./migration_lock.toml", content: 'provider = "postgresql"\n' },
        shadowDbInitScript: "",
        migrationDirectories: migrations.map(({ name, script }) => ({
          path: name,
          migrationFile: { path: "migration.sql", content: { tag: "ok", value: script } },
        })),
      },
      filters: { externalTables: await tablesOfExtensions(pool), externalEnums: [] },
    });
    return appliedMigrationNames;
  } catch (error) {
    throw lost ?? scripts.failure ?? error;
  } finally {
    engine.free();
    if (!pool.ending) await pool.end();
  }
}

/**
 * Prisma's adapter splits a script at every semicolon, even in a comment or a function, and runs the parts on any
 * connection. Sent as a whole, PostgreSQL runs the script as one transaction, so a failed migration changes nothing.
 */
class WholeScripts extends PrismaPg {
  /** The error of the last statement, which the engine would turn into a string. */
  failure: unknown;
  /** The names of migrations by their script. */
  readonly names = new Map<string, string>();
  /** Converts a script before it is sent. */
  formOf: (script: string) => string = (script) => script;

  override async connect() {
    const adapter = await super.connect();
    await adapter.underlyingDriver().query(LONG_TRANSACTIONS);
    const { queryRaw, executeRaw } = adapter;
    adapter.executeScript = (script) =>
      this.#keepFailure(
        async () => void (await adapter.underlyingDriver().query(this.formOf(this.#noted(script)))),
        this.names.get(script),
      );
    adapter.queryRaw = (query) => this.#keepFailure(() => queryRaw.call(adapter, query));
    adapter.executeRaw = (query) => this.#keepFailure(() => executeRaw.call(adapter, query));
    return adapter;
  }

  /** Notes that a migration is finished in the transaction of its script: Prisma's own note comes after that. */
  #noted(script: string): string {
    const name = this.names.get(script);
    return name === undefined
      ? script
      : `${script}\nUPDATE _prisma_migrations SET finished_at = now() WHERE migration_name = '${name}' AND rolled_back_at IS NULL;`;
  }

  async #keepFailure<T>(work: () => Promise<T>, migration?: string): Promise<T> {
    try {
      return await work();
    } catch (error) {
      // Where the error is printed as it is, its properties are, too.
      if (error instanceof Error && migration !== undefined) Object.assign(error, { migration });
      this.failure = error;
      throw error;
    }
  }
}

let engineLoaded: ReturnType<typeof loadEngine> | undefined;

/** Loaded once per process: a second instance with the same bindings never answers. */
export const schemaEngine = (): ReturnType<typeof loadEngine> => (engineLoaded ??= loadEngine());

/** Loads the WebAssembly file by hand: the package's own entry imports it as a module, which Node does not support. */
async function loadEngine(): Promise<typeof import("@prisma/schema-engine-wasm")> {
  const bindings = await import("@prisma/schema-engine-wasm/schema_engine_bg");
  const path = createRequire(import.meta.url).resolve("@prisma/schema-engine-wasm/schema_engine_bg");
  const bytes = await readFile(path.replace(/\.js$/, ".wasm"));
  const imports = Object.fromEntries(
    Object.entries(bindings).map(([name, value]) => [name, name.startsWith("__wbg_setTimeout_") ? setTimer : value]),
  );
  const { instance } = await WebAssembly.instantiate(bytes, { "./schema_engine_bg.js": imports });
  const engine = bindings as unknown as Engine;
  engine.__wbg_set_wasm(instance.exports);
  instance.exports.__wbindgen_start?.();
  return engine;
}

/** The engine does not clear its timers: one of ten seconds would keep the process running after its work. */
const setTimer = (callback: () => void, ms: number): NodeJS.Timeout => setTimeout(callback, ms).unref();

/** An export of the bindings that their types leave out. */
type Engine = typeof import("@prisma/schema-engine-wasm") & { __wbg_set_wasm(exports: WebAssemblyExports): void };

interface WebAssemblyExports {
  __wbindgen_start?(): void;
}

/** The used part of the global: Node's types do not declare it. */
declare const WebAssembly: {
  instantiate(bytes: Uint8Array, imports: object): Promise<{ instance: { exports: WebAssemblyExports } }>;
};
