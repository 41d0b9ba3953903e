import { statfs } from "node:fs/promises";
import type { Config } from "../../config.js";
import { Problem } from "./problem.js";

const ROOM_MIN_BYTES = 1_073_741_824;

/** Checks the disk of the embedded database; with a `DATABASE_URL`, the disk of the working directory. */
export async function checkDisk({ dataDir, databaseUrl }: Config): Promise<string> {
  const { bavail, bsize } = await statfs(databaseUrl === undefined ? dataDir : ".");
  const free = bavail * bsize;
  const gigabytes = `${(free / 1_073_741_824).toFixed(1)} GiB`;
  if (free < ROOM_MIN_BYTES) throw new Problem(`Only ${gigabytes} are free: make room, or use a larger disk.`);
  return `${gigabytes} are free.`;
}
