import type { Database } from "../platform/database/database.js";
import { defineStatement } from "../platform/database/statement.js";

/** SQL, because models cannot read the clock: servers whose clocks differ must agree on what has expired. */
const databaseClock = defineStatement({
  name: "database_clock",
  values: {},
  row: { now: "timestamptz" },
  text: "SELECT now() AS now",
});

/** The time by the database's clock; in a transaction, the time when it began. */
export async function timeOf(database: Database): Promise<Date> {
  const [clock] = await database.run(databaseClock, {});
  if (!clock) throw new Error("The database did not tell the time.");
  return clock.now;
}
