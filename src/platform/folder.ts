import { access, mkdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { codeOf, unlessCode } from "./error-code.js";

/**
 * Creates a folder and its missing parents. Node's option `recursive` loops forever where the system answers ENOENT to
 * every attempt, as below /proc.
 * @throws the system's error, with the path that cannot be created, or is a file.
 */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    const code = codeOf(error);
    // The slash at the end makes a file in the place of the folder an error.
    if (code === "EEXIST") return access(`${path}/`);
    const parent = dirname(resolve(path));
    if (code !== "ENOENT" || parent === resolve(path)) throw error;
    await makeFolder(parent);
    await mkdir(path).catch(unlessCode("EEXIST"));
  }
}
