import { access, constants, statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Config } from "../../config.js";
import { codeOf } from "../../platform/error-code.js";
import { Problem } from "./problem.js";

const GIBIBYTE = 1_073_741_824;
const ROOM_MIN_BYTES = GIBIBYTE;
const FILES_MIN = 1_000;

/**
 * Checks the disk of the embedded database, and whether its folder can be written; with a `DATABASE_URL`, the disk of
 * the working directory.
 */
export async function checkDisk({ dataDir, databaseUrl }: Config): Promise<string> {
  const folder = databaseUrl === undefined ? await existingFolder(resolve(dataDir)) : ".";
  // The slash at the end makes a file in the place of the folder an error.
  if (databaseUrl === undefined) await access(`${folder}/`, constants.W_OK);
  const { bavail, bsize, files, ffree } = await statfs(folder);
  const place = resolve(folder);
  const free = bavail * bsize;
  const gigabytes = `${(free / GIBIBYTE).toFixed(1)} GiB`;
  if (free < ROOM_MIN_BYTES) {
    throw new Problem(`Only ${gigabytes} are free on the disk of ${place}: make room, or use a larger disk.`);
  }
  // A disk may be full of files though it has room. Some file systems have no limit, and say 0.
  if (files > 0 && ffree < FILES_MIN) {
    throw new Problem(`The disk of ${place} has room for only ${ffree} more files (inodes): delete files there.`);
  }
  return `${gigabytes} are free.`;
}

/** The folder, or if it does not exist yet, the nearest one around it that does. */
async function existingFolder(folder: string): Promise<string> {
  try {
    await access(folder);
    return folder;
  } catch (error) {
    if (codeOf(error) !== "ENOENT" || dirname(folder) === folder) throw error;
    return existingFolder(dirname(folder));
  }
}
