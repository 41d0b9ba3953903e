import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Config } from "../../config.js";
import { LIMITS } from "../../limits.js";
import { openDataFolder, variableOf } from "../../platform/data-folder.js";
import { assertFits, assertMayUse } from "../../platform/database/fitting-database.js";
import { NOT_ALLOWED, sqlStateOf } from "../../platform/database/database-errors.js";
import { assertTakesChanges, assertVersion, countPending } from "../../platform/database/migrations.js";
import { isBeingMigrated } from "../../platform/database/migration-lock.js";
import { assertNotMoved } from "../../platform/database/moved-database.js";
import { onConnection } from "../../platform/database/one-connection.js";
import { assertSameDatabase, examinePooler } from "../../platform/database/pooler.js";
import { databaseIdentity, walPosition } from "../../platform/database/position-statement.js";
import { withOptions } from "../../platform/database/session-settings.js";
import { THROUGH_POOLER, placeOf } from "../../platform/start-error.js";
import { Problem } from "./problem.js";
import { assertMaintained } from "./upkeep.js";

export const CONNECTION = { connectionTimeoutMillis: 5_000, query_timeout: 5_000 };

/** How much clocks may differ: codes, sessions and signed events depend on them. */
const CLOCK_DIFFERENCE_MAX_MS = 5_000;

/** A setting of the connection, to find out whether a pooler drops it. */
const STATEMENT_MS = 4_000;

/** Whether there is a database. To open an embedded one that is not there would create it. */
export const hasDatabase = ({ databaseUrl, directDatabaseUrl = databaseUrl, dataDir }: Config): boolean =>
  directDatabaseUrl !== undefined || existsSync(join(dataDir, "postgres"));

export async function checkDatabase(config: Config): Promise<string> {
  if (!hasDatabase(config)) {
    throw new Problem(
      `There is no database in ${config.dataDir} yet: start the service, which creates one, or set DATABASE_URL.`,
    );
  }
  await using dataFolder = await openDataFolder(config);
  const address = { url: withOptions(dataFolder.databaseUrl), variable: variableOf(config) };
  return await onConnection(address, { ...CONNECTION, statement_timeout: STATEMENT_MS }, async (client) => {
    const { rows } = await client.query<{ version: string; now: Date; readOnly: string; timeout: string }>(
      `SELECT current_setting('server_version') AS version, clock_timestamp() AS now,
              current_setting('transaction_read_only') AS "readOnly",
              (SELECT setting FROM pg_settings WHERE name = 'statement_timeout') AS timeout`,
    );
    const [row] = rows;
    if (!row) throw new Problem("PostgreSQL does not answer a simple question.");
    const place = { host: placeOf(address.url).host, variable: address.variable };
    assertVersion(row.version, place.host);
    const warnings = await assertFits(client, place);
    if (warnings.length > 0) throw new Problem(warnings.join(" "));
    if (row.timeout !== String(STATEMENT_MS)) throw new Problem(THROUGH_POOLER);
    assertTakesChanges(row.readOnly);
    const differenceMs = Math.abs(row.now.getTime() - Date.now());
    if (differenceMs > CLOCK_DIFFERENCE_MAX_MS) {
      const seconds = Math.round(differenceMs / 1_000);
      throw new Problem(`The clocks of this machine and of PostgreSQL differ by ${seconds} s: set both by NTP.`);
    }
    await assertNotMoved(client);
    await assertMayUse(client, place);
    // First, since a server may be done between the two.
    const isUnderWay = await isBeingMigrated(client);
    assertApplied(await countPending(client), isUnderWay);
    await assertWritable(client);
    await assertMaintained(client);
    return `PostgreSQL ${row.version} with all migrations; its clock agrees.`;
  });
}

/** @throws Problem if the database lacks migrations. */
function assertApplied({ count, begun }: Awaited<ReturnType<typeof countPending>>, isUnderWay: boolean): void {
  if (count > 0 && isUnderWay) {
    throw new Problem("A server or a command is applying migrations at present: run the doctor again when it is done.");
  }
  if (begun !== undefined) {
    throw new Problem(
      `The migration ${begun} was begun and is not finished: start the service, which runs it again, and says why ` +
        "if that fails.",
    );
  }
  if (count > 0) throw new Problem("Migrations are pending: start the service, which applies them.");
}

/**
 * A full disk refuses only changes, so this writes a table, and rolls it back. The service needs no permission to write
 * temporary tables, so a refusal of that is no problem.
 */
async function assertWritable(client: pg.Client): Promise<void> {
  try {
    await client.query(
      "BEGIN; CREATE TEMPORARY TABLE written_to_find_out AS SELECT generate_series(1, 1000); ROLLBACK",
    );
  } catch (error) {
    if (sqlStateOf(error) !== NOT_ALLOWED) throw error;
    await client.query("ROLLBACK");
  }
}

export async function checkPooler({ directDatabaseUrl, databaseUrl }: Config): Promise<string | undefined> {
  if (directDatabaseUrl === undefined || databaseUrl === undefined) return undefined;
  await assertSameDatabase({ direct: directDatabaseUrl, pooled: databaseUrl });
  const server = serverOf(databaseUrl);
  if (server === serverOf(directDatabaseUrl)) {
    throw new Problem(
      `DATABASE_URL and DIRECT_DATABASE_URL lead to the same server, ${server}. With a pooler, set DATABASE_URL to ` +
        "its address, and DIRECT_DATABASE_URL to that of PostgreSQL; without one, leave out DIRECT_DATABASE_URL.",
    );
  }
  const { keepsNames } = await examinePooler(databaseUrl);
  return keepsNames
    ? "The pooler works, and keeps names of statements apart."
    : "The pooler works. Each statement is planned anew: PgBouncer 1.21 or newer in transaction mode, with " +
        "max_prepared_statements, saves that.";
}

/** Where a connection is made: an address may leave out the port, or name it and the host, or a socket, as options. */
function serverOf(url: string): string {
  const { host, port } = new pg.Client(url);
  return `${host}:${port}`;
}

export async function checkReplica(config: Config): Promise<string | undefined> {
  const { databaseReplicaUrl: url, databaseUrl, directDatabaseUrl = databaseUrl } = config;
  if (url === undefined) return undefined;
  const { stored, identity } = directDatabaseUrl === undefined ? {} : await lookAtPrimary(directDatabaseUrl);
  return onConnection({ url, variable: "DATABASE_REPLICA_URL" }, CONNECTION, async (client) => {
    const until = performance.now() + LIMITS.database.replicaDelayMs;
    let state = await replayOf(client, stored);
    if (identity !== undefined && identity !== (await identityOf(client))) {
      throw new Problem(
        "DATABASE_REPLICA_URL leads to a replica of another database than DATABASE_URL, so it is not read: name the same " +
          "database, on a replica of its server.",
      );
    }
    while (state.bytes > 0 && performance.now() < until) {
      await sleep(REPLAY_POLL_MS);
      state = await replayOf(client, stored);
    }
    if (state.bytes <= 0)
      return stored === undefined
        ? "The replica has replayed what it received; what it lacks is not known, since the primary does not answer."
        : "The replica has all that the primary had a moment ago.";
    const seconds = LIMITS.database.replicaDelayMs / 1_000;
    throw new Problem(
      `The replica is too far behind, so it is not read: after ${seconds} s it lacks ` +
        `${state.bytes.toLocaleString("en")} bytes of what the primary had. ${todoForReplica(state)}`,
    );
  });
}

const REPLAY_POLL_MS = 250;

/** What the primary has stored, and which database it is; nothing if it does not answer, which `database` reports. */
function lookAtPrimary(url: string): Promise<{ stored?: string | undefined; identity?: string | undefined }> {
  return onConnection({ url, variable: "DATABASE_URL" }, CONNECTION, async (client) => {
    const { rows } = await client.query<{ stored: string | null }>(walPosition.text);
    return { stored: rows[0]?.stored ?? undefined, identity: await identityOf(client) };
  }).catch(() => ({}));
}

async function identityOf(client: pg.Client): Promise<string | undefined> {
  return (await client.query<{ identity: string }>(databaseIdentity.text)).rows[0]?.identity;
}

interface Replay {
  /** How much it lacks of what the primary had stored, or else of what it has received. */
  readonly bytes: number;
  readonly isPaused: boolean;
  /** Whether it has received what it lacks. */
  readonly isReceived: boolean;
}

/** @throws Problem if the database follows no other. */
async function replayOf(client: pg.Client, stored: string | undefined): Promise<Replay> {
  const { rows: states } = await client.query<{ follows: boolean }>("SELECT pg_is_in_recovery() AS follows");
  if (!states[0]?.follows) throw new Problem("DATABASE_REPLICA_URL leads to a primary: name its streaming replica.");
  const { rows } = await client.query<{ bytes: string | null } & Omit<Replay, "bytes">>(
    `SELECT pg_wal_lsn_diff(wanted, pg_last_wal_replay_lsn()) AS bytes, pg_is_wal_replay_paused() AS "isPaused",
            coalesce(pg_last_wal_receive_lsn() >= wanted, false) AS "isReceived"
     FROM (SELECT coalesce($1::pg_lsn, pg_last_wal_receive_lsn()) AS wanted) AS primary_database`,
    [stored],
  );
  const [row] = rows;
  return { bytes: Number(row?.bytes ?? 0), isPaused: row?.isPaused ?? false, isReceived: row?.isReceived ?? false };
}

function todoForReplica({ isPaused, isReceived }: Replay): string {
  if (isPaused) return "Its replay is paused: run SELECT pg_wal_replay_resume() there.";
  return isReceived
    ? "It has received them: look there for a long query that holds the replay up, and at its disk."
    : "It has not received them: check its log, its primary_conninfo, and pg_stat_replication on the primary.";
}
