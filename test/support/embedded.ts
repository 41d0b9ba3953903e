import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { onTestFinished } from "vitest";
import { copyCluster, isRunning, postmasterOf } from "./cluster.js";

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
  await copyCluster(folder);
  return folder;
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
    // Its backend ends a moment later. Until then PostgreSQL is in use, and not stopped by whoever leaves it.
    const { processID } = client as pg.Client & { readonly processID: number };
    const deadline = performance.now() + 10_000;
    while (isRunning(processID) && performance.now() < deadline) await sleep(5);
  }
}
