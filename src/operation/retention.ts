import { LIMITS } from "../limits.js";
import type { Database, Statement } from "../platform/database.js";

/** Runs what `forgetStatement` makes; answers with whether there may be more. */
export async function forget(
  database: Database,
  statement: Statement,
  values: readonly unknown[] = [],
): Promise<boolean> {
  const [gone] = await database.run<{ count: number }>(statement, values);
  return gone?.count === LIMITS.chores.rows;
}
