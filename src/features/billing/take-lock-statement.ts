import { type RowOf, defineStatement } from "../../platform/statement.js";

/** After this time, the lock of a killed server expires. */
export const LEASE_MS = 3_000;

/**
 * Takes the lock of a team's account, if it is free, and returns the time. SQL, because the condition needs the clock
 * of the database, which all servers share and no model can read. One statement, since waiters run it often.
 */
export const takeLock = defineStatement({
  name: "lock_billing_account",
  values: { teamId: "uuid", holder: "uuid" },
  row: { taken: "bool", now: "timestamptz" },
  text: `
    WITH taken AS (
      UPDATE billing_account SET locked_by = :holder, locked_until = now() + interval '${LEASE_MS} milliseconds'
      WHERE team_id = :teamId AND (locked_until IS NULL OR locked_until < now()) RETURNING 1
    )
    SELECT EXISTS (SELECT FROM taken) AS taken, clock_timestamp() AS now`,
});

export type TakenLock = RowOf<typeof takeLock>;
