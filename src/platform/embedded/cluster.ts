/** The folder with the cluster and its passwords: creates it, and checks that it can be used. */
import { randomBytes } from "node:crypto";
import * as fs from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { LIMITS } from "../../limits.js";
import { codeOf, unlessCode } from "../error-code.js";
import { whenClosed } from "../when-closed.js";
import { CannotStart } from "./cannot-start.js";
import {
  ADMINISTRATOR,
  ADMINISTRATOR_PASSWORD,
  type Binaries,
  CLUSTER,
  type Home,
  PASSWORD,
  clusterOf,
} from "./home.js";
import { PLACE, localeOf, runProgram } from "./programs.js";
import { rightsFor } from "./rights.js";

/** Windows lets PostgreSQL use paths of 260 letters, and below the folder they have up to 80. */
const WINDOWS_NAME_BYTES = 180;

/** @throws CannotStart for a name that PostgreSQL's files or log lines cannot contain. */
export function checkName(folder: string, platform: string = process.platform): void {
  // oxlint-disable-next-line no-control-regex -- control characters are what it searches for
  if (/[\u0000-\u001f\u007f]/.test(folder)) {
    throw new CannotStart("The name of the data folder contains a control character: set DATA_DIR to another folder.");
  }
  const { folderNameBytes } = LIMITS.embeddedDatabase;
  const most = platform === "win32" ? Math.min(folderNameBytes, WINDOWS_NAME_BYTES) : folderNameBytes;
  if (Buffer.byteLength(folder) > most) {
    throw new CannotStart(
      `The name of the data folder is longer than ${most} bytes: set DATA_DIR to a folder with a shorter one.`,
    );
  }
}

/** Reads a password of the folder; undefined if there is none. */
export async function readPassword(folder: string, file = PASSWORD): Promise<string | undefined> {
  try {
    return await fs.readFile(join(folder, file), "utf8");
  } catch (cause) {
    if (codeOf(cause) === "ENOENT") return undefined;
    if (codeOf(cause) !== "EACCES") throw cause;
    throw new CannotStart(
      `The database in ${folder} belongs to another user: start as that user, or set DATA_DIR to another folder.`,
      { cause },
    );
  }
}

const writePassword = (file: string): Promise<void> =>
  fs.writeFile(file, randomBytes(24).toString("hex"), { mode: 0o600, flush: true });

/**
 * Creates the cluster in a temporary folder and renames it, so that it exists completely or not at all. If two
 * processes do this at once, one rename succeeds, and the other process discards its own cluster and joins.
 */
export async function createCluster(folder: string, binaries: Binaries): Promise<void> {
  const draft = await fs.mkdtemp(`${folder}-init-`);
  try {
    await fs.mkdir(clusterOf(draft), { mode: 0o700 });
    for (const file of [PASSWORD, ADMINISTRATOR_PASSWORD]) await writePassword(join(draft, file));
    const home: Home = { folder: draft, binaries, rights: await rightsFor(draft, binaries) };
    await runProgram(home, "initdb", [
      `--pgdata=${PLACE}`,
      `--username=${ADMINISTRATOR}`,
      `--pwfile=../${ADMINISTRATOR_PASSWORD}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      ...localeOptions(process.platform),
    ]);
    await whenClosed(() => fs.rename(draft, folder));
  } catch (error) {
    if ((await readPassword(folder)) === undefined) throw error;
  } finally {
    await fs.rm(draft, { recursive: true, force: true });
  }
}

/**
 * PostgreSQL's own C.UTF-8 gives other systems the order that the C library has on Linux. That of their libraries differs
 * with each version of the system.
 */
export function localeOptions(platform: string): string[] {
  const locale = localeOf(platform);
  const own = platform === "linux" ? [] : ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"];
  return locale === undefined ? [] : [`--locale=${locale}`, ...own];
}

/** Whether there is a database, complete or not. */
export async function hasCluster(folder: string): Promise<boolean> {
  if ((await readPassword(folder)) !== undefined) return true;
  return (await fs.stat(clusterOf(folder)).catch(unlessCode("ENOENT"))) !== undefined;
}

/** Removes the temporary folders of processes that were killed while they created a cluster. */
export async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await fs.readdir(dirname(folder))) {
    if (!name.startsWith(`${basename(folder)}-init-`)) continue;
    const draft = join(dirname(folder), name);
    const age = await fs.stat(draft).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0,
    );
    if (age > LIMITS.embeddedDatabase.creatingMs) await fs.rm(draft, { recursive: true, force: true });
  }
}

/**
 * Checks that this PostgreSQL can run on the folder, and corrects permissions.
 * @throws CannotStart when it cannot.
 */
export async function openCluster(folder: string, binaries: Binaries): Promise<Home> {
  const cluster = join(folder, CLUSTER);
  const made = await fs.readFile(join(cluster, "PG_VERSION"), "utf8").catch(unlessCode("ENOENT"));
  if (made === undefined || (await readPassword(folder)) === undefined) {
    throw new CannotStart(
      `The database in ${folder} is incomplete: restore a backup of the whole folder, or set DATA_DIR to another folder.`,
    );
  }
  if (made.trim() !== binaries.major) {
    throw new CannotStart(
      `The database in ${folder} was created by PostgreSQL ${made.trim()}, and this version of the service contains ` +
        `PostgreSQL ${binaries.major}: start the version that created it, which can move the data to a server by ` +
        "`npm run migrate-to`, or set DATA_DIR to another folder.",
    );
  }
  // PostgreSQL requires this, and a copy of the folder (such as a restored backup) may have other permissions.
  for (const path of [folder, cluster]) await fs.chmod(path, 0o700);
  return { folder, binaries, rights: await rightsFor(folder, binaries) };
}
