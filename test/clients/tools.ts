import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** The folder of third-party clients and tools, with its own packages and lockfile. */
const FOLDER = fileURLToPath(new URL(".", import.meta.url));
const INSTALLED = `${FOLDER}node_modules/.installed`;
const LOCK = fileURLToPath(new URL("../../node_modules/.cache/clients-installing", import.meta.url));
const INSTALL_TIMEOUT_MS = 300_000;

const run = promisify(execFile);

/**
 * Runs a script of this folder, or a command of its node_modules, and returns its output. If it fails, the error's
 * message contains the output. Installs the packages first if needed.
 */
export async function runTool(script: string, ...args: readonly string[]): Promise<string> {
  await installed();
  try {
    const { stdout } = await run(process.execPath, [script, ...args], { cwd: FOLDER, maxBuffer: 1 << 24 });
    return stdout;
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`${script} failed:\n${stdout}${stderr}`, { cause: error });
  }
}

/** Test files run in parallel, and only one of them may install. */
async function installed(): Promise<void> {
  const wanted = createHash("sha256")
    .update(readFileSync(`${FOLDER}package-lock.json`))
    .digest("hex");
  const isInstalled = () => existsSync(INSTALLED) && readFileSync(INSTALLED, "utf8") === wanted;
  while (!isInstalled()) {
    if (!takeLock()) {
      await sleep(200);
      continue;
    }
    try {
      if (isInstalled()) return;
      // No package here needs its install scripts.
      const npm = process.platform === "win32" ? "npm.cmd" : "npm";
      const options = { cwd: FOLDER, timeout: INSTALL_TIMEOUT_MS, shell: process.platform === "win32" };
      await run(npm, ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], options);
      writeFileSync(INSTALLED, wanted);
    } finally {
      rmSync(LOCK, { recursive: true, force: true });
    }
  }
}

/** A lock older than its time belongs to an interrupted run. */
function takeLock(): boolean {
  mkdirSync(dirname(LOCK), { recursive: true });
  try {
    mkdirSync(LOCK);
    return true;
  } catch {
    const age = Date.now() - (statSync(LOCK, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > INSTALL_TIMEOUT_MS) rmSync(LOCK, { recursive: true, force: true });
    return false;
  }
}
