import { LIMITS } from "../limits.js";
import { type DeclaredStatement, defineStatement } from "../platform/database/statement.js";

export type ForgetStatement = DeclaredStatement<{ keptHours: number }, { count: number }>;

/**
 * Deletes a batch of a table's rows. SQL, because a model would wait for rows that other transactions have locked, and
 * keep the rest of the batch locked meanwhile; this statement skips such rows. `condition` selects rows, and may end
 * with their order.
 */
export const forgetStatement = (reason: string, table: string, condition: string): ForgetStatement =>
  defineStatement({
    name: `forget_${reason}_of_${table}`,
    values: { keptHours: "int4" },
    row: { count: "int4" },
    text: `
      WITH gone AS (
        DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
          SELECT ctid FROM ${table} WHERE ${condition} LIMIT ${LIMITS.chores.rows} FOR UPDATE SKIP LOCKED))
        RETURNING 1
      )
      SELECT count(*)::int AS count FROM gone`,
  });

/** The condition for rows whose time was more than `:keptHours` ago. */
export const isPast = (column: string): string => `${column} <= now() - make_interval(hours => :keptHours)`;

/** Deletes a batch of a table's oldest rows: those whose time, which has an index, was more than `:keptHours` ago. */
export const forgetOldest = (table: string, time: string): ForgetStatement =>
  // In the order of its index, PostgreSQL does not read the whole table, whatever it expects to find.
  forgetStatement("old", table, `${isPast(time)} ORDER BY ${time}`);
