import { LIMITS } from "../limits.js";
import type { Database } from "../platform/database/database.js";
import type { ForgetStatement } from "./forget-statement.js";

export const HOURS_OF_DAY = 24;

/** Deletes a batch of rows that are no longer kept; returns whether there may be more. */
export async function forget(database: Database, statement: ForgetStatement, keptHours = 0): Promise<boolean> {
  const [gone] = await database.run(statement, { keptHours });
  return gone?.count === LIMITS.chores.rows;
}
