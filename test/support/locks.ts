import pg from "pg";
import type { World } from "./world.js";

/** How many statements wait for a lock. */
export async function waitingForLocks({ database: { pool } }: World): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    "SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
  );
  return rows[0]?.count ?? 0;
}

/** A connection that holds a lock on a table. */
export interface TableLock extends AsyncDisposable {
  /** How many statements wait for it. By default without background jobs, which delete rows or count words. */
  waiting(wishes?: { withChores: boolean }): Promise<number>;
  release(): Promise<unknown>;
}

/** Blocks every statement that reads or creates memories, until it is released. */
export async function lockMemories({ databaseUrl }: { readonly databaseUrl: string }): Promise<TableLock> {
  const [holder, watcher] = [new pg.Client(databaseUrl), new pg.Client(databaseUrl)];
  // If a test fails, the database may be dropped while these are still connected.
  for (const client of [holder, watcher]) client.on("error", () => {});
  await Promise.all([holder.connect(), watcher.connect()]);
  await holder.query("BEGIN; LOCK TABLE memory");
  return {
    // Only this database: its copies for other tests have the same table number.
    // Queried outside the transaction: within it the activity view would not change.
    async waiting({ withChores } = { withChores: false }) {
      const { rows } = await watcher.query<{ count: number }>(
        `SELECT count(*)::int FROM pg_locks JOIN pg_stat_activity USING (pid)
         WHERE datname = current_database() AND NOT granted AND relation = 'memory'::regclass
           AND ($1 OR query !~ 'DELETE|_words\\(')`,
        [withChores],
      );
      return rows[0]?.count ?? 0;
    },
    release: () => holder.query("COMMIT"),
    async [Symbol.asyncDispose]() {
      await Promise.all([holder.end(), watcher.end()]);
    },
  };
}
