import type { Database, Statement } from "../platform/database.js";

/** SQL, because models give no time: servers whose clocks differ must agree on what has ended. */
export const databaseClock: Statement = { name: "database_clock", text: "SELECT now() AS now" };

/** The time by the database's clock; in a transaction that of its beginning. */
export async function timeOf(database: Database): Promise<Date> {
  const [clock] = await database.run<{ now: Date }>(databaseClock, []);
  if (!clock) throw new Error("The database did not tell the time.");
  return clock.now;
}
