import { MINUTE_MS } from "../durations.js";
import { LIMITS } from "../limits.js";
import type { Chore } from "../platform/chores.js";
import type { Database } from "../platform/database/database.js";
import { timeOf } from "./clock-statement.js";
import type { ForgetStatement } from "./forget-statement.js";

export const HOURS_OF_DAY = 24;

/** A background job that forgets rows: `what` is for its name. */
export const forgetChore = (database: Database, what: string, statement: ForgetStatement, keptHours = 0): Chore => ({
  name: `forget ${what}`,
  intervalMs: MINUTE_MS,
  async run() {
    await sureTimeOf(database);
    const [gone] = await database.run(statement, { keptHours });
    // After a full batch there may be more.
    return gone?.count === LIMITS.chores.rows;
  },
});

/**
 * The time by the database's clock, to delete what is old. What is deleted is lost: if that clock were ahead for some
 * minutes, all connections of programs, and what else has an end, would be gone. This machine's clock is a witness,
 * though it does not say which of both is wrong.
 * @throws while the clocks contradict each other.
 */
export async function sureTimeOf(database: Database): Promise<Date> {
  const time = await timeOf(database);
  if (!isSure(time)) {
    throw new Error(
      "PostgreSQL's clock and this machine's contradict each other, so nothing old is deleted: set both.",
    );
  }
  return time;
}

/** Whether this machine's clock agrees that it is this time, more or less. */
export const isSure = (time: Date): boolean => Math.abs(time.getTime() - Date.now()) <= LIMITS.clock.contradictionMs;
