import { randomUUID } from "node:crypto";
import type pg from "pg";
import { LIMITS } from "../../limits.js";
import type { WaitBounds } from "./database.js";
import { type Address, onConnection } from "./one-connection.js";
import { SESSION_SETTINGS } from "./session-settings.js";
import { StartError, placeOf } from "../start-error.js";

/** A pooler in transaction mode, such as PgBouncer: each transaction may run on another connection to PostgreSQL. */
export interface Pooler {
  /** Whether it keeps the names of prepared statements apart, as PgBouncer does from 1.21 on if it is configured. */
  readonly keepsNames: boolean;
}

const CONNECTION = {
  connectionTimeoutMillis: LIMITS.start.connectMs,
  query_timeout: LIMITS.start.catalogMs,
  application_name: "memory-graph-gateway",
};

/** The lock for changing the role, so that servers that start together do it in turn. Any constant works. */
const LOCK = 7_301_984_266;

/**
 * The settings that every connection of the service needs. If a pooler or the nodes of Citus open the connections, the
 * settings are stored at the role.
 */
export const settingsFor = (waits: WaitBounds): Readonly<Record<string, string>> => ({
  ...SESSION_SETTINGS,
  statement_timeout: String(waits.statementTimeoutMs),
  lock_timeout: String(waits.lockWaitMs),
  idle_in_transaction_session_timeout: String(waits.idleInTransactionMs),
});

interface PoolerUrls {
  readonly direct: string;
  readonly pooled: string;
}

/**
 * Prepares the use of a pooler: stores the settings at the role, by a direct connection, and asks the pooler what it
 * can do.
 * @throws StartError when the pooler's connections lack the settings or lead to another database, or an address cannot be
 * used.
 */
export async function preparePooler(urls: PoolerUrls, waits: WaitBounds = LIMITS.database): Promise<Pooler> {
  const direct: Address = { url: urls.direct, variable: "DIRECT_DATABASE_URL" };
  // First: connections that the pooler opens before would lack the settings.
  await onConnection(direct, CONNECTION, (client) => storeSettings(client, settingsFor(waits)));
  await assertSameDatabase(urls);
  return examinePooler(urls.pooled, waits);
}

/**
 * Otherwise one database would be migrated, and another one served.
 * @throws StartError when the addresses lead to different databases, or one of them cannot be used.
 */
export async function assertSameDatabase({ direct, pooled }: PoolerUrls): Promise<void> {
  const [own, other] = await Promise.all([
    onConnection({ url: direct, variable: "DIRECT_DATABASE_URL" }, CONNECTION, identify),
    throughPooler(pooled, identify),
  ]);
  if (own.identity === other.identity) return;
  const server = own.name === other.name ? " of another server" : "";
  throw new StartError(
    `DATABASE_URL leads to the database "${other.name}", but DIRECT_DATABASE_URL to "${own.name}"${server}: both must ` +
      "lead to the same one.",
  );
}

/**
 * Runs `work`, which only asks what PostgreSQL answers at once: a pooler takes all clients, and lets them wait for one
 * of its connections.
 * @throws StartError when it lends none, or cannot be used.
 */
function throughPooler<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  return onConnection({ url, variable: "DATABASE_URL" }, CONNECTION, (client) =>
    work(client).catch((cause: Error) => {
      if (!/^(Query read timeout|query_wait_timeout)$/.test(cause.message)) throw cause;
      const sentence =
        `The pooler at ${placeOf(url).host} lends no connection (${cause.message}): all are in use, or it is paused. ` +
        "Look at SHOW POOLS on its console: raise its default_pool_size, or end the pause by RESUME.";
      throw new StartError(sentence, { cause });
    }),
  );
}

/** The name of a database, and what no other database has: its number, and when its server started. */
async function identify(client: pg.Client): Promise<{ readonly name: string; readonly identity: string }> {
  const { rows } = await client.query<{ name: string; identity: string }>(
    `SELECT datname AS name, concat_ws(' ', oid, extract(epoch FROM pg_postmaster_start_time())) AS identity
     FROM pg_database WHERE datname = current_database()`,
  );
  return rows[0] ?? { name: "", identity: "" };
}

/**
 * Ends the connections to the database of the role that logs in, even if it acts as another role. A pooler, such as one
 * of a host, opens new ones in their place.
 */
const END_OLD =
  "SET ROLE NONE; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = current_user AND datname = " +
  "current_database() AND pid <> pg_backend_pid();";

/**
 * Finds out what the pooler can do.
 * @throws StartError when its connections lack the settings, or it cannot be used.
 */
export const examinePooler = (url: string, waits: WaitBounds = LIMITS.database): Promise<Pooler> =>
  throughPooler(url, async (client) => {
    const missing = await findMissingSettings(client, settingsFor(waits));
    if (missing.length > 0) {
      throw new StartError(
        `Connections of the pooler in DATABASE_URL lack the role's settings (${missing.join(", ")}): run RECONNECT on ` +
          `its console or, if it has none, in PostgreSQL as this role ${END_OLD} Then start the service, which stores ` +
          "them. DATABASE_URL and DIRECT_DATABASE_URL must name the same user and database.",
      );
    }
    return { keepsNames: await keepsNames(client) };
  });

/** Stores the settings for this database at the role that logs in, even if it acts as another role. */
export async function storeSettings(client: pg.Client, settings: Readonly<Record<string, string>>): Promise<void> {
  const { rows } = await client.query<{ database: string }>("SELECT current_database() AS database");
  const role = `ALTER ROLE CURRENT_USER IN DATABASE ${client.escapeIdentifier(rows[0]?.database ?? "")}`;
  await client.query("BEGIN; SET LOCAL ROLE NONE");
  await client.query("SELECT pg_advisory_xact_lock($1)", [LOCK]);
  // Always stored: this connection began before the lock was taken, so it does not show what is stored now.
  for (const [name, value] of Object.entries(settings)) {
    await client.query(`${role} SET ${name} = ${client.escapeLiteral(value)}`);
  }
  await client.query("COMMIT");
}

/** The settings that a connection lacks. */
export async function findMissingSettings(
  client: pg.Client,
  settings: Readonly<Record<string, string>>,
): Promise<string[]> {
  const { rows } = await client.query<{ name: string; setting: string }>(
    "SELECT name, setting FROM pg_settings WHERE name = ANY($1)",
    [Object.keys(settings)],
  );
  const present = new Map(rows.map(({ name, setting }) => [name, setting]));
  return Object.keys(settings).filter((name) => present.get(name) !== settings[name]);
}

/**
 * Whether a pooler keeps the statements of its clients apart: then it renames each statement at PostgreSQL. If it does
 * not, a name could mean the statement of another process.
 */
async function keepsNames(client: pg.Client): Promise<boolean> {
  const name = `probe_${randomUUID()}`;
  await client.query("BEGIN");
  const { rows } = await client.query<{ kept: boolean }>({
    name,
    text: "SELECT EXISTS (SELECT FROM pg_prepared_statements WHERE name = $1) AS kept",
    values: [name],
  });
  const isSame = rows[0]?.kept ?? true;
  if (isSame) await client.query(`DEALLOCATE ${client.escapeIdentifier(name)}`);
  await client.query("COMMIT");
  return !isSame;
}
