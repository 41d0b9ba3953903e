import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** A path below a folder with the slashes of other systems, where Windows has its own. */
export const withSlashes = (path: string): string => path.replaceAll("\\", "/");

/** A new folder; it is removed after the test. */
export async function aFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "memory-graph-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
