import { PassThrough, type Readable, type Writable } from "node:stream";
import { once } from "node:events";
import { pipeline } from "node:stream/promises";
import type pg from "pg";
import { from as copyFrom, to as copyTo } from "pg-copy-streams";
import { type Address, onConnection } from "./one-connection.js";
import { IS_OF_EXTENSION } from "./extension-tables.js";
import { releaseMigrationLock, takeMigrationLock } from "./migration-lock.js";
import { LONG_TRANSACTIONS, withOptions } from "./session-settings.js";
import { StartError } from "../start-error.js";

/*
 * A copy of a whole database is text: a head with the newest migration, then for each table the line and the rows of
 * PostgreSQL's COPY, then an end with the number of rows. A line of only `\.` ends a table; rows of COPY never contain
 * one. Generated columns are left out, since the target computes them. Triggers do not run, since the copied rows
 * already have their effects.
 */

/** How many rows each table has. */
export type RowCounts = Readonly<Record<string, number>>;

type Tell = (table: string, rows: number) => void;

interface WriteOptions {
  readonly tell?: Tell;
  /** Gets a sentence when this has to wait. */
  readonly say?: (message: string) => void;
}

interface ReadOptions {
  readonly tell?: Tell;
  /** Called when everything has arrived; if it throws, nothing is changed. */
  readonly beforeCommit?: () => Promise<void>;
}

interface Table {
  readonly name: string;
  readonly columns: readonly string[];
}

const HEAD = "-- memory-graph database, schema ";
const END = "-- end of ";

/**
 * Writes the database as it is at one moment. A server may use it meanwhile.
 * @returns the rows of each table
 */
export function writeDatabase(
  from: Address,
  target: Writable,
  { tell = () => {}, say = () => {} }: WriteOptions = {},
): Promise<RowCounts> {
  return onPatientConnection(from, async (client) => {
    const { tables, newest } = await beginReading(client, say);
    const counts: Record<string, number> = {};
    await write(target, `${HEAD}${newest}\n`);
    for (const { name, columns } of tables) {
      const what = `"${name}" (${columns.map((column) => `"${column}"`).join(", ")})`;
      await write(target, `COPY ${what} FROM stdin;\n`);
      const rows = client.query(copyTo(`COPY ${what} TO STDOUT`));
      for await (const chunk of rows as AsyncIterable<Buffer>) await write(target, chunk);
      await write(target, "\\.\n");
      counts[name] = rows.rowCount;
      tell(name, counts[name]);
    }
    await write(target, `${END}${sumOf(counts)} rows\n`);
    target.end();
    return counts;
  });
}

/**
 * Fills a migrated and empty database with what `writeDatabase` wrote, completely or not at all.
 * @returns the rows of each table
 * @throws StartError when the database is not empty or has another schema, or the source ends early or is no backup.
 */
export function readDatabase(
  to: Address,
  source: Readable,
  { tell = () => {}, beforeCommit }: ReadOptions = {},
): Promise<RowCounts> {
  return onPatientConnection(to, async (client) => {
    await client.query("BEGIN; SET CONSTRAINTS ALL DEFERRED");
    const tables = await namesOfTables(client);
    // This also locks the tables: what is empty now stays empty.
    for (const table of tables) await client.query(`ALTER TABLE ${table} DISABLE TRIGGER USER`);
    await assertEmpty(client, tables);
    const counts = await readTables(client, source, tell);
    // Checks the deferred constraints now, since PostgreSQL alters no table with pending checks.
    await client.query("SET CONSTRAINTS ALL IMMEDIATE");
    for (const table of tables) await client.query(`ALTER TABLE ${table} ENABLE TRIGGER USER`);
    await beforeCommit?.();
    await client.query("COMMIT");
    // All is stored, so a failure here, as on a disk that is full now, is none of the copy. Autovacuum does it later.
    await client.query("ANALYZE").catch(() => {});
    return counts;
  });
}

/** How many memories are looked at. */
const SEARCHED_SAMPLE = 10_000;

/**
 * Where this PostgreSQL stems words in another way than the one that the data were copied from, the lexicon lacks its
 * stems. To learn them may take long, so what was copied is in use before. If it fails, the doctor says what to do.
 */
export async function refreshSearch(address: Address, say: (message: string) => void): Promise<void> {
  const refreshing = onPatientConnection(address, async (client) => {
    const found = await client.query<{ outdated: boolean }>("SELECT is_search_outdated($1) AS outdated", [
      SEARCHED_SAMPLE,
    ]);
    if (!found.rows[0]?.outdated) return;
    say("All is copied. Making the words for searching as this version of PostgreSQL does: this may take long.");
    await client.query("CALL refresh_search()");
  });
  await refreshing.catch(() => {});
}

/**
 * Begins a transaction that sees the database as it is now. To such a transaction a table that a migration rewrites
 * later would be empty. So this waits for a migration that runs, and locks each table, which no migration can alter then.
 */
async function beginReading(
  client: pg.Client,
  say: (message: string) => void,
): Promise<{ tables: Table[]; newest: string }> {
  await takeMigrationLock(client, say);
  const names = await namesOfTables(client);
  await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  if (names.length > 0) await client.query(`LOCK TABLE ${names.join(", ")} IN ACCESS SHARE MODE`);
  const [newest, tables] = [await readNewestMigration(client), await tablesOf(client)];
  await releaseMigrationLock(client);
  return { tables, newest };
}

interface Move extends Required<ReadOptions> {
  readonly from: Address;
  readonly to: Address;
}

/** Moves all data to another migrated and empty database. A lock makes changes of the source wait until the end. */
export function moveDatabase({ from, to, ...options }: Move): Promise<RowCounts> {
  return onPatientConnection(from, async (holder) => {
    await holder.query(`BEGIN; LOCK TABLE ${(await namesOfTables(holder)).join(", ")} IN SHARE MODE`);
    const between = new PassThrough();
    between.on("error", () => {});
    // If reading or writing fails, the other one ends, too.
    const breaking = (error: unknown): never => {
      between.destroy(error instanceof Error ? error : new Error(String(error)));
      throw error;
    };
    const reading = readDatabase(to, between, options).catch(breaking);
    await Promise.all([reading, writeDatabase(from, between).catch(breaking)]);
    return reading;
  });
}

/** The application name of copying connections. They make no changes that a copy could miss. */
export const COPY_NAME = "memory-graph copy";

/** Without a statement timeout, since copying a large table takes long. */
const onPatientConnection = <T>(address: Address, work: (client: pg.Client) => Promise<T>): Promise<T> =>
  onConnection(
    { ...address, url: withOptions(address.url) },
    { keepAlive: true, application_name: COPY_NAME },
    async (client) => {
      await client.query(
        "SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; SET lock_timeout = '10s'; " +
          LONG_TRANSACTIONS,
      );
      return work(client);
    },
  );

/** The newest migration stands for the schema: two databases with the same one have the same tables. */
async function readNewestMigration(client: pg.Client): Promise<string> {
  const { rowCount } = await client.query("SELECT FROM pg_class WHERE oid = to_regclass('public._prisma_migrations')");
  if (rowCount === 0) {
    throw new StartError("The database has no tables of the service: check DATABASE_URL, or DATA_DIR.");
  }
  const { rows } = await client.query<{ name: string }>(
    "SELECT max(migration_name) AS name FROM _prisma_migrations WHERE finished_at IS NOT NULL",
  );
  return rows[0]?.name ?? "none";
}

/**
 * Every table of the service with its stored columns. Each table comes after those that it refers to, except by
 * deferrable constraints.
 */
async function tablesOf(client: pg.Client): Promise<Table[]> {
  const { rows } = await client.query<Table & { needs: readonly string[] }>(`
    SELECT relname AS name,
      ARRAY(SELECT attname::text FROM pg_attribute
        WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum) AS columns,
      ARRAY(SELECT confrelid::regclass::text FROM pg_constraint
        WHERE conrelid = c.oid AND contype = 'f' AND NOT condeferrable AND confrelid <> c.oid) AS needs
    FROM pg_class c
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
      AND relname <> '_prisma_migrations' AND NOT ${IS_OF_EXTENSION}
    ORDER BY relname`);
  const ordered = new Map<string, Table>();
  while (ordered.size < rows.length) {
    const ready = rows.filter(({ name, needs }) => !ordered.has(name) && needs.every((need) => ordered.has(need)));
    if (ready.length === 0) throw new Error("Tables refer to each other in a circle.");
    for (const { name, columns } of ready) ordered.set(name, { name, columns });
  }
  return [...ordered.values()];
}

const namesOfTables = async (client: pg.Client): Promise<string[]> =>
  (await tablesOf(client)).map(({ name }) => `"${name}"`);

/** Also a server without users may have stored something, such as a row that the source has, too. */
async function assertEmpty(client: pg.Client, tables: readonly string[]): Promise<void> {
  const all = tables.map((table) => `SELECT 1 FROM ${table}`).join(" UNION ALL ");
  const { rows } = await client.query(`${all} LIMIT 1`);
  if (rows.length > 0) {
    throw new StartError(
      "The target database is not empty. Give a new one, on which no server has started, so that nothing there is " +
        "overwritten.",
    );
  }
}

/**
 * Looks only at the beginning of what `writeDatabase` wrote.
 * @throws StartError when it is no backup, or of another schema than that of this newest migration.
 */
export const assertBackupOf = (schema: string, source: Readable): Promise<void> =>
  assertHead(new Lines(source), schema);

async function assertHead(lines: Lines, schema: string): Promise<void> {
  const head = await lines.next();
  if (!head?.startsWith(HEAD))
    throw new StartError("This is no backup of this service: give a file that `npm run backup` wrote.");
  const found = head.slice(HEAD.length);
  if (found === schema) return;
  throw new StartError(
    `The backup has the schema ${found}, and this version of the service ${schema}. Restore it with the version that ` +
      "wrote it, into an empty database. Then start this version on that one, which migrates it.",
  );
}

/** Runs the source's lines: the head, the tables, the end. */
async function readTables(client: pg.Client, source: Readable, tell: Tell): Promise<RowCounts> {
  const schema = await readNewestMigration(client);
  const counts: Record<string, number> = {};
  const lines = new Lines(source);
  await assertHead(lines, schema);
  for (let line = await lines.next(); line !== undefined; line = await lines.next()) {
    if (line.startsWith(END)) {
      // Whoever writes the source would wait for a reader of what follows, and the command would never end.
      if (line === `${END}${sumOf(counts)} rows` && (await lines.areOver())) return counts;
      break;
    }
    const name = /^COPY "(\w+)" \(["\w, ]+\) FROM stdin;$/.exec(line)?.[1];
    if (name === undefined) break;
    const rows = client.query(copyFrom(line.replace(/;$/, "")));
    await pipeline(lines.rows(), rows);
    counts[name] = rows.rowCount;
    tell(name, counts[name]);
  }
  throw new StartError(DAMAGED);
}

const DAMAGED = "The backup is damaged or ends too early, so nothing was restored: give another one.";

const NEW_LINE = 10;
/** Of a line that is no row of a table; the longest one has a table's columns. */
const LINE_BYTES_MAX = 65_536;

/** Reads lines, and the rows of a table as they are. */
class Lines {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(source: Readable) {
    this.#chunks = source[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  /** The next line without its end; undefined after the last one, and for one that is too long. */
  async next(): Promise<string | undefined> {
    for (;;) {
      const end = this.#rest.indexOf(NEW_LINE);
      if (end > LINE_BYTES_MAX || (end < 0 && this.#rest.length > LINE_BYTES_MAX)) return undefined;
      if (end >= 0) {
        const line = this.#rest.toString("utf8", 0, end);
        this.#rest = this.#rest.subarray(end + 1);
        return line;
      }
      if (!(await this.#more())) return undefined;
    }
  }

  async areOver(): Promise<boolean> {
    return this.#rest.length === 0 && !(await this.#more());
  }

  /** The rows up to the line that ends them. */
  async *rows(): AsyncGenerator<Buffer> {
    for (;;) {
      let whole = 0;
      for (let end = this.#rest.indexOf(NEW_LINE); end >= 0; end = this.#rest.indexOf(NEW_LINE, whole)) {
        if (this.#rest.toString("latin1", whole, Math.min(end, whole + 3)) === "\\.") {
          if (whole > 0) yield this.#rest.subarray(0, whole);
          this.#rest = this.#rest.subarray(end + 1);
          return;
        }
        whole = end + 1;
      }
      if (whole > 0) yield this.#rest.subarray(0, whole);
      this.#rest = this.#rest.subarray(whole);
      if (!(await this.#more())) throw new StartError(DAMAGED);
    }
  }

  async #more(): Promise<boolean> {
    const { value, done } = await this.#chunks.next();
    if (done) return false;
    this.#rest = this.#rest.length === 0 ? value : Buffer.concat([this.#rest, value]);
    return true;
  }
}

const sumOf = (counts: RowCounts): number => Object.values(counts).reduce((sum, rows) => sum + rows, 0);

/** Waits while the target is full. */
async function write(target: Writable, part: string | Buffer): Promise<void> {
  if (target.destroyed) throw target.errored ?? new Error("The target was closed.");
  if (!target.write(part)) await once(target, "drain");
}
