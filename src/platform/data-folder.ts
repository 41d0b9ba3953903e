import { explain } from "./embedded/cannot-start.js";
import { AnotherServer, CannotStart, startEmbeddedPostgres } from "./embedded/index.js";
import { keepRunning } from "./embedded/supervision.js";
import { makeFolder } from "./folder.js";
import type { Logger } from "./telemetry/logger.js";
import type { AddressVariable } from "./start-error.js";

export interface DataFolder extends AsyncDisposable {
  /**
   * The address of PostgreSQL itself, not of a pooler. It changes when the embedded PostgreSQL must restart on another
   * port.
   */
  readonly databaseUrl: string;
  /** Resolves when another server has taken over the data folder; this one must stop, with this error. */
  readonly lost: Promise<AnotherServer>;
}

interface DataFolderConfig {
  readonly development: boolean;
  readonly dataDir: string;
  readonly databaseUrl: string | undefined;
  readonly directDatabaseUrl: string | undefined;
  /** Whether root may run the embedded PostgreSQL in production. */
  readonly embeddedDatabaseAsRoot: boolean;
}

/**
 * Opens the configured database, or the embedded one in the data folder: started if needed, and stopped by the last
 * process that uses it. Only one server may use a data folder; it restarts the embedded PostgreSQL when it ends. A
 * command can run beside the server, or without one.
 * @throws CannotStart when no database can be used, or another server runs on the same data folder.
 */
export async function openDataFolder(config: DataFolderConfig, server?: { readonly log: Logger }): Promise<DataFolder> {
  const { development, dataDir } = config;
  const databaseUrl = config.directDatabaseUrl ?? config.databaseUrl;
  if (development) {
    try {
      await makeFolder(dataDir);
    } catch (error) {
      throw explain(error, { dataDir, said: "" });
    }
  }
  // Any number of servers may share the operator's own database.
  if (databaseUrl) return { databaseUrl, lost: never(), async [Symbol.asyncDispose]() {} };
  refuseRoot(config);
  if (server) return keepRunning({ dataDir, log: server.log });
  const postgres = await startEmbeddedPostgres({ dataDir });
  return { databaseUrl: postgres.url, lost: never(), [Symbol.asyncDispose]: () => postgres.stop() };
}

/** The variable that holds the address of PostgreSQL itself, or could hold it. */
export const variableOf = ({ directDatabaseUrl }: Pick<DataFolderConfig, "directDatabaseUrl">): AddressVariable =>
  directDatabaseUrl === undefined ? "DATABASE_URL" : "DIRECT_DATABASE_URL";

/** Refuses root in production: a bug in a program that runs as root endangers the whole machine. */
function refuseRoot({ development, embeddedDatabaseAsRoot }: DataFolderConfig): void {
  if (development || embeddedDatabaseAsRoot || process.getuid?.() !== 0) return;
  throw new CannotStart(
    "In production root may not start the embedded PostgreSQL: start as an ordinary user, set DATABASE_URL to a " +
      "PostgreSQL of your own, or set EMBEDDED_DATABASE_AS_ROOT=yes.",
  );
}

const never = (): Promise<never> => new Promise(() => {});
