import { randomUUID } from "node:crypto";
import { type WriteStream, createWriteStream, rmSync } from "node:fs";
import { access, chmod, constants, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { WrongUse } from "./for-operator.js";

interface WholeFileOptions {
  /** Who may use the file; by default who may use the file that it replaces. */
  readonly mode?: number;
}

/**
 * Writes a file that appears when it is complete, and replaces one that exists. After a failure or a signal nothing is
 * left of it.
 * @param write writes everything to the stream that it opens: a file beside it, under a name of its own, since two
 * commands may write the same file at once
 * @throws WrongUse if something else than a file has this name
 */
export async function writeWholeFile(
  file: string,
  write: (openPartial: () => WriteStream) => Promise<void>,
  options: WholeFileOptions = {},
): Promise<void> {
  const { target, mode: present } = await fileToReplace(file);
  const mode = options.mode ?? present;
  await access(dirname(target), constants.W_OK);
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
    if (mode !== undefined) await chmod(partial, mode).catch(() => {});
    await rename(partial, target);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  } finally {
    for (const signal of SIGNALS) process.off(signal, stop);
  }
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Where a link leads: replacing the link would leave the old file, often on the disk that has room. */
async function fileToReplace(file: string): Promise<{ target: string; mode?: number }> {
  const known = await stat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  // A device such as /dev/stdout would become a file, for every program.
  if (file === "" || (known && !known.isFile())) throw new WrongUse(`"${file}" is no file: name the file to write.`);
  return known ? { target: await realpath(file), mode: known.mode & 0o777 } : { target: file };
}
