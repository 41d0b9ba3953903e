import { configOfProcess } from "../environment.js";
import { openDataFolder } from "../platform/data-folder.js";
import { type Database, openDatabase } from "../platform/database.js";
import { migrate } from "../platform/migrations.js";

/** Does some work on the configured database, beside a running server or without. */
export async function withDatabase<T>(work: (database: Database) => Promise<T>): Promise<T> {
  await using ground = await openDataFolder(configOfProcess(), { exclusive: false });
  await migrate(ground.databaseUrl);
  await using database = openDatabase(ground.databaseUrl);
  return await work(database);
}
