import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** The folder of third-party clients and tools, with its own packages and lockfile. */
const FOLDER = fileURLToPath(new URL(".", import.meta.url));
const INSTALLED = `${FOLDER}node_modules/.installed`;
const CACHE = fileURLToPath(new URL("../../node_modules/.cache", import.meta.url));
const LOCK = `${CACHE}/clients-installing`;
const INSTALL_TIMEOUT_MS = 300_000;

const run = promisify(execFile);

/**
 * Runs a script of this folder, or a command of its node_modules, and returns its output. If it fails, the error's
 * message contains the output. Installs the packages first if needed.
 */
export async function runTool(script: string, ...args: readonly string[]): Promise<string> {
  await installOnce();
  try {
    const { stdout } = await run(process.execPath, [script, ...args], { cwd: FOLDER, maxBuffer: 1 << 24 });
    return stdout;
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`${script} failed:\n${stdout}${stderr}`, { cause: error });
  }
}

/** What `stripe-schemas.mjs` prints, kept until its sources change: it takes six seconds. */
export async function stripeSchemas(): Promise<Record<"answers" | "requests", object>> {
  const names = ["stripe-schemas.mjs", "stripe-answers.ts", "stripe-requests.ts", "tsconfig.json", "package-lock.json"];
  const hash = createHash("sha256");
  for (const name of [...names, "../../package-lock.json"]) hash.update(readFileSync(FOLDER + name)).update("\0");
  const file = `${CACHE}/stripe-schemas-${hash.digest("hex")}.json`;
  if (!existsSync(file)) {
    const printed = await runTool("stripe-schemas.mjs");
    const isOutdated = (name: string) => /^stripe-schemas-\w+\.json$/.test(name) && !file.endsWith(name);
    const outdated = readdirSync(CACHE).filter(isOutdated);
    for (const name of outdated) rmSync(`${CACHE}/${name}`, { force: true });
    const draft = `${file}-${process.pid}`;
    writeFileSync(draft, printed);
    // Renamed when it is complete, since another test file may read it.
    renameSync(draft, file);
  }
  return JSON.parse(readFileSync(file, "utf8")) as Record<"answers" | "requests", object>;
}

/** Test files run in parallel, and only one of them may install. */
async function installOnce(): Promise<void> {
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
