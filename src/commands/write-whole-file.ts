import { randomUUID } from "node:crypto";
import { type BigIntStats, type WriteStream, createWriteStream, rmSync } from "node:fs";
import { access, chmod, constants, readdir, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { HOUR_MS } from "../durations.js";
import { StartError } from "../platform/start-error.js";
import { whenClosed } from "../platform/when-closed.js";
import { WrongUse } from "./for-operator.js";

interface WholeFileOptions {
  /** Who may use the file; by default who may use the file that it replaces, or of a new one only its owner. */
  readonly mode?: number;
}

/** What is written holds people's memories. */
const OWNER_ONLY = 0o600;

/**
 * Writes a file that appears when it is complete, and replaces one that exists. After a failure or a signal nothing is
 * left of it; what SIGKILL or a power failure leaves is removed by a later call for the same file. If another command
 * that began later has written the file meanwhile, that one stays.
 * @param write writes everything to the stream that it opens: a file beside it, under a name of its own, since two
 * commands may write the same file at once
 * @throws WrongUse if something else than a file has this name, and StartError if a newer file has it at the end
 */
export async function writeWholeFile(
  file: string,
  write: (openPartial: () => WriteStream) => Promise<void>,
  options: WholeFileOptions = {},
): Promise<void> {
  const { target, known } = await fileToReplace(file);
  const mode = options.mode ?? (known ? Number(known.mode) & 0o777 : OWNER_ONLY);
  await access(dirname(target), constants.W_OK);
  await removeLeftovers(target);
  const partial = `${target}.${randomUUID()}.partial`;
  const stop = (signal: NodeJS.Signals) => {
    rmSync(partial, { force: true });
    process.kill(process.pid, signal);
  };
  for (const signal of SIGNALS) process.once(signal, stop);
  try {
    // Flushed, since a rename may survive a power failure that the contents do not.
    await write(() => createWriteStream(partial, { flags: "wx", mode, flush: true }));
    // The umask may have taken rights away. Without a right to change them, as on some network drives, that stays so.
    await chmod(partial, mode).catch(() => {});
    if (await isNewer(target, { known, partial })) {
      throw new StartError(
        `Another command that began later has written ${file} meanwhile. That file stays, and nothing was written: give ` +
          "each command a file of its own.",
      );
    }
    await whenClosed(() => rename(partial, target));
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  } finally {
    for (const signal of SIGNALS) process.off(signal, stop);
  }
}

/**
 * Whether the file is another one than at the beginning, and was begun after the partial one. False where the file
 * system does not keep when a file was made.
 */
async function isNewer(
  target: string,
  { known, partial }: { readonly known: BigIntStats | undefined; readonly partial: string },
): Promise<boolean> {
  const now = await stat(target, { bigint: true }).catch(() => undefined);
  // Some file systems give the number of a file that is gone to the next one.
  if (!now || (now.ino === known?.ino && now.birthtimeNs === known.birthtimeNs)) return false;
  return now.birthtimeNs > (await stat(partial, { bigint: true })).birthtimeNs;
}

/**
 * How long nobody has written to a partial file whose command is gone. The id of a process would tell nothing: on a
 * network drive or in the next container, others have it. A command that only waited this long fails at its end.
 */
const LEFT_AFTER_MS = HOUR_MS;
const PARTIAL = /^\.[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\.partial$/;

/** Removes what killed commands left of this file: each may be as large as the file. */
async function removeLeftovers(target: string): Promise<void> {
  const [folder, name] = [dirname(target), basename(target)];
  // In a folder that cannot be listed, and for a file that cannot be removed, they stay.
  for (const found of await readdir(folder).catch(() => [])) {
    if (!found.startsWith(name) || !PARTIAL.test(found.slice(name.length))) continue;
    const path = join(folder, found);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Infinity }));
    if (mtimeMs < Date.now() - LEFT_AFTER_MS) await rm(path).catch(() => {});
  }
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Where a link leads: replacing the link would leave the old file, often on the disk that has room. */
async function fileToReplace(file: string): Promise<{ target: string; known?: BigIntStats }> {
  const known = await stat(file, { bigint: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  // A device such as /dev/stdout would become a file, for every program; and `-` means standard output to many, where
  // lines of npm would be in between, and a reader would take what was written before a failure for all.
  if (file === "" || file === "-" || (known && !known.isFile()))
    throw new WrongUse(`"${file}" is no file: name the file to write.`);
  return known ? { target: await realpath(file), known } : { target: file };
}
