import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { onTestFinished } from "vitest";

/** A fresh folder; a PostgreSQL that still runs on it when the test is over is ended, and the folder removed. */
export function dataFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "embedded-postgres-"));
  onTestFinished(() => {
    const postmaster = postmasterOf(folder);
    if (postmaster !== undefined && postmaster !== process.pid) kill(postmaster, "SIGQUIT");
    // It may still write while it ends.
    return rm(folder, { recursive: true, force: true, maxRetries: 20 });
  });
  return folder;
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
    // It has ended by itself, which is what was wanted.
  }
}

/** One statement on a connection of its own. */
export async function query<Row extends pg.QueryResultRow>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}
