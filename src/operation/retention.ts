import { MINUTE_MS } from "../durations.js";
import { LIMITS } from "../limits.js";
import type { Chore } from "../platform/chores.js";
import type { Database } from "../platform/database/database.js";
import type { ForgetStatement } from "./forget-statement.js";

export const HOURS_OF_DAY = 24;

/** A background job that forgets rows: `what` is for its name. */
export const forgetChore = (database: Database, what: string, statement: ForgetStatement, keptHours = 0): Chore => ({
  name: `forget ${what}`,
  intervalMs: MINUTE_MS,
  async run() {
    const [gone] = await database.run(statement, { keptHours });
    // After a full batch there may be more.
    return gone?.count === LIMITS.chores.rows;
  },
});
