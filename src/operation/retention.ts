import { LIMITS } from "../limits.js";
import type { Database, Statement } from "../platform/database.js";

/**
 * A statement that deletes a batch of a table's rows, those that another server is deleting left out. The condition may
 * hold values as $1, $2, …; it should be one that an index answers.
 */
export const forgetStatement = (table: string, condition: string, reason = "old"): Statement => ({
  name: `forget_${reason}_of_${table}`,
  text: `
    WITH gone AS (
      DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM ${table} WHERE ${condition} LIMIT ${LIMITS.chores.rows} FOR UPDATE SKIP LOCKED))
      RETURNING 1
    )
    SELECT count(*)::int AS count FROM gone`,
});

/** Deletes a batch; answers with whether there may be more. */
export async function forget(
  database: Database,
  statement: Statement,
  values: readonly unknown[] = [],
): Promise<boolean> {
  const [gone] = await database.run<{ count: number }>(statement, values);
  return gone?.count === LIMITS.chores.rows;
}
