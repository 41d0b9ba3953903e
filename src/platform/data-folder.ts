import { acquireServerLock, startEmbeddedPostgres } from "./embedded-postgres.js";

export interface Ground extends AsyncDisposable {
  readonly databaseUrl: string;
}

/**
 * The database to work on: the one configured, or the embedded one in the data folder, started if need be and stopped
 * again by whoever leaves it last. Exclusive: only one server at a time.
 * @throws Error when another server runs on the same data folder.
 */
export async function openDataFolder(
  { dataDir, databaseUrl }: { readonly dataDir: string; readonly databaseUrl: string | undefined },
  { exclusive }: { exclusive: boolean },
): Promise<Ground> {
  // A database of the operator's own is shared by as many servers as they like.
  if (databaseUrl) return { databaseUrl, async [Symbol.asyncDispose]() {} };
  const postgres = await startEmbeddedPostgres({ dataDir });
  try {
    const lock = exclusive ? await acquireServerLock(postgres.url, dataDir) : undefined;
    return {
      databaseUrl: postgres.url,
      async [Symbol.asyncDispose]() {
        await lock?.release();
        await postgres.stop();
      },
    };
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}
