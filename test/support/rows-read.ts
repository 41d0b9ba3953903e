import type { ClientBase } from "pg";
import type { World } from "./world.js";

/** How many rows of graphs' tables PostgreSQL has read so far. Needs a world with a fresh database. */
export const rowsRead = (world: World): Promise<number> =>
  countRead(
    world,
    `SELECT sum(seq_tup_read + idx_tup_fetch)::int AS read FROM pg_stat_user_tables
     WHERE relname IN ('memory', 'relationship', 'memory_version', 'lexicon')`,
  );

/** How many relationships, and entries of their indexes, PostgreSQL has read so far. Needs the same. */
export const relationshipsRead = (world: World): Promise<number> =>
  countRead(
    world,
    `SELECT (sum(seq_tup_read) + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'relationship'))::int
       AS read FROM pg_stat_user_tables WHERE relname = 'relationship'`,
  );

/** How many rows of all tables, and entries of all their indexes, PostgreSQL has read so far. Needs the same. */
export const everythingRead = (world: World): Promise<number> =>
  countRead(
    world,
    `SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables)::int
       + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes)::int AS read`,
  );

/**
 * Vacuums tables until they, and their indexes, have no deleted row. Whatever looks at the database meanwhile could still
 * see some, as autovacuum does when it analyzes the catalogue.
 */
export async function vacuum({ database: { pool } }: World, tables: readonly string[]): Promise<void> {
  for (let left = true; left;) {
    await pool.query(`VACUUM ${tables.join(", ")}`);
    const { rowCount } = await pool.query(
      "SELECT FROM pg_stat_user_tables WHERE relname = ANY ($1) AND n_dead_tup > 0",
      [tables],
    );
    left = rowCount !== 0;
  }
}

/** Makes a connection report now what it has read and changed: otherwise it does so a second later. */
export async function reportCounts(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ isOld: boolean }>(
    `SELECT current_setting('server_version_num')::int < 150000 AS "isOld"`,
  );
  // PostgreSQL 14 reports at the end of a statement, every half second; what is read then may be as old.
  const statements = rows[0]?.isOld
    ? ["SELECT pg_sleep(0.6)", "SELECT pg_sleep(0.6)"]
    : ["SELECT pg_stat_force_next_flush()"];
  for (const statement of statements) await client.query(statement);
}

async function countRead({ database: { pool, reservedPool, searchPool } }: World, count: string): Promise<number> {
  const pools = [pool, reservedPool, searchPool];
  const clients = await Promise.all(
    pools.flatMap((some) => Array.from({ length: some.totalCount }, () => some.connect())),
  );
  await Promise.all(clients.map(reportCounts));
  for (const client of clients) client.release();
  const { rows } = await pool.query<{ read: number | null }>(count);
  const read = rows[0]?.read;
  if (read == null) throw new Error("PostgreSQL knows none of these tables.");
  return read;
}
