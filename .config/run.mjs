/**
 * Prepares a clone (dependencies, database client, build, each only if it is out of date), then runs the given command.
 * So every command of package.json works right after `git clone`. Uses only Node: packages may not be installed yet.
 *
 *   node .config/run.mjs                          only prepares
 *   node .config/run.mjs dist/main.js …           runs a file of the build, in this process
 *   node .config/run.mjs --no-build vitest …      runs a package's command; `package/command` where the names differ
 *   node .config/run.mjs --watch dist/main.js …   restarts it after every change of the sources
 *   node .config/run.mjs --playground …           builds the playground's page, too
 *
 * It writes to stderr only: stdout belongs to the command.
 */
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import * as fs from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { clearForBuild } from "./old-builds.mjs";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const dist = join(root, "dist");
const lock = join(dist, ".lock");
const GENERATED = join("src", "platform", "prisma");
const LOCK_TIMEOUT_MS = 600_000;
const EMPTY_LOCK_MS = 2_000;
const PARENT_POLL_MS = 100;
const CHANGES_POLL_MS = 300;

class Failure extends Error {}

/** A step is done again when its sources have changed, or what it makes is missing. */
const client = {
  stamp: ".generated",
  message: "Generating the database client …",
  sources: ["prisma/schema.prisma", ".config/prisma.ts", "package-lock.json"],
  output: GENERATED,
  // Prisma needs no engine here, but would download one if it found none. Any existing program satisfies its check.
  run: () => tool("prisma", ["generate"], { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath }),
};
const build = {
  stamp: ".built",
  message: "Building …",
  sources: ["src", "tsconfig.json", ".config/rolldown.mjs", ...client.sources],
  output: "dist/main.js",
  run: () => {
    clearForBuild(dist);
    tool("typescript/tsc", ["-p", "tsconfig.json"]);
    tool("rolldown", ["--config", ".config/rolldown.mjs"]);
  },
};
const playground = {
  stamp: ".bundled",
  message: "Building the playground …",
  sources: ["src/surfaces/playground/client", "tsconfig.json", ".config/vite.ts", "package-lock.json"],
  output: "dist/playground",
  run: () => {
    tool("typescript/tsc", ["-p", "src/surfaces/playground/client"]);
    // Else a test's NODE_ENV would bundle React's own development build.
    tool("vite", ["build", "--config", ".config/vite.ts"], { NODE_ENV: "production" });
  },
};

async function main([...args]) {
  const options = new Set();
  while (args[0]?.startsWith("--")) options.add(args.shift());
  // Before all that takes long: a build must not be followed by a server that nobody stops.
  const endIfAlone = process.env.npm_lifecycle_event === undefined ? () => {} : endWithParent();
  checkNodeVersion();
  checkFolder();
  const wanted = options.has("--no-build") ? [client] : [client, build];
  if (options.has("--playground")) wanted.push(playground);
  if (!installed() || wanted.some(isOutdated)) await alone(() => makeReady(wanted));
  endIfAlone();
  const [name, ...rest] = args;
  if (name === undefined) return;
  const file = name.endsWith(".js") ? join(root, name) : commandOf(name);
  // `--help` and wrong arguments have an end.
  if (options.has("--watch") && rest.length === 0) return watch(file, wanted);
  // Runs in this process, so that signals, exit code and terminal are the command's own.
  process.argv = [process.execPath, file, ...rest];
  await import(pathToFileURL(file).href);
}

function checkNodeVersion() {
  const { engines } = readJson("package.json");
  const { node } = process.versions;
  const [major, minor] = node.split(".").map(Number);
  const isFine = engines.node.split(" || ").some((range) => {
    const [, sign, leastMajor, leastMinor] = /^(\^|>=)(\d+)\.(\d+)$/.exec(range);
    return major === Number(leastMajor) ? minor >= Number(leastMinor) : sign === ">=" && major > Number(leastMajor);
  });
  if (isFine) return;
  const inWords = engines.node.replaceAll(" ||", ",").replace(/\^(\d+)(\.\d+)/g, "$1 (from $1$2)");
  throw new Failure(`Node.js ${inWords.replace(/>=(\d+)\.\d+/, "$1 or later")} is needed; this is ${node}.`);
}

/** Bundlers take # and ? for parts of an address, and PostgreSQL's programs build shell commands from the others. */
function checkFolder() {
  const [sign] = /[#?"$`]/.exec(root) ?? [];
  if (sign)
    throw new Failure(`The path of this folder has a ${sign}, which some tools cannot handle: rename it. (${root})`);
}

function makeReady(wanted) {
  if (!installed()) install();
  for (const step of wanted.filter(isOutdated)) {
    say(step.message);
    const made = digest(step.sources);
    // A step that fails or is killed leaves no stamp, so it runs again.
    fs.rmSync(join(dist, step.stamp), { force: true });
    step.run();
    fs.writeFileSync(join(dist, step.stamp), made);
  }
}

/**
 * Compares the lock file with npm's list of installed packages. File times are no help: copying changes them. Packages
 * for this platform are missing if they were installed on another one, or by a Node.js that npm found too old for them.
 */
function installed() {
  if (!fs.existsSync(join(root, "node_modules", ".package-lock.json"))) return false;
  const present = readJson("node_modules/.package-lock.json").packages;
  const isNeeded = (path, { optional, os, cpu }) => {
    if (!optional) return true;
    // Linux has two C libraries, and one package for each.
    const other = path.replace(/(?:gnu|musl)(?=\w*$)/, (libc) => (libc === "gnu" ? "musl" : "gnu"));
    return os?.includes(process.platform) && cpu?.includes(process.arch) && present[other] === undefined;
  };
  return Object.entries(readJson("package-lock.json").packages).every(([path, locked]) => {
    const found = present[path];
    return path === "" || (found ? found.version === locked.version : !isNeeded(path, locked));
  });
}

function install() {
  say("Installing the dependencies (once, up to a minute) …");
  // Some users' settings of npm leave these out.
  const options = "--include=dev --include=optional --package-lock --no-audit --no-fund --loglevel=error";
  const cli = process.env.npm_execpath ?? "";
  // On Windows npm is a script, which only a shell runs.
  const [command, ...start] = /npm-cli\.c?js$/.test(cli) ? [process.execPath, cli] : ["npm"];
  const { status, error } = spawnSync(command, [...start, "ci", ...options.split(" ")], {
    cwd: root,
    stdio: ["ignore", 2, 2],
    shell: command === "npm" && process.platform === "win32",
  });
  if (status !== 0) {
    throw new Failure(`The dependencies could not be installed (${error?.message ?? "see above"}). Try again.`);
  }
}

function isOutdated({ stamp, sources, output }) {
  const file = join(dist, stamp);
  if (!fs.existsSync(join(root, output)) || !fs.existsSync(file)) return true;
  return fs.readFileSync(file, "utf8") !== digest(sources);
}

function digest(sources) {
  const hash = createHash("sha256");
  const add = (path) => {
    // The generated client comes from the schema, which is a source already.
    if (path === GENERATED) return;
    if (fs.statSync(join(root, path)).isDirectory()) {
      for (const name of fs.readdirSync(join(root, path)).sort()) add(join(path, name));
    } else {
      hash
        .update(`${path}\0`)
        .update(fs.readFileSync(join(root, path)))
        .update("\0");
    }
  };
  sources.forEach(add);
  return hash.digest("hex");
}

/** Runs a tool whose output matters only when it fails. */
function tool(name, args, env = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [commandOf(name), ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    encoding: "utf8",
  });
  if (status !== 0) throw new Failure(`${stdout ?? ""}${stderr ?? ""}\n${name} failed.`);
}

/** The script behind a package's command. The links in node_modules/.bin are shell scripts on Windows. */
function commandOf(name) {
  const [packageName, command = packageName] = name.split("/");
  const { bin } = readJson(`node_modules/${packageName}/package.json`);
  return join(root, "node_modules", packageName, typeof bin === "string" ? bin : bin[command]);
}

/** Runs `work` under a lock: two commands on a fresh clone must not install and build at the same time. */
async function alone(work) {
  fs.mkdirSync(dist, { recursive: true });
  for (let waited = false; !takeLock(); waited = true) {
    if (!waited) say(`Waiting for ${lockHolder()}, which makes this clone ready; if it does not, delete ${lock} …`);
    await new Promise((done) => setTimeout(done, 200));
  }
  try {
    work();
  } finally {
    fs.rmSync(lock, { force: true });
  }
}

function takeLock() {
  try {
    fs.writeFileSync(lock, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
  }
  if (lockIsStale()) fs.rmSync(lock, { force: true });
  return false;
}

function lockHolder() {
  try {
    return `process ${fs.readFileSync(lock, "utf8").trim() || "(unknown)"}`;
  } catch {
    return "another command";
  }
}

/**
 * A process that was killed leaves its lock behind; its pid may have been given to another since. One that was killed
 * before it wrote its pid, or whose disk was full, leaves an empty lock.
 */
function lockIsStale() {
  try {
    const ageMs = Date.now() - fs.statSync(lock).mtimeMs;
    if (ageMs > LOCK_TIMEOUT_MS) return true;
    const pid = Number(fs.readFileSync(lock, "utf8"));
    if (pid === 0) return ageMs > EMPTY_LOCK_MS;
    return pid === process.pid || (pid > 0 && !isRunning(pid));
  } catch {
    return false;
  }
}

function isRunning(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code !== "ESRCH";
  }
}

/**
 * Ends with npm's shell: npm forwards signals only to that shell, and most shells end without forwarding them.
 * Returns a function that looks at once: what was made ready may have kept the timer from firing.
 */
function endWithParent() {
  const parent = process.ppid;
  // On Windows the id stays when the parent has ended, and a process cannot send itself a signal that it can handle.
  const isWindows = process.platform === "win32";
  const endIfAlone = () => {
    if (isWindows ? isRunning(parent) : process.ppid === parent) return;
    clearInterval(timer);
    if (!isWindows) process.kill(process.pid, "SIGTERM");
    else if (!process.emit("SIGTERM", "SIGTERM")) process.exit(1);
  };
  const timer = setInterval(endIfAlone, PARENT_POLL_MS).unref();
  return endIfAlone;
}

/**
 * Restarts a file after every change of its sources. If a build fails, the running process continues. The compiler's
 * own watch mode misses changes on some file systems, and does not know the database client.
 */
function watch(file, wanted) {
  let child;
  const start = () => (child = spawn(process.execPath, [file], { cwd: root, stdio: "inherit" }));
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null && child.kill("SIGTERM")) await once(child, "exit");
  };
  let seen = digest(build.sources);
  const look = async () => {
    const now = digest(build.sources);
    if (now === seen) return;
    seen = now;
    await alone(() => makeReady(wanted));
    await stop();
    start();
  };
  start();
  let work = Promise.resolve();
  // Node 20's own watcher loses a file that an editor replaces by renaming; reading all of them takes milliseconds.
  const timer = setInterval(() => (work = work.then(look).catch((error) => say(error.message))), CHANGES_POLL_MS);
  const end = () => {
    clearInterval(timer);
    work = work.then(stop);
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, end);
}

function readJson(path) {
  return JSON.parse(fs.readFileSync(join(root, path), "utf8"));
}

function say(message) {
  process.stderr.write(`${message}\n`);
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  say(error.message);
  process.exitCode = 1;
}
