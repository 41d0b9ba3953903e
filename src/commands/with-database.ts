import { configOfProcess } from "../environment.js";
import { timeOf } from "../operation/clock-statement.js";
import { type Services, createServices } from "../operation/context.js";
import { openDataFolder, variableOf } from "../platform/data-folder.js";
import { type Database, openDatabase } from "../platform/database/database.js";
import { loggerTo } from "../platform/telemetry/logger.js";
import { billingOf } from "../platform/billing/billing.js";
import { migrate } from "../platform/database/migrations.js";
import { SharedClock, idsBy } from "../platform/database/shared-clock.js";
import type { Address } from "../platform/database/one-connection.js";
import { ProcessBudgets } from "../platform/rate-limit/rate-limiter.js";

/** Runs `work` with the address of the configured database, without migrating it. A server may run at the same time. */
export async function withDatabaseAsIs<T>(work: (address: Address) => Promise<T>): Promise<T> {
  const config = configOfProcess();
  await using dataFolder = await openDataFolder(config);
  return await work({ url: dataFolder.databaseUrl, variable: variableOf(config) });
}

/** Like `withDatabaseAsIs`, but migrates the database first. */
export const withDatabaseUrl = <T>(work: (address: Address) => Promise<T>): Promise<T> =>
  withDatabaseAsIs(async (address) => {
    await migrate(address.url, { variable: address.variable, tell: tellMessage });
    return await work(address);
  });

/** Like `withDatabaseUrl`, but opens the database. */
export const withDatabase = <T>(work: (database: Database) => Promise<T>): Promise<T> =>
  withDatabaseUrl(async ({ url }) => {
    await using database = openDatabase(url);
    return await work(database);
  });

/** Reports on standard error, such as that the command waits. */
export const tellMessage = (message: string): void => console.error(message);

/** Reports a copied table on standard error, since copying all of them may take long. */
export function tellTable(table: string, rows: number): void {
  if (rows > 0) console.error(`  ${table.replaceAll("_", " ")}: ${rows.toLocaleString("en")}`);
}

/**
 * Like `withDatabase`, but with all services. Warnings go to standard error: standard output is for the result.
 * @throws ConfigError when billing is configured in part: subscriptions would be left as they are.
 */
export function withServices<T>(work: (services: Services) => Promise<T>): Promise<T> {
  const log = loggerTo(process.stderr, "warn");
  const config = configOfProcess({ wholeBilling: true });
  const publicUrl = () => config.publicUrl ?? "http://localhost:4000";
  const others = { budgets: new ProcessBudgets(), billing: billingOf(config), log, publicUrl };
  return withDatabase(async (database) => {
    const clock = new SharedClock({ readTime: () => timeOf(database), log });
    await clock.read();
    return work(createServices({ database, now: clock.now, newId: idsBy(clock.now), ...others }));
  });
}
