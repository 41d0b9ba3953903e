import { mkdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";

/**
 * Makes a folder and those above it that are missing. Node's own way (`recursive`) never ends where the system makes no
 * folder and says that there is none, as below /proc.
 * @throws the system's error, with the path that cannot be made.
 */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return;
    const parent = dirname(resolve(path));
    if (code !== "ENOENT" || parent === resolve(path)) throw error;
    await makeFolder(parent);
    await mkdir(path).catch((again: NodeJS.ErrnoException) => {
      if (again.code !== "EEXIST") throw again;
    });
  }
}
