/** The long-lived connections to the embedded PostgreSQL, and the advisory locks that they hold. */
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { LIMITS } from "../../limits.js";
import { codeOf } from "../error-code.js";
import { CannotStart } from "./cannot-start.js";
import { readPassword } from "./cluster.js";
import { close } from "../database/client.js";
import { administratorAddress, connect, serviceAddress } from "./connection.js";
import type { Home } from "./home.js";
import { putRolesInOrder } from "./roles.js";

const { serverLockMs, othersLeaveMs, statementMs } = LIMITS.embeddedDatabase;
const POLL_MS = 50;

/** Advisory locks with two numbers never conflict with those with one number, which the rest of the project uses. */
const LOCK_FAMILY = 1_835_362_156;
const SERVER_LOCK = 1;
/** Held shared by each process that uses the embedded PostgreSQL; a process that gets it exclusively is the last. */
const PRESENCE_LOCK = 2;
/** The application name of the connection by which a process shows others that it uses PostgreSQL. */
export const PRESENCE_NAME = "memory-graph presence";

/**
 * Opens the presence connection, which shows other processes that this one uses PostgreSQL. Waits while another process
 * stops PostgreSQL. First creates the role and the database if they are missing.
 * @throws CannotStart when that process does not go on.
 */
export async function enter(home: Home, port: number): Promise<pg.Client> {
  const address = await serviceAddress(home, port);
  const client = (await connectIfReady(address)) ?? (await makeReady(home, port, address));
  try {
    await client.query("SELECT pg_advisory_lock_shared($1, $2)", [LOCK_FAMILY, PRESENCE_LOCK]);
    return client;
  } catch (error) {
    await close(client);
    if (codeOf(error) !== STATEMENT_TIMED_OUT) throw error;
    throw new CannotStart(
      `Another process has been stopping the embedded PostgreSQL in ${dirname(home.folder)} for ${statementMs / 1_000} s: ` +
        "if it is paused, let it go on, or end it. Then start again.",
      { cause: error },
    );
  }
}

async function makeReady(home: Home, port: number, address: string): Promise<pg.Client> {
  await putRolesInOrder(await administratorAddress(home, port), (await readPassword(home.folder)) ?? "");
  return connect(address, PRESENCE_NAME);
}

/** SQLSTATE of a statement that took too long. */
const STATEMENT_TIMED_OUT = "57014";

/** SQLSTATEs: the role is missing or may not log in, or the database is missing or may not be used. */
const NOT_READY = ["28P01", "28000", "3D000", "42501"];

/** Undefined if the service's role or database is missing. */
async function connectIfReady(address: string): Promise<pg.Client | undefined> {
  try {
    return await connect(address, PRESENCE_NAME);
  } catch (error) {
    if (NOT_READY.includes(String(codeOf(error)))) return undefined;
    throw error;
  }
}

/** Whether no other process uses PostgreSQL. While we hold the exclusive lock, new processes wait in `enter`. */
export async function isLast(presence: pg.Client): Promise<boolean> {
  await presence.query("SELECT pg_advisory_unlock_shared($1, $2)", [LOCK_FAMILY, PRESENCE_LOCK]);
  if (!(await tryLock(presence, PRESENCE_LOCK))) return false;
  // Other programs, such as psql, may be connected too, and backends of our own pool may still be closing.
  const deadline = performance.now() + othersLeaveMs;
  for (;;) {
    const isLastLook = performance.now() > deadline;
    // These columns are visible to an ordinary role, also for connections of a superuser.
    const { rowCount } = await presence.query(
      "SELECT FROM pg_stat_activity WHERE usesysid IS NOT NULL AND datid IS NOT NULL AND application_name <> $1 LIMIT 1",
      [PRESENCE_NAME],
    );
    if (rowCount === 0) return true;
    if (isLastLook) return false;
    await sleep(POLL_MS);
  }
}

export interface ServerLock {
  /** Resolves when the lock is released or its connection lost. */
  readonly lost: Promise<void>;
  release(): Promise<void>;
}

/**
 * Makes this process the only server of a data folder. PostgreSQL keeps the lock while this process runs, and releases
 * it even after a kill -9.
 * @throws AnotherServer when another process holds it.
 */
export async function acquireServerLock(
  url: string,
  dataDir: string,
  waitMs: number = serverLockMs,
): Promise<ServerLock> {
  const client = await connect(url, "memory-graph server lock");
  const deadline = performance.now() + waitMs;
  try {
    // After a server was killed, its backend may need a moment to notice and release the lock.
    while (!(await tryLock(client, SERVER_LOCK))) {
      if (performance.now() > deadline) throw new AnotherServer(dataDir);
      await sleep(POLL_MS);
    }
  } catch (error) {
    await close(client);
    throw error;
  }
  return { lost: lossOf(client), release: () => close(client) };
}

/** Only one server may work on a data folder. */
export class AnotherServer extends CannotStart {
  constructor(dataDir: string) {
    super(
      `Another server is already running on the data folder ${dataDir}. Stop it, or set DATA_DIR to another folder.`,
    );
  }
}

async function tryLock(client: pg.Client, lock: number): Promise<boolean> {
  const answer = await client.query<{ locked: boolean }>("SELECT pg_try_advisory_lock($1, $2) AS locked", [
    LOCK_FAMILY,
    lock,
  ]);
  return answer.rows[0]?.locked === true;
}

export const lossOf = (client: pg.Client): Promise<void> =>
  new Promise((resolve) => void client.once("end", () => resolve()));
