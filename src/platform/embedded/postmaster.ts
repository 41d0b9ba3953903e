/** PostgreSQL's main process, the postmaster: finds, starts and stops it. */
import { spawnSync } from "node:child_process";
import { readFileSync, readlinkSync, realpathSync, rmSync } from "node:fs";
import * as fs from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LIMITS } from "../../limits.js";
import { codeOf } from "../error-code.js";
import { CannotStart } from "./cannot-start.js";
import { type Home, clusterOf, logOf } from "./home.js";
import { PLACE, control, exitOf, openLog, startProgram } from "./programs.js";

const { readyMs, stopFastMs, stopAtOnceMs, logBytes } = LIMITS.embeddedDatabase;
const POLL_MS = 20;
/** PostgreSQL writes the first line of a lock file at once. After this time an empty one is left from a crash. */
const EMPTY_LOCK_FILE_MS = 1_000;

const SETTINGS = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: "200",
  // The application reports failed statements; here they would fill the log without limit, with people's data.
  log_min_messages: "log",
  log_checkpoints: "off",
};

export interface LaunchOptions {
  /** The port to take if it is free. */
  readonly port?: number | undefined;
  /** PostgreSQL's own settings. */
  readonly settings?: Readonly<Record<string, string>> | undefined;
  /** Aborts the wait, and stops the PostgreSQL that was started. */
  readonly signal?: AbortSignal | undefined;
}

/** Returns the port of the PostgreSQL that runs on this cluster, once it is ready; undefined if none runs. */
export async function findRunningPort({ folder }: Home, signal?: AbortSignal): Promise<number | undefined> {
  const cluster = clusterOf(folder);
  removeLockOfOtherProgram(cluster);
  const begun = performance.now();
  let filledAt = begun;
  for (;;) {
    const isLastLook = performance.now() - begun > readyMs;
    const lock = readLockFile(cluster);
    if (lock === undefined) return undefined;
    const isEmpty = !(lock.pid > 0);
    // Another start may create the file at any moment of the wait.
    if (!isEmpty) filledAt = performance.now();
    if (isEmpty ? performance.now() - filledAt > EMPTY_LOCK_FILE_MS : isOtherProcess(lock.pid, cluster)) {
      rmSync(join(cluster, "postmaster.pid"), { force: true });
      return undefined;
    }
    if (!isEmpty && !isAlive(lock.pid)) return undefined;
    if (lock.status === "ready") return lock.port;
    if (isLastLook) throw notReady(cluster);
    await sleep(POLL_MS, undefined, { signal });
  }
}

const notReady = (cluster: string): CannotStart => {
  const pid = readLockFile(cluster)?.pid;
  return new CannotStart(
    `The embedded PostgreSQL in ${cluster} (process ${pid}) is not ready after ${readyMs / 1000} s: it may still recover, ` +
      "so start again in a minute; if that does not help, end that process first.",
  );
};

/** PostgreSQL's `utils/pidfile.h` defines the lines. The later ones are written during the start. */
function readLockFile(cluster: string): { pid: number; port: number; status: string } | undefined {
  try {
    const lines = readFileSync(join(cluster, "postmaster.pid"), "utf8").split("\n");
    return { pid: Number(lines[0]), port: Number(lines[3]), status: (lines[7] ?? "").trim() };
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) !== "ESRCH";
  }
}

/**
 * After a crash the pid in the lock file may belong to another process, which is likely in a restarted container; then
 * PostgreSQL would refuse to start. A real postmaster's working folder is its cluster. When in doubt, returns false.
 */
function isOtherProcess(pid: number, cluster: string): boolean {
  if (process.platform !== "linux") return false;
  try {
    return readlinkSync(`/proc/${pid}/cwd`) !== realpathSync(cluster);
  } catch (error) {
    return codeOf(error) === "ENOENT";
  }
}

/**
 * After a power failure the pid may belong to another program, most likely to one that starts with the system. Systems
 * without /proc tell at least its name; asking takes a moment, so it is done once.
 */
function removeLockOfOtherProgram(cluster: string): void {
  const pid = readLockFile(cluster)?.pid ?? 0;
  if (!(pid > 0) || !isAlive(pid) || !isOtherProgram(pid)) return;
  // Meanwhile another start may have written its own.
  if (readLockFile(cluster)?.pid === pid) rmSync(join(cluster, "postmaster.pid"), { force: true });
}

/** How a system is asked for the name of a process's program, and where its answer has the name. */
const NAMED_BY: Readonly<Record<string, (pid: number) => [program: string, args: string[], name: RegExp]>> = {
  darwin: (pid) => ["ps", ["-o", "ucomm=", "-p", `${pid}`], /^\s*(\S.*?)\s*$/],
  win32: (pid) => ["tasklist", ["/FI", `PID eq ${pid}`, "/FO", "CSV", "/NH"], /^"(.+?)(?:\.exe)?"/im],
};

/** A system that is just starting may take its time; the start does not wait longer. */
const ASKED_MS = 2_000;

/** When in doubt, false. */
function isOtherProgram(pid: number): boolean {
  const named = NAMED_BY[process.platform]?.(pid);
  if (named === undefined) return false;
  const [program, args, pattern] = named;
  const { stdout } = spawnSync(program, args, { encoding: "utf8", windowsHide: true, timeout: ASKED_MS });
  const [, name] = pattern.exec(stdout ?? "") ?? [];
  return name !== undefined && name !== "postgres";
}

/**
 * Starts PostgreSQL in its own session, so that neither Ctrl-C nor the end of our process stops it. Returns its port
 * when it is ready.
 */
export async function launch(home: Home, { port: preferred, settings, signal }: LaunchOptions): Promise<number> {
  const port = await freePort(preferred);
  const options = Object.entries({ ...SETTINGS, ...settings, port }).map(([name, value]) => `${name}=${value}`);
  await shortenLog(home.folder);
  if (process.platform === "win32") {
    // On Windows PostgreSQL refuses to run as an administrator; pg_ctl drops the administrator's rights.
    const list = `--options=${options.map((option) => `-c ${option}`).join(" ")}`;
    const wait = ["--wait", "--silent", `--timeout=${readyMs / 1000}`];
    await control(home, ["start", ...wait, `--pgdata=${PLACE}`, "--log=../../postgres.log", list]);
    return port;
  }
  const log = await openLog(home.folder);
  const over = new AbortController();
  try {
    const args = ["-D", PLACE, ...options.flatMap((option) => ["-c", option])];
    const stdio = ["ignore", log.fd, log.fd] as const;
    const child = startProgram(home, "postgres", args, { detached: true, stdio: [...stdio] });
    const ended = exitOf(child).then((code) => {
      throw new Error(`postgres ended with ${code}.`);
    });
    child.unref();
    const waits = AbortSignal.any([over.signal, ...(signal ? [signal] : [])]);
    await Promise.race([ended, waitUntilReady(home, child.pid, waits)]).catch((error: unknown) => {
      // Nobody will use it, so nobody would stop it.
      if (signal?.aborted) child.kill("SIGINT");
      throw error;
    });
    return port;
  } finally {
    over.abort();
    await log.close();
  }
}

async function waitUntilReady({ folder }: Home, pid: number | undefined, signal?: AbortSignal): Promise<void> {
  const deadline = performance.now() + readyMs;
  for (;;) {
    // Also after a pause of this process PostgreSQL is looked for once more.
    const isLastLook = performance.now() > deadline;
    const lock = readLockFile(clusterOf(folder));
    if (lock?.pid === pid && lock?.status === "ready") return;
    if (isLastLook) throw notReady(clusterOf(folder));
    await sleep(POLL_MS, undefined, { signal });
  }
}

/** The log grows slowly, but for years; old entries are not needed. */
async function shortenLog(folder: string): Promise<void> {
  const { size } = await fs.stat(logOf(folder)).catch(() => ({ size: 0 }));
  if (size > logBytes) await fs.truncate(logOf(folder));
}

async function freePort(preferred = 0): Promise<number> {
  const server = createServer();
  const port = await new Promise<number>((found, failed) => {
    server.once("error", failed);
    server.listen(preferred, "127.0.0.1", () => {
      const address = server.address();
      found(typeof address === "object" && address !== null ? address.port : 0);
    });
  }).catch((error: unknown) => {
    if (preferred === 0) throw error;
    return undefined;
  });
  await new Promise((closed) => server.close(closed));
  return port ?? freePort();
}

/** The process id of the PostgreSQL that runs on this cluster, as far as its lock file tells. */
export const findPostmaster = ({ folder }: Home): number | undefined => readLockFile(clusterOf(folder))?.pid;

/**
 * Stops the PostgreSQL with this process id: first with a checkpoint; if that takes too long, at once, and the next
 * start recovers from the write-ahead log. Returns whether it has ended. Another one that has been started since goes
 * on.
 */
export async function halt(home: Home, pid: number | undefined): Promise<boolean> {
  const cluster = clusterOf(home.folder);
  const isGone = () => {
    const now = readLockFile(cluster);
    return now === undefined || now.pid !== pid || !isAlive(now.pid) || isOtherProcess(now.pid, cluster);
  };
  const ways = [
    { mode: "fast", signal: "SIGINT", ms: stopFastMs },
    { mode: "immediate", signal: "SIGQUIT", ms: stopAtOnceMs },
  ] as const;
  for (const { mode, signal, ms } of ways) {
    if (!pid || isGone()) return true;
    if (process.platform === "win32") {
      await control(home, ["stop", `--mode=${mode}`, "--silent", "--no-wait", `--pgdata=${PLACE}`]);
    } else {
      process.kill(pid, signal);
    }
    const deadline = performance.now() + ms;
    while (!isGone() && performance.now() < deadline) await sleep(POLL_MS);
  }
  return isGone();
}
