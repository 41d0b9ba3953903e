import * as fs from "node:fs";
import { join } from "node:path";

/** Their files are named by their content, so those of several builds fit beside each other. */
const FOLDERS = ["chunks", "assets"];
const BUILDS_KEPT = 10;
const FILE = ".builds";

/**
 * Prepares the folder for a build. A server that runs during the build loads some files later, such as that of the
 * thread for vectors: so the files of the last ten builds stay. Everything else goes, since files built from deleted
 * sources must not remain.
 */
export function clearForBuild(dist, now = Date.now()) {
  const builds = [...readBuilds(dist), now].slice(-BUILDS_KEPT);
  for (const name of fs.readdirSync(dist)) {
    if (FOLDERS.includes(name)) {
      if (builds.length === BUILDS_KEPT) removeOlder(join(dist, name), builds[0]);
    } else if (!name.startsWith(".") && name !== "playground") {
      fs.rmSync(join(dist, name), { recursive: true });
    }
  }
  fs.writeFileSync(join(dist, FILE), JSON.stringify(builds));
}

/** Whether a file of the folder is of its last build, not only of earlier ones. */
export function isPresent(dist, path) {
  const stats = fs.statSync(path);
  const isNamedByContent = FOLDERS.some((name) => path.startsWith(join(dist, name)));
  return !isNamedByContent || stats.isDirectory() || stats.mtimeMs >= (readBuilds(dist).at(-1) ?? 0);
}

/** When the last builds began. On a full disk the file may be empty or cut off, which must not prevent later builds. */
function readBuilds(dist) {
  const file = join(dist, FILE);
  const text = fs.existsSync(file) ? fs.readFileSync(file, "utf8") : "";
  return (text.match(/\d+/g) ?? []).map(Number);
}

/** A build writes each of its files again, so the time of a file is that of the last build that had it. */
function removeOlder(folder, time) {
  for (const name of fs.readdirSync(folder)) {
    const path = join(folder, name);
    if (fs.statSync(path).mtimeMs < time) fs.rmSync(path);
  }
}
