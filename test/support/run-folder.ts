import { readFileSync, rmSync, statfsSync } from "node:fs";
import { chmod, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isRunning } from "./cluster.js";

const PREFIX = "memory-graph-tests-";
const GIB = 1024 ** 3;

/**
 * Makes one folder for all temporary files of this run, and makes it the `TMPDIR` of this process and its workers.
 * It is in memory where that has room: a database consists of a thousand files, and a disk takes ten times as long to
 * create them. Returns what removes it.
 */
export async function makeRunFolder(): Promise<() => Promise<void>> {
  const parent = isMemoryRoomy() ? MEMORY : tmpdir();
  await removeLeft(parent);
  const folder = await mkdtemp(join(parent, `${PREFIX}${process.pid}-`));
  // PostgreSQL may run as another user.
  await chmod(folder, 0o755);
  madeFolder = folder;
  // Windows has other names for it.
  for (const name of ["TMPDIR", "TEMP", "TMP"]) process.env[name] = folder;
  return () => rm(folder, { recursive: true, force: true, maxRetries: 20 });
}

let madeFolder: string | undefined;

/** Removes the folder of this run at once, as far as nobody writes to it: the next run removes the rest. */
export function removeRunFolder(): void {
  try {
    if (madeFolder) rmSync(madeFolder, { recursive: true, force: true, maxRetries: 5 });
  } catch {
    // A worker or PostgreSQL has just written something.
  }
}

const MEMORY = "/dev/shm";

/** A run needs up to 0.6 GiB, which count as memory of the container. */
function isMemoryRoomy(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    const isExecutable = !/^\S+ \/dev\/shm \S+ \S*\bnoexec\b/m.test(readFileSync("/proc/mounts", "utf8"));
    return isExecutable && bavail * bsize > 2 * GIB && process.availableMemory() > 4 * GIB;
  } catch {
    return false;
  }
}

/** Removes the folders of runs that were killed. */
async function removeLeft(parent: string): Promise<void> {
  for (const name of (await readdir(parent)).filter((other) => other.startsWith(PREFIX))) {
    if (isRunning(Number.parseInt(name.slice(PREFIX.length), 10))) continue;
    // It may belong to another user.
    await rm(join(parent, name), { recursive: true, force: true }).catch(() => {});
  }
}
