import { AnotherServer, CannotStart, startEmbeddedPostgres } from "./embedded/index.js";
import { keepRunning } from "./embedded/supervision.js";
import { makeFolder } from "./folder.js";
import type { Logger } from "./logger.js";

export interface Ground extends AsyncDisposable {
  /** Where to connect; the embedded PostgreSQL changes it when it must start again on another port. */
  readonly databaseUrl: string;
  /** Resolves with what to tell the operator when this server must stop: another one has taken over its data folder. */
  readonly lost: Promise<AnotherServer>;
}

interface GroundConfig {
  readonly development: boolean;
  readonly dataDir: string;
  readonly databaseUrl: string | undefined;
  /** Whether root may run the embedded PostgreSQL in production. */
  readonly embeddedDatabaseAsRoot: boolean;
}

/**
 * The database to work on: the one configured, or the embedded one in the data folder, started if need be and stopped
 * again by whoever leaves it last. A server is the only one on its folder, and starts the embedded PostgreSQL again
 * when it ends; a command works beside it, or without.
 * @throws CannotStart when there is no database to be had, or another server runs on the same data folder.
 */
export async function openDataFolder(config: GroundConfig, server?: { readonly log: Logger }): Promise<Ground> {
  const { development, dataDir, databaseUrl } = config;
  if (development) await makeFolder(dataDir);
  // A database of the operator's own is shared by as many servers as they like.
  if (databaseUrl) return { databaseUrl, lost: never(), async [Symbol.asyncDispose]() {} };
  refuseRoot(config);
  if (server) return keepRunning({ dataDir, log: server.log });
  const postgres = await startEmbeddedPostgres({ dataDir });
  return { databaseUrl: postgres.url, lost: never(), [Symbol.asyncDispose]: () => postgres.stop() };
}

/** A mistake in what root runs costs the whole machine; for trying it out that may be fine. */
function refuseRoot({ development, embeddedDatabaseAsRoot }: GroundConfig): void {
  if (development || embeddedDatabaseAsRoot || process.getuid?.() !== 0) return;
  throw new CannotStart(
    "In production the embedded PostgreSQL is not started by root: start as an ordinary user, set DATABASE_URL to a " +
      "PostgreSQL of your own, or set EMBEDDED_DATABASE_AS_ROOT=yes.",
  );
}

const never = (): Promise<never> => new Promise(() => {});
