import type { StatsFs } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Config } from "../../config.js";
import { Problem } from "./problem.js";

const ROOM_MIN_BYTES = 1_073_741_824;

/** Checks the disk of the embedded database; with a `DATABASE_URL`, the disk of the working directory. */
export async function checkDisk({ dataDir, databaseUrl }: Config): Promise<string> {
  const { bavail, bsize } = await diskOf(databaseUrl === undefined ? resolve(dataDir) : ".");
  const free = bavail * bsize;
  const gigabytes = `${(free / 1_073_741_824).toFixed(1)} GiB`;
  if (free < ROOM_MIN_BYTES) throw new Problem(`Only ${gigabytes} are free: make room, or use a larger disk.`);
  return `${gigabytes} are free.`;
}

/** A folder that does not exist yet will be on the disk of the one around it. */
async function diskOf(folder: string): Promise<StatsFs> {
  return statfs(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT" || dirname(folder) === folder) throw error;
    return diskOf(dirname(folder));
  });
}
