/** Keeps the embedded PostgreSQL running for a server, and the server the only one on its data folder. */
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LIMITS } from "../../limits.js";
import type { Logger } from "../telemetry/logger.js";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "./index.js";
import { AnotherServer, type ServerLock, acquireServerLock } from "./session.js";

const { othersLeaveMs, stopFastMs, stopAtOnceMs, restartFirstMs, restartLongestMs, restartTellMs } =
  LIMITS.embeddedDatabase;

export interface KeptRunning extends AsyncDisposable {
  readonly databaseUrl: string;
  /** Resolves when another server has taken over the data folder. */
  readonly lost: Promise<AnotherServer>;
}

interface Options {
  readonly dataDir: string;
  readonly log: Logger;
}

interface Hold {
  readonly postgres: EmbeddedPostgres;
  readonly lock: ServerLock;
}

/**
 * Starts the embedded PostgreSQL for the only server of a data folder. When PostgreSQL or the connection with the
 * server's lock ends, it is restarted, on the same port if that is free, and the lock is taken again.
 * @throws CannotStart if the first start fails; later failures are logged, and retried until it works.
 */
export async function keepRunning({ dataDir, log }: Options): Promise<KeptRunning> {
  const stopping = new AbortController();
  let hold: Hold | undefined = await take({ dataDir });
  let { url: databaseUrl, port } = hold.postgres;

  const watch = async (): Promise<AnotherServer | undefined> => {
    while (!stopping.signal.aborted && hold) {
      await Promise.race([hold.postgres.lost, hold.lock.lost, whenAborted(stopping.signal)]);
      if (stopping.signal.aborted) break;
      log.warn("the embedded PostgreSQL, or a connection to it, has ended: restarting it");
      await letGo(hold);
      hold = undefined;
      const again = await takeAgain({ dataDir, log }, { port, signal: stopping.signal });
      if (again instanceof AnotherServer) return again;
      if (again === undefined) break;
      hold = again;
      if (hold.postgres.port !== port) {
        log.warn({ port: hold.postgres.port }, "the embedded PostgreSQL has a new port, since the old one was in use");
      }
      ({ url: databaseUrl, port } = hold.postgres);
      log.info("the embedded PostgreSQL runs again");
    }
    return undefined;
  };
  const watching = watch();
  return {
    get databaseUrl() {
      return databaseUrl;
    },
    lost: watching.then((another) => another ?? new Promise<never>(() => {})),
    async [Symbol.asyncDispose]() {
      stopping.abort();
      // A start in progress stops what it has started.
      await Promise.race([watching, sleep(othersLeaveMs + stopFastMs + stopAtOnceMs, undefined, { ref: false })]);
      if (hold) await letGo(hold, { andStop: true });
    },
  };
}

interface TakeOptions {
  readonly dataDir: string;
  readonly create?: boolean;
  readonly port?: number;
  readonly signal?: AbortSignal;
}

async function take({ dataDir, ...options }: TakeOptions): Promise<Hold> {
  const postgres = await startEmbeddedPostgres({ dataDir, ...options });
  try {
    return { postgres, lock: await acquireServerLock(postgres.url, resolve(dataDir)) };
  } catch (error) {
    // A database that was just restarted is not stopped for a temporary failure.
    await (error instanceof AnotherServer ? postgres.stop() : postgres.abandon());
    throw error;
  }
}

/** Undefined if the server stops in the meantime. */
async function takeAgain(
  { dataDir, log }: Options,
  { port, signal }: { readonly port: number; readonly signal: AbortSignal },
): Promise<Hold | AnotherServer | undefined> {
  let waitMs: number = restartFirstMs;
  let loggedAt = Number.NEGATIVE_INFINITY;
  while (!signal.aborted) {
    try {
      const hold = await take({ dataDir, port, signal, create: false });
      if (!signal.aborted) return hold;
      await letGo(hold, { andStop: true });
    } catch (error) {
      if (error instanceof AnotherServer) return error;
      const reason = error instanceof Error ? error.message : String(error);
      if (!signal.aborted && performance.now() - loggedAt >= restartTellMs) {
        loggedAt = performance.now();
        log.error({ reason }, "the embedded PostgreSQL cannot be restarted: requests are answered 503; retrying");
      } else {
        log.debug({ reason }, "the embedded PostgreSQL could not be restarted again");
      }
      await sleep(waitMs, undefined, { signal }).catch(() => {});
      waitMs = Math.min(waitMs * 2, restartLongestMs);
    }
  }
  return undefined;
}

async function letGo({ postgres, lock }: Hold, { andStop = false } = {}): Promise<void> {
  await lock.release();
  await (andStop ? postgres.stop() : postgres.abandon());
}

const whenAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
