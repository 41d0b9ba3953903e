import { isDistributed } from "../database/distribute.js";
import { Client } from "../database/client.js";
import { LONG_TRANSACTIONS, withOptions } from "../database/session-settings.js";

/** The vectors of a graph by a model. */
export interface VectorSet {
  readonly graphId: string;
  readonly model: string;
  /** How many numbers each has. */
  readonly dimension: number;
}

/** Of a vector of half-precision numbers in an index of pgvector. */
export const DIMENSION_MAX = 4_000;

/** Any constant works, as long as all servers on the same database use the same one. */
const LOCK = 7_301_984_268;

/** Indexes that were left unfinished, or whose graph or model is gone. */
const USELESS = `
  SELECT c.relname AS name FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
  WHERE i.indrelid = 'memory_vector'::regclass AND c.relname ~ '^near_vectors_[0-9a-f]{32}_[0-9a-f]{8}_[0-9]+$'
    AND (NOT i.indisvalid
      OR NOT EXISTS (SELECT FROM graph_vectors WHERE graph_id = substr(c.relname, 14, 32)::uuid)
      OR NOT EXISTS (SELECT FROM embedding_model WHERE left(md5(model), 8) = substr(c.relname, 47, 8)))`;

/**
 * Makes an index for each set of vectors if the database has the extension pgvector, and deletes those that are no
 * longer needed. Writes go on meanwhile. One server does this at a time, and not where tables are distributed. About a
 * minute for 50,000 vectors of 384 numbers.
 */
export async function makeNearIndexes(url: string, sets: readonly VectorSet[]): Promise<void> {
  const client = new Client({
    connectionString: withOptions(url, "-c statement_timeout=0 -c lock_timeout=0"),
    keepAlive: true,
  });
  await client.connect();
  try {
    await client.query(LONG_TRANSACTIONS);
    // The process need not wait for it when it stops: PostgreSQL ends the index that it has begun.
    client.unref();
    const { rows } = await client.query<{ may: boolean }>(
      "SELECT to_regtype('halfvec') IS NOT NULL AND pg_try_advisory_lock($1) AS may",
      [LOCK],
    );
    if (!rows[0]?.may || (await isDistributed(client))) return;
    for (const { name } of (await client.query<{ name: string }>(USELESS)).rows) {
      await client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${client.escapeIdentifier(name)}`);
    }
    for (const { graphId, model, dimension } of sets) {
      const made = "SELECT near_vectors_index_made($1, $2, $3) AS text";
      const [statement] = (await client.query<{ text: string }>(made, [graphId, model, dimension])).rows;
      if (statement) await client.query(statement.text);
    }
  } finally {
    await client.end();
  }
}
