import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { cp, readdir, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { onTestFinished } from "vitest";
import { startEmbeddedPostgres } from "../../src/platform/embedded/index.js";
import { migrate } from "../../src/platform/migrations.js";
import { digestOf } from "./database-server.js";

/** Registers what runs after a test. Concurrent tests need their own hook. */
interface Ending {
  readonly onTestFinished: (then: () => void | Promise<void>) => void;
}

/** Makes a new folder. After the test, kills a PostgreSQL that still runs on it and removes the folder. */
export function dataFolder(test: Ending = { onTestFinished }): string {
  const folder = mkdtempSync(join(tmpdir(), "embedded-postgres-"));
  test.onTestFinished(() => {
    const postmaster = postmasterOf(folder);
    if (postmaster !== undefined && postmaster !== process.pid) kill(postmaster, "SIGQUIT");
    // PostgreSQL may still write while it stops.
    return rm(folder, { recursive: true, force: true, maxRetries: 20 });
  });
  return folder;
}

/** Makes a folder with a migrated database, for tests that do not check its creation. */
export async function madeFolder(test?: Ending): Promise<string> {
  const folder = dataFolder(test);
  await copyFolder(await (made ??= makeCluster()), folder);
  return folder;
}

/** Copies files and keeps their owners, which only `cp` can do. */
export async function copyFolder(from: string, to: string): Promise<void> {
  if (process.platform === "win32") await cp(from, to, { recursive: true });
  else await promisify(execFile)("cp", ["-a", `${from}/.`, to]);
}

const CACHE = "node_modules/.cache";
let made: Promise<string> | undefined;

/** Made once for each state of the code that makes it, and kept for the next run. */
async function makeCluster(): Promise<string> {
  const name = `test-cluster-${digestOf(["src/platform/embedded", "prisma/migrations"])}`;
  const cluster = join(CACHE, name);
  if (existsSync(cluster)) return cluster;
  mkdirSync(CACHE, { recursive: true });
  // Renamed when it is complete; if two workers create it at once, the first one wins.
  const draft = mkdtempSync(join(CACHE, "draft-"));
  const postgres = await startEmbeddedPostgres({ dataDir: draft });
  await migrate(postgres.url);
  await postgres.stop();
  await rename(draft, cluster).catch(() => rm(draft, { recursive: true }));
  const outdated = (await readdir(CACHE)).filter((other) => other.startsWith("test-cluster-") && other !== name);
  for (const other of outdated) await rm(join(CACHE, other), { recursive: true, force: true });
  return cluster;
}

export function lockFileOf(dataDir: string): string {
  return join(dataDir, "postgres", "cluster", "postmaster.pid");
}

/** The pid of the PostgreSQL that runs on a data folder. */
export function postmasterOf(dataDir: string): number | undefined {
  if (!existsSync(lockFileOf(dataDir))) return undefined;
  const pid = Number.parseInt(readFileSync(lockFileOf(dataDir), "utf8"), 10);
  try {
    process.kill(pid, 0);
    return pid;
  } catch {
    return undefined;
  }
}

export function kill(pid: number, signal: "SIGKILL" | "SIGQUIT" | "SIGINT"): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended by itself, which is the goal.
  }
}

/** Runs one statement on a connection of its own. */
export async function query<Row extends pg.QueryResultRow>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}
