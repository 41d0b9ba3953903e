import type { World } from "./world.js";

/** How many rows of graphs' tables PostgreSQL has read so far. Needs a world with a fresh database. */
export async function rowsRead({ database: { pool, searchPool } }: World): Promise<number> {
  for (const some of [pool, searchPool]) {
    const clients = await Promise.all(Array.from({ length: some.totalCount }, () => some.connect()));
    for (const client of clients) {
      // Otherwise the connection would report its reads only after a second.
      await client.query("SELECT pg_stat_force_next_flush()");
      client.release();
    }
  }
  const { rows } = await pool.query<{ read: number | null }>(
    `SELECT sum(seq_tup_read + idx_tup_fetch)::int AS read FROM pg_stat_user_tables
     WHERE relname IN ('memory', 'relationship', 'memory_version')`,
  );
  const read = rows[0]?.read;
  if (read == null) throw new Error("PostgreSQL knows none of these tables.");
  return read;
}
