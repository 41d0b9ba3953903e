import type { World } from "./world.js";

/** How many rows of graphs' tables PostgreSQL has read so far. Needs a world with a fresh database. */
export const rowsRead = (world: World): Promise<number> =>
  countRead(
    world,
    `SELECT sum(seq_tup_read + idx_tup_fetch)::int AS read FROM pg_stat_user_tables
     WHERE relname IN ('memory', 'relationship', 'memory_version')`,
  );

/** How many rows of all tables, and entries of all their indexes, PostgreSQL has read so far. Needs the same. */
export const everythingRead = (world: World): Promise<number> =>
  countRead(
    world,
    `SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables)::int
       + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes)::int AS read`,
  );

async function countRead({ database: { pool, reservedPool, searchPool } }: World, count: string): Promise<number> {
  for (const some of [pool, reservedPool, searchPool]) {
    const clients = await Promise.all(Array.from({ length: some.totalCount }, () => some.connect()));
    for (const client of clients) {
      // Otherwise the connection would report its reads only after a second.
      await client.query("SELECT pg_stat_force_next_flush()");
      client.release();
    }
  }
  const { rows } = await pool.query<{ read: number | null }>(count);
  const read = rows[0]?.read;
  if (read == null) throw new Error("PostgreSQL knows none of these tables.");
  return read;
}
