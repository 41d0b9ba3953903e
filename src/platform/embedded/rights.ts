/** Chooses the user for PostgreSQL, which refuses to run as root. */
import { execFile } from "node:child_process";
import * as fs from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { CannotStart } from "./cannot-start.js";
import type { Binaries, Rights } from "./home.js";
import { PLACE, exitOf, startProgram } from "./programs.js";

/**
 * Finds the smallest rights with which PostgreSQL can run on a folder. Root runs it as the owner of the folder, which
 * is "nobody" unless another user created the folder.
 */
export async function rightsFor(folder: string, binaries: Binaries): Promise<Rights> {
  if (process.getuid?.() !== 0) return { through: [] };
  if ((await fs.stat(folder)).uid === 0) await giveToNobody(folder);
  const { uid, gid } = await fs.stat(folder);
  for (const rights of waysToBecome(uid, gid)) {
    if (await areEnough(folder, binaries, rights)) return rights;
  }
  throw new CannotStart(
    `PostgreSQL does not run as root, and this system does not let it run as the user ${uid}: ` +
      "start as an ordinary user, or set DATABASE_URL to a PostgreSQL of your own.",
  );
}

/** Ordered from the fewest rights to the most. */
function waysToBecome(uid: number, gid: number): Rights[] {
  const setpriv = (capabilities: string, ...more: string[]) => {
    const sets = ["inh-caps", "ambient-caps", "bounding-set"].map((set) => `--${set}=${capabilities}`);
    const identity = [`--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", "--no-new-privs"];
    return { through: ["setpriv", ...identity, ...sets, ...more] };
  };
  return [
    setpriv("-all"),
    // Some systems have no such setpriv, or a container forbids it. A change of user drops the capabilities too.
    { through: [], uid, gid },
    // PostgreSQL's programs may be in a folder that the user may not enter, such as root's home. One capability lets it
    // enter and read. access(2) uses the capabilities of the real user and would drop it for any user but root:
    // no_setuid_fixup keeps it.
    setpriv("-all,+dac_read_search", "--securebits=+no_setuid_fixup"),
  ];
}

/** Tries the rights with `initdb --show`, which checks all of PostgreSQL's files and changes nothing. */
async function areEnough(folder: string, binaries: Binaries, rights: Rights): Promise<boolean> {
  try {
    const trial = startProgram({ folder, binaries, rights }, "initdb", ["--show", `--pgdata=${PLACE}`], {
      stdio: "ignore",
    });
    return (await exitOf(trial)) === 0;
  } catch (error) {
    if (error instanceof CannotStart) throw error;
    return false;
  }
}

/** Changes the folder itself last: if it is interrupted, the next start does it again. */
async function giveToNobody(folder: string): Promise<void> {
  // The id is not 65534 everywhere, and initdb requires an id with a name.
  const [uid, gid] = await Promise.all([readIdOfNobody("-u"), readIdOfNobody("-g")]);
  for (const name of await fs.readdir(folder, { recursive: true })) await fs.lchown(join(folder, name), uid, gid);
  await fs.lchown(folder, uid, gid);
}

async function readIdOfNobody(option: "-u" | "-g"): Promise<number> {
  const { stdout } = await promisify(execFile)("id", [option, "nobody"]);
  return Number(stdout);
}
