import { createHash } from "node:crypto";
import { readFile, readdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { PrismaPg } from "@prisma/adapter-pg";
import { bindMigrationAwareSqlAdapterFactory } from "@prisma/driver-adapter-utils";
import pg from "pg";

const FOLDER = fileURLToPath(new URL("../../prisma/migrations", import.meta.url));
/** Any constant will do, as long as every server that migrates the same database takes the same. */
const LOCK = 7_301_984_265;

interface Migration {
  readonly name: string;
  readonly script: string;
}

/**
 * Brings the database at `url` to the migrations of this version; answers with the names of those it applied. Of
 * several servers that start at once one migrates, the others wait for it.
 * @throws Error when a migration failed earlier, or was changed after it had been applied.
 */
export async function migrate(url: string): Promise<string[]> {
  const migrations = await readMigrations();
  const lock = new pg.Client({ connectionString: url });
  await lock.connect();
  try {
    await lock.query("SELECT pg_advisory_lock($1)", [LOCK]);
    const pending = await pendingMigrations(lock, migrations);
    // Loading the engine takes longer than all the rest of a start, so it is loaded only when there is work for it.
    return pending.length === 0 ? [] : await applyMigrations(url, migrations);
  } finally {
    await lock.end();
  }
}

type Queryable = Pick<pg.Pool, "query"> | Pick<pg.Client, "query">;

/** Whether the database has every migration of this version. */
export async function isMigrated(database: Queryable): Promise<boolean> {
  return (await pendingMigrations(database, await readMigrations())).length === 0;
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

async function pendingMigrations(database: Queryable, migrations: readonly Migration[]): Promise<Migration[]> {
  const { rows: tables } = await database.query<{ found: string | null }>(
    "SELECT to_regclass('_prisma_migrations') AS found",
  );
  if (!tables[0]?.found) return [...migrations];
  const { rows } = await database.query<{ migration_name: string; checksum: string; finished: boolean }>(
    `SELECT migration_name, checksum, finished_at IS NOT NULL AS finished
     FROM _prisma_migrations WHERE rolled_back_at IS NULL`,
  );
  const known = new Map(rows.map((row) => [row.migration_name, row]));
  return migrations.filter(({ name, script }) => {
    const row = known.get(name);
    if (!row) return true;
    if (!row.finished) {
      throw new Error(
        `The migration ${name} failed earlier and may have been applied in part. Repair the database, then run ` +
          `\`npx prisma migrate resolve --rolled-back ${name}\` (or --applied) and start again.`,
      );
    }
    if (row.checksum === createHash("sha256").update(script).digest("hex")) return false;
    throw new Error(`The migration ${name} was changed after it had been applied. Restore it and add a new one.`);
  });
}

/** Prisma's own engine in WebAssembly: it needs no download, and `prisma migrate deploy` understands what it did. */
async function applyMigrations(url: string, migrations: readonly Migration[]): Promise<string[]> {
  const { SchemaEngine } = await loadEngine();
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  const adapter = bindMigrationAwareSqlAdapterFactory(new WholeScripts(pool));
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
      filters: { externalTables: [], externalEnums: [] },
    });
    return appliedMigrationNames;
  } finally {
    engine.free();
    await pool.end();
  }
}

/**
 * Prisma's adapter cuts a script at every semicolon, be it in a comment or a function, and runs the pieces on any
 * connection. Sent whole, PostgreSQL reads it rightly and runs it as one transaction: a migration that fails leaves nothing.
 */
class WholeScripts extends PrismaPg {
  override async connect() {
    const adapter = await super.connect();
    adapter.executeScript = async (script) => void (await adapter.underlyingDriver().query(script));
    return adapter;
  }
}

/** The package's own entry asks the module loader for the WebAssembly file, which Node cannot do yet: done by hand. */
async function loadEngine(): Promise<typeof import("@prisma/schema-engine-wasm")> {
  const bindings = await import("@prisma/schema-engine-wasm/schema_engine_bg");
  const path = createRequire(import.meta.url).resolve("@prisma/schema-engine-wasm/schema_engine_bg");
  const bytes = await readFile(path.replace(/\.js$/, ".wasm"));
  const { instance } = await WebAssembly.instantiate(bytes, { "./schema_engine_bg.js": bindings });
  const engine = bindings as unknown as Engine;
  engine.__wbg_set_wasm(instance.exports);
  instance.exports.__wbindgen_start?.();
  return engine;
}

/** What the bindings export beside what their types tell. */
type Engine = typeof import("@prisma/schema-engine-wasm") & { __wbg_set_wasm(exports: WebAssemblyExports): void };

interface WebAssemblyExports {
  __wbindgen_start?(): void;
}

/** The part of the global that is used; Node's own types leave it to the browser's. */
declare const WebAssembly: {
  instantiate(bytes: Uint8Array, imports: object): Promise<{ instance: { exports: WebAssemblyExports } }>;
};
