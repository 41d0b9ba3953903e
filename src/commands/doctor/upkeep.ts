import type pg from "pg";
import { LIMITS } from "../../limits.js";
import { Problem } from "./problem.js";

/** The limits beyond which something is a problem. */
export interface Bounds {
  /** Smaller tables are fast by any plan. Their size would tell more, but asking for it waits for locks. */
  readonly liveRows: number;
  /** If there are more of them than live ones: autovacuum begins at a fifth. */
  readonly deadRows: number;
  /** The service's own transactions last 15 s at most; those of backups, and indexes, may take minutes. */
  readonly blockingSeconds: number;
  /** How long a statement has waited for a session whose transaction is not visible. */
  readonly waitingSeconds: number;
  readonly openSeconds: number;
  /** Of the write-ahead log that a replication slot keeps. */
  readonly keptBytes: number;
  readonly connectionsShare: number;
}

export const BOUNDS: Bounds = {
  liveRows: 20_000,
  deadRows: 50_000,
  blockingSeconds: 20,
  // The service's statements give up after `lockWaitMs`: most that wait now have waited for less.
  waitingSeconds: LIMITS.database.lockWaitMs / 1_000 / 3,
  openSeconds: 600,
  keptBytes: 1_073_741_824,
  connectionsShare: 0.9,
};

/** How many problems of one kind are named at a time. */
const NAMED_MAX = 3;

/**
 * Checks what makes a database slower from day to day, or stops it one day, while no request fails yet.
 * @throws Problem that says what is wrong, and what to do.
 */
export async function assertMaintained(client: pg.Client, bounds: Bounds = BOUNDS): Promise<void> {
  const problems: string[] = [];
  const always = [tables, transactions, preparedTransactions, slots, connections, vectors];
  const { rows: known } = await client.query<{ name: string }>(KNOWN_FUNCTIONS);
  const statements = [
    ...always.map((kind) => kind(bounds)),
    ...known.map(({ name }) => BY_FUNCTION[name]).filter((statement) => statement !== undefined),
  ];
  for (const statement of statements) {
    const { rows } = await client.query<{ problem: string }>(statement);
    problems.push(...rows.slice(0, NAMED_MAX).map(({ problem }) => problem));
    const left = rows.length - NAMED_MAX;
    if (left > 0) problems.push(`More of this kind, named once these are solved: ${left}.`);
  }
  if (problems.length > 0) throw new Problem(problems.join(" "));
}

/** The type is not visible of sessions of other roles; autovacuum has no role. */
const IS_CLIENT =
  "coalesce(backend_type, 'client backend') = 'client backend' AND datname IS NOT NULL AND usename IS NOT NULL";

/** `pg_stats` is what the planner knows. */
const tables = ({ liveRows, deadRows }: Bounds) => `
  SELECT concat(
    CASE
      WHEN is_bloated
      THEN format('The table %s has %s dead rows beside %s live ones, last vacuumed %s: run VACUUM ANALYZE %s. If ' ||
                  'they stay, end what keeps them: an old transaction or an unused replication slot.',
                  relname, n_dead_tup, n_live_tup, coalesce(to_char(vacuumed, '"at" YYYY-MM-DD HH24:MI'), 'never'),
                  relname)
      ELSE format('The table %s (%s rows) has no statistics, so PostgreSQL guesses its plans: run ANALYZE %s.',
                  relname, n_live_tup, relname)
    END,
    CASE
      WHEN current_setting('autovacuum') = 'off'
      THEN ' Autovacuum is off: ALTER SYSTEM RESET autovacuum, and reload.'
      WHEN options ~ 'autovacuum_enabled=(f|of|n|0)'
      THEN format(' Autovacuum is off for it: ALTER TABLE %s RESET (autovacuum_enabled).', relname)
    END
  ) AS problem
  FROM (
    SELECT stat.*, reloptions::text AS options,
           greatest(last_vacuum, last_autovacuum) AS vacuumed,
           n_dead_tup > ${deadRows} AND n_dead_tup > n_live_tup AS is_bloated
    FROM pg_stat_user_tables AS stat JOIN pg_class ON pg_class.oid = relid
    WHERE schemaname = 'public'
  ) AS kept
  WHERE is_bloated
    OR n_live_tup > ${liveRows}
       AND NOT EXISTS (SELECT FROM pg_stats WHERE schemaname = 'public' AND tablename = relname)
  ORDER BY n_live_tup + n_dead_tup DESC`;

/**
 * Of a session of another role only the process is visible, unless ours is a member of pg_read_all_stats. Locks are
 * visible to all, so for such a session it counts how long others have waited for it: the service's own statements wait
 * `lockWaitMs` at most. A session that itself waits is not the cause, though others wait behind it.
 */
const transactions = ({ blockingSeconds, waitingSeconds, openSeconds }: Bounds) => `
  WITH waiting AS (SELECT pid, waitstart FROM pg_locks WHERE NOT granted),
  blocked AS (
    SELECT blocker, count(*) AS statements, min(waitstart) AS waiting_since
    FROM waiting JOIN pg_stat_activity USING (pid), unnest(pg_blocking_pids(pid)) AS blocker
    WHERE datname = current_database() AND blocker NOT IN (SELECT pid FROM waiting)
    GROUP BY blocker
  )
  SELECT format('Process %s (%s, %s, %s)%s: it keeps locks, and dead rows. SELECT pg_terminate_backend(%s) ends it%s.',
                pid, usename, coalesce(nullif(application_name, ''), 'no name'), coalesce(state, 'state not visible'),
                concat_ws(', and',
                          ' has had a transaction open for ' || round(extract(epoch FROM now() - xact_start)) || ' s',
                          ' blocks others (' || statements || ')'), pid,
                CASE WHEN NOT pg_has_role(usesysid, 'USAGE') THEN ', run as ' || usename || ' or a superuser' END)
         AS problem
  FROM pg_stat_activity LEFT JOIN blocked ON blocker = pid
  WHERE pid <> pg_backend_pid() AND ${IS_CLIENT}
    AND (datname = current_database() AND xact_start < now() - interval '${openSeconds} s'
         OR coalesce(xact_start, waiting_since)
            < now() - CASE WHEN state IS NULL THEN interval '${waitingSeconds} s' ELSE '${blockingSeconds} s' END
            AND statements > 0)
  ORDER BY statements DESC NULLS LAST, xact_start`;

const preparedTransactions = ({ openSeconds }: Bounds) => `
  SELECT format('The prepared transaction %L is open since %s: it keeps locks, and dead rows. ROLLBACK PREPARED it.',
                gid, to_char(prepared, 'YYYY-MM-DD HH24:MI')) AS problem
  FROM pg_prepared_xacts WHERE database = current_database() AND prepared < now() - interval '${openSeconds} s'
  ORDER BY prepared`;

const slots = ({ keptBytes }: Bounds) => `
  SELECT format('The replication slot %s, which nobody reads, keeps %s of the write-ahead log, until the disk is ' ||
                'full: start its reader, or SELECT pg_drop_replication_slot(%L).',
                slot_name, pg_size_pretty(kept), slot_name)
         AS problem
  FROM (SELECT *, pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn) AS kept FROM pg_replication_slots) AS slots
  WHERE NOT active AND kept > ${keptBytes}`;

const connections = ({ connectionsShare }: Bounds) => `
  SELECT format('%s of PostgreSQL''s %s connections are in use: look in pg_stat_activity whose they are, raise ' ||
                'max_connections, or use PgBouncer.', used, most) AS problem
  FROM (SELECT count(*) AS used FROM pg_stat_activity WHERE ${IS_CLIENT}) AS clients,
       (SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS most)
       AS settings
  WHERE used > ${connectionsShare} * most`;

/**
 * Before 0.8.2 pgvector could write beyond its memory while it made an index (CVE-2026-3172), before 0.8.4 vacuuming
 * could damage an index while others stored.
 */
const vectors = () => `
  SELECT format('The extension vector %s may damage its indexes, before 0.8.2 also the memory of PostgreSQL: ' ||
                'install 0.8.4 or newer on the server, start PostgreSQL again, then run ALTER EXTENSION vector ' ||
                'UPDATE, and REINDEX TABLE CONCURRENTLY memory_vector.', extversion) AS problem
  FROM pg_extension
  WHERE extname = 'vector'
    AND string_to_array(substring(extversion FROM '^\\d+\\.\\d+\\.\\d+'), '.')::int[] < '{0,8,4}'`;

/** Another version may sort texts differently. Then an index misses some, and a unique one lets them in twice. */
const locale = `
  SELECT format('The locale of the database %1$I is of version %2$s now, and was of %3$s, as before an upgrade of ' ||
                'its system: indexes of texts may miss rows. Run REINDEX DATABASE %1$I, then ALTER DATABASE %1$I ' ||
                'REFRESH COLLATION VERSION.', datname, pg_database_collation_actual_version(oid), datcollversion) AS problem
  FROM pg_database
  WHERE datname = current_database() AND datcollversion <> pg_database_collation_actual_version(oid)`;

/** Another version may stem words differently: then a query and a memory that was stored before have not the same. */
const searchWords = `
  SELECT 'Memories are stored with other words than this version of PostgreSQL makes of their texts, as after an ' ||
         'upgrade to another major one, so searches miss some: run SET statement_timeout = 0; CALL refresh_search(); ' ||
         'in psql. Requests go on meanwhile.' AS problem
  WHERE is_search_outdated()`;

/** PostgreSQL notes the version of a locale from 15 on; and a migration may be due. */
const BY_FUNCTION: Readonly<Record<string, string | undefined>> = {
  pg_database_collation_actual_version: locale,
  is_search_outdated: searchWords,
};
const KNOWN_FUNCTIONS = `
  SELECT proname AS name FROM pg_proc
  WHERE proname IN ('${Object.keys(BY_FUNCTION).join("', '")}') AND pg_function_is_visible(oid)`;
