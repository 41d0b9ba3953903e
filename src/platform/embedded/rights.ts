/** As whom PostgreSQL runs when we are root, which it refuses to be. */
import { spawn } from "node:child_process";
import * as fs from "node:fs/promises";
import { join } from "node:path";
import { CannotStart } from "./cannot-start.js";
import type { Binaries, Rights } from "./home.js";
import { PLACE, exitOf, startProgram } from "./programs.js";

/**
 * The least rights with which PostgreSQL can run on a folder. Root runs it as the owner of the folder: "nobody", unless
 * the folder was created by somebody else.
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

/** From the fewest rights to more. */
function waysToBecome(uid: number, gid: number): Rights[] {
  const setpriv = (capabilities: string, ...more: string[]) => {
    const sets = ["inh-caps", "ambient-caps", "bounding-set"].map((set) => `--${set}=${capabilities}`);
    const identity = [`--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", "--no-new-privs"];
    return { through: ["setpriv", ...identity, ...sets, ...more] };
  };
  return [
    setpriv("-all"),
    // Not everywhere is there such a setpriv, and a container may not allow it. A change of user drops the capabilities.
    { through: [], uid, gid },
    // PostgreSQL's own programs may be in a folder, such as root's home, that the user may not enter. One capability
    // lets it enter and read. access(2) goes by the capabilities of the real user and would drop it for any user but
    // root: no_setuid_fixup keeps it there too.
    setpriv("-all,+dac_read_search", "--securebits=+no_setuid_fixup"),
  ];
}

/** Tries them on initdb, which looks for all of PostgreSQL's files and then does nothing. */
async function areEnough(folder: string, binaries: Binaries, rights: Rights): Promise<boolean> {
  try {
    const trial = startProgram({ folder, binaries, rights }, "initdb", ["--show", `--pgdata=${PLACE}`], {
      stdio: "ignore",
    });
    return (await exitOf(trial)) === 0;
  } catch {
    return false;
  }
}

/** Everything in the folder first, the folder last: so one that was cut off is done again. */
async function giveToNobody(folder: string): Promise<void> {
  // Its number is 65534 on Linux, but not everywhere, and initdb asks for one that has a name.
  const [uid, gid] = await Promise.all([idOfNobody("-u"), idOfNobody("-g")]);
  for (const name of await fs.readdir(folder, { recursive: true })) await fs.lchown(join(folder, name), uid, gid);
  await fs.lchown(folder, uid, gid);
}

async function idOfNobody(option: "-u" | "-g"): Promise<number> {
  const child = spawn("id", [option, "nobody"], { stdio: ["ignore", "pipe", "ignore"] });
  const [answer] = await Promise.all([child.stdout.toArray(), exitOf(child)]);
  return Number(Buffer.concat(answer).toString());
}
