import { configOfProcess } from "../environment.js";
import { type Services, createServices } from "../operation/context.js";
import { openDataFolder } from "../platform/data-folder.js";
import { type Database, openDatabase } from "../platform/database.js";
import { loggerTo } from "../platform/logger.js";
import { billingOf } from "../platform/payments.js";
import { migrate } from "../platform/migrations.js";
import { ProcessBudgets } from "../platform/rate-limiter.js";

/** Runs `work` on the configured database, with or without a running server. */
export async function withDatabase<T>(work: (database: Database) => Promise<T>): Promise<T> {
  await using dataFolder = await openDataFolder(configOfProcess());
  await migrate(dataFolder.databaseUrl);
  await using database = openDatabase(dataFolder.databaseUrl);
  return await work(database);
}

/** The same with all services. Warnings go to standard error, since standard output is the command's result. */
export function withServices<T>(work: (services: Services) => Promise<T>): Promise<T> {
  const log = loggerTo(process.stderr, "warn");
  const config = configOfProcess();
  const publicUrl = () => config.publicUrl ?? "http://localhost:4000";
  const others = { budgets: new ProcessBudgets(), billing: billingOf(config, log), log, publicUrl };
  return withDatabase((database) => work(createServices({ database, ...others })));
}
