import pg from "pg";

/** Somebody who keeps a table to themselves. */
export interface TableLock extends AsyncDisposable {
  /** How many wait for it; chores, which delete, are left aside unless they are wanted. */
  waiting(wishes?: { withChores: boolean }): Promise<number>;
  release(): Promise<unknown>;
}

/** Holds up whoever asks for a memory or makes one, until it is released. */
export async function lockMemories({ databaseUrl }: { readonly databaseUrl: string }): Promise<TableLock> {
  const [holder, watcher] = [new pg.Client(databaseUrl), new pg.Client(databaseUrl)];
  // The database may be dropped with these still connected, when a test has failed.
  for (const client of [holder, watcher]) client.on("error", () => {});
  await Promise.all([holder.connect(), watcher.connect()]);
  await holder.query("BEGIN; LOCK TABLE memory");
  return {
    // Not asked in the transaction, in which the view of activity would stay what it was.
    async waiting({ withChores } = { withChores: false }) {
      const { rows } = await watcher.query<{ count: number }>(
        `SELECT count(*)::int FROM pg_locks JOIN pg_stat_activity USING (pid)
         WHERE NOT granted AND relation = 'memory'::regclass AND ($1 OR query NOT LIKE '%DELETE%')`,
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
