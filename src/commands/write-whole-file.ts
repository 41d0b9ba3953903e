import { rmSync } from "node:fs";
import { access, constants, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { WrongUse } from "./for-operator.js";

/**
 * Writes a file that appears when it is complete, and replaces one that exists. After a failure or a signal nothing is
 * left of it.
 * @param write writes everything to a file beside it
 * @throws WrongUse if something else than a file has this name
 */
export async function writeWholeFile(file: string, write: (partial: string) => Promise<void>): Promise<void> {
  const target = await fileToReplace(file);
  await access(dirname(target), constants.W_OK);
  const partial = `${target}.partial`;
  const stop = (signal: NodeJS.Signals) => {
    rmSync(partial, { force: true });
    process.kill(process.pid, signal);
  };
  for (const signal of SIGNALS) process.once(signal, stop);
  try {
    await write(partial);
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
async function fileToReplace(file: string): Promise<string> {
  const known = await stat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
  // A device such as /dev/stdout would become a file, for every program.
  if (file === "" || (known && !known.isFile())) throw new WrongUse(`"${file}" is no file: name the file to write.`);
  return known ? await realpath(file) : file;
}
