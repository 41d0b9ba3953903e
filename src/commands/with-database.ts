import { configOfProcess } from "../environment.js";
import { type Services, createServices } from "../operation/context.js";
import { openDataFolder } from "../platform/data-folder.js";
import { type Database, openDatabase } from "../platform/database.js";
import { loggerTo } from "../platform/logger.js";
import { billingOf } from "../platform/payments.js";
import { migrate } from "../platform/migrations.js";
import { ProcessBudgets } from "../platform/rate-limiter.js";

/** Does some work on the configured database, beside a running server or without. */
export async function withDatabase<T>(work: (database: Database) => Promise<T>): Promise<T> {
  await using ground = await openDataFolder(configOfProcess());
  await migrate(ground.databaseUrl);
  await using database = openDatabase(ground.databaseUrl);
  return await work(database);
}

/** The same for what operations work with. Warnings go to standard error: the output belongs to the command. */
export function withServices<T>(work: (services: Services) => Promise<T>): Promise<T> {
  const log = loggerTo(process.stderr, "warn");
  const config = configOfProcess();
  const publicUrl = () => config.publicUrl ?? "http://localhost:4000";
  const others = { budgets: new ProcessBudgets(), billing: billingOf(config, log), log, publicUrl };
  return withDatabase((database) => work(createServices({ database, ...others })));
}
