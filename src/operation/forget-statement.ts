import { LIMITS } from "../limits.js";
import type { Statement } from "../platform/database.js";

/**
 * Deletes a batch of a table's rows. SQL, because a model would wait for the rows that another server is deleting, and
 * these are left out. The condition may hold values as $1, $2, …; it should be one that an index answers.
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
