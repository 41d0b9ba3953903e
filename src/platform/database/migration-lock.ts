import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { LIMITS } from "../../limits.js";
import { StartError } from "../start-error.js";

/** Any constant works, as long as all servers on the same database use the same one. */
const LOCK = 7_301_984_265;
/** A process that starts holds it shared until it has migrated. A move of the database holds it exclusively. */
const MOVE_LOCK = 7_301_984_267;

/** How long each step may wait; `LIMITS.start` by default. */
export type Waits = { readonly [Name in keyof typeof LIMITS.start]: number };

const LOCK_POLL_MS = 200;

/** @throws StartError while the database moves: changes made here could be missing at the target. */
export async function assertStays(database: pg.Client): Promise<void> {
  const { rows } = await database.query<{ stays: boolean }>("SELECT pg_try_advisory_lock_shared($1) AS stays", [
    MOVE_LOCK,
  ]);
  if (rows[0]?.stays) return;
  throw new StartError(
    "`npm run migrate-to` is moving this database to another one: start again when it has ended, with the other one as " +
      "DATABASE_URL.",
  );
}

/** Refuses each start on this database while the connection lasts; false while one is under way. */
export async function beginMove(database: pg.Client): Promise<boolean> {
  return tryLock(database, MOVE_LOCK);
}

/** Its connection is idle during the work that it protects: a timeout for idle sessions would end the lock with it. */
async function tryLock(database: pg.Client, lock: number): Promise<boolean> {
  const { rows } = await database.query<{ taken: boolean }>(
    "SELECT pg_try_advisory_lock($1) AS taken FROM set_config('idle_session_timeout', '0', false)",
    [lock],
  );
  return rows[0]?.taken === true;
}

/**
 * Waits until nobody migrates, with a message; nobody does until the lock is released or the connection ends. By
 * polling: a wait inside PostgreSQL could neither be reported nor given up in time.
 * @throws StartError when another server migrates for too long.
 */
export async function takeMigrationLock(
  database: pg.Client,
  tell: (message: string) => void,
  { migrationLockMs, reportAfterMs }: Waits = LIMITS.start,
): Promise<void> {
  const begunAt = performance.now();
  let isReported = false;
  for (;;) {
    if (await tryLock(database, LOCK)) return;
    const waitedMs = performance.now() - begunAt;
    if (waitedMs > migrationLockMs) {
      throw new StartError(
        `Another server has been migrating this database for ${migrationLockMs / 1_000} s. Start again when it has ` +
          "finished; if there is none, end the connection that holds the advisory lock (see pg_locks).",
      );
    }
    if (!isReported && waitedMs > reportAfterMs) {
      isReported = true;
      tell("Another server migrates this database: waiting for it.");
    }
    await sleep(LOCK_POLL_MS);
  }
}

/** Whether a server or a command migrates the database, or is about to. */
export async function isBeingMigrated(database: pg.Client): Promise<boolean> {
  // Shared, and for this statement alone: who begins to migrate at this moment tries again.
  const { rows } = await database.query<{ free: boolean }>("SELECT pg_try_advisory_xact_lock_shared($1) AS free", [
    LOCK,
  ]);
  return rows[0]?.free === false;
}

export async function releaseMigrationLock(database: pg.Client): Promise<void> {
  await database.query("SELECT pg_advisory_unlock($1)", [LOCK]);
}
