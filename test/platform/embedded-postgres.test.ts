import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import pg from "pg";
import { type TestContext, describe, expect, it, onTestFinished, vi } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { onConnection } from "../../src/platform/database/one-connection.js";
import { PRESENCE_NAME, acquireServerLock, startEmbeddedPostgres } from "../../src/platform/embedded/index.js";
import { findRunningPort } from "../../src/platform/embedded/postmaster.js";
import { databaseOn } from "../bench/on-server.js";
import { lockFileOf, postmasterOf } from "../support/cluster.js";
import { dataFolder, kill, madeFolder, query } from "../support/embedded.js";

/** Tests that kill processes run the build in processes of their own. */
const BUILT = pathToFileURL(resolve(import.meta.dirname, "../../dist/modules/platform/embedded/index.js")).href;
/** Waiting time for something that will not become free. */
const A_MOMENT_MS = 100;

describe.concurrent("the embedded PostgreSQL", () => {
  it("is created by the first start and joined by the second", async (test) => {
    const dataDir = dataFolder(test);
    await using first = await startEmbeddedPostgres({ dataDir });
    await using second = await startEmbeddedPostgres({ dataDir });

    expect([first.startedHere, second.startedHere]).toEqual([true, false]);
    expect(second.url).toBe(first.url);
    await query(first.url, "CREATE TABLE note AS SELECT 'shared' AS text");
    expect(await query(second.url, "SELECT text FROM note")).toEqual([{ text: "shared" }]);
  });

  it("is durable, listens on loopback only, requires its password, and handles letters beyond ASCII", async (test) => {
    const dataDir = dataFolder(test);
    await using postgres = await startEmbeddedPostgres({ dataDir });

    const settings = `SELECT current_setting('fsync') AS fsync, current_setting('listen_addresses') AS addresses,
      current_setting('log_min_messages') AS messages`;
    // Errors of statements, with people's data, are not in its log.
    expect(await query(postgres.url, settings)).toEqual([{ fsync: "on", addresses: "127.0.0.1", messages: "log" }]);
    expect(statSync(join(dataDir, "postgres.log")).mode & 0o777).toBe(0o600);
    await query(postgres.url, "CREATE EXTENSION pg_trgm");
    expect(await query(postgres.url, "SELECT cardinality(show_trgm('жук')) AS count")).toEqual([{ count: 4 }]);
    const guessed = postgres.url.replace(/:[0-9a-f]+@/, ":guessed@");
    await expect(query(guessed, "SELECT")).rejects.toMatchObject({ code: "28P01" });
  });

  it("is stopped by the last process that uses it", async (test) => {
    const dataDir = await madeFolder(test);
    const [first, second] = await Promise.all([startEmbeddedPostgres({ dataDir }), startEmbeddedPostgres({ dataDir })]);

    await first.stop();
    expect(await query(second.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await second.stop();
    expect(postmasterOf(dataDir)).toBeUndefined();
  });

  it("is stopped once when all processes leave at the same moment", async (test) => {
    const dataDir = await madeFolder(test);
    const first = await startEmbeddedPostgres({ dataDir });
    const others = await Promise.all(Array.from({ length: 4 }, () => startEmbeddedPostgres({ dataDir })));

    await Promise.all([first, ...others].map((one) => one.stop()));

    expect(postmasterOf(dataDir)).toBeUndefined();
  });

  it("keeps running for another program's connection", async (test) => {
    const dataDir = await madeFolder(test);
    const postgres = await startEmbeddedPostgres({ dataDir });
    const client = new pg.Client(postgres.url);
    await client.connect();

    await postgres.stop();

    expect((await client.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
    await client.end();
  });

  it("can be stopped after it was killed", async (test) => {
    const dataDir = await madeFolder(test);
    const postgres = await startEmbeddedPostgres({ dataDir });
    process.kill(postmasterOf(dataDir) ?? 0, "SIGKILL");

    await expect(postgres.stop()).resolves.toBeUndefined();
    await expect(postgres.stop()).resolves.toBeUndefined();
  });

  it("keeps no connection of a start that fails", async (test) => {
    const dataDir = await madeFolder(test);
    await using first = await startEmbeddedPostgres({ dataDir });
    const inService = databaseOn(await first.administratorUrl(), "memory_graph");
    await query(inService, "REVOKE EXECUTE ON FUNCTION pg_advisory_lock_shared(int, int) FROM PUBLIC");

    await expect(startEmbeddedPostgres({ dataDir })).rejects.toThrow("permission denied for function pg_advisory_lock");

    const present = `SELECT FROM pg_stat_activity WHERE application_name = '${PRESENCE_NAME}'`;
    await test.expect.poll(async () => (await query(inService, present)).length).toBe(1);
  });

  it("is left in time when it hangs", async (test) => {
    if (process.platform === "win32") return test.skip("There no process can be paused.");
    const dataDir = await madeFolder(test);
    const postgres = await startEmbeddedPostgres({ dataDir });
    const [backend] = await query<{ pid: number }>(
      postgres.url,
      `SELECT pid FROM pg_stat_activity WHERE application_name = '${PRESENCE_NAME}'`,
    );
    pause(test, backend?.pid);
    await postgres.abandon();
    // The connections of commands, too.
    await onConnection({ url: postgres.url, variable: "DATABASE_URL" }, {}, async (client) => {
      const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
      pause(test, rows[0]?.pid);
    });

    pause(test, postmasterOf(dataDir));
    await expect(acquireServerLock(postgres.url, dataDir)).rejects.toThrow("timeout expired");
    return undefined;
  });

  it("empties its log at a start when that has grown too large", async (test) => {
    const dataDir = await madeFolder(test);
    const log = join(dataDir, "postgres.log");
    writeFileSync(log, "");
    truncateSync(log, LIMITS.embeddedDatabase.logBytes + 1);

    await using _postgres = await startEmbeddedPostgres({ dataDir });

    expect(statSync(log).size).toBeLessThan(LIMITS.embeddedDatabase.logBytes);
  });

  it("keeps its data over a stop and a start", async (test) => {
    const dataDir = await madeFolder(test);
    const before = await startEmbeddedPostgres({ dataDir });
    await query(before.url, "CREATE TABLE note AS SELECT 'kept' AS text");
    await before.stop();

    await using after = await startEmbeddedPostgres({ dataDir });

    expect(after.startedHere).toBe(true);
    expect(await query(after.url, "SELECT text FROM note")).toEqual([{ text: "kept" }]);
  });

  it("starts on a copy of its data folder", async (test) => {
    const [original, copy] = [await madeFolder(test), dataFolder(test)];
    const before = await startEmbeddedPostgres({ dataDir: original });
    await query(before.url, "CREATE TABLE note AS SELECT 'copied' AS text");
    await before.stop();
    cpSync(original, copy, { recursive: true });

    await using after = await startEmbeddedPostgres({ dataDir: copy });

    expect(await query(after.url, "SELECT text FROM note")).toEqual([{ text: "copied" }]);
  });

  it("recovers what was committed when all its processes are killed", async (test) => {
    const dataDir = await madeFolder(test);
    const before = await startEmbeddedPostgres({ dataDir });
    await query(before.url, "CREATE TABLE note AS SELECT 'committed' AS text");
    const backends = await query<{ pid: number }>(before.url, "SELECT pid FROM pg_stat_activity");
    for (const pid of [postmasterOf(dataDir) ?? 0, ...backends.map((backend) => backend.pid)]) kill(pid, "SIGKILL");

    await using after = await startEmbeddedPostgres({ dataDir });

    expect(after.startedHere).toBe(true);
    expect(await query(after.url, "SELECT text FROM note")).toEqual([{ text: "committed" }]);
    await before.stop();
  });

  it("starts when its lock file names the process of another program", async (test) => {
    const dataDir = await madeFolder(test);
    const before = await startEmbeddedPostgres({ dataDir });
    const lockFile = readFileSync(lockFileOf(dataDir), "utf8");
    await before.stop();
    writeFileSync(lockFileOf(dataDir), lockFile.replace(/^\d+/, String(process.pid)));

    await using after = await startEmbeddedPostgres({ dataDir });

    expect(after.startedHere).toBe(true);
  });

  it("works in a folder whose name has special characters of the shell", async (test) => {
    const dataDir = join(dataFolder(test), `it's "50 %" $HOME \`x\``);
    await using postgres = await startEmbeddedPostgres({ dataDir });

    expect(await query(postgres.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  it("creates one cluster when two processes start at once on a new folder", async (test) => {
    const dataDir = dataFolder(test);
    const children = [startChild(test, dataDir), startChild(test, dataDir)];
    const [first, second] = await Promise.all(children.map(answerOf));

    expect(second?.url).toBe(first?.url);
    expect(new Set([first?.startedHere, second?.startedHere])).toEqual(new Set([true, false]));
    expect(readdirSync(dataDir)).toEqual(["postgres", "postgres.log"]);
  });

  it("keeps running when the process that started it is killed, and is joined by the next", async (test) => {
    const dataDir = await madeFolder(test);
    const child = startChild(test, dataDir);
    const { url } = await answerOf(child);
    await killAndWait(child);

    await using next = await startEmbeddedPostgres({ dataDir });

    expect([next.startedHere, next.url]).toEqual([false, url]);
  });

  it("is created again after its creation was interrupted", async (test) => {
    const dataDir = dataFolder(test);
    const child = startChild(test, dataDir);
    await test.expect.poll(() => draftsIn(dataDir).length, { interval: 5 }).toBe(1);
    await killAndWait(child);

    const postgres = await startEmbeddedPostgres({ dataDir });
    expect(postgres.startedHere).toBe(true);
    await postgres.stop();

    const longAgo = new Date(Date.now() - 3_600_000);
    for (const draft of draftsIn(dataDir)) utimesSync(join(dataDir, draft), longAgo, longAgo);
    await (await startEmbeddedPostgres({ dataDir })).stop();
    expect(readdirSync(dataDir)).toEqual(["postgres", "postgres.log"]);
  });
});

describe.concurrent("the server lock", () => {
  it("refuses a second server, and is free after a release", async (test) => {
    const dataDir = await madeFolder(test);
    await using postgres = await startEmbeddedPostgres({ dataDir });
    const lock = await acquireServerLock(postgres.url, dataDir);

    await expect(acquireServerLock(postgres.url, dataDir, A_MOMENT_MS)).rejects.toThrow(
      `Another server is already running on the data folder ${dataDir}. Stop it, or set DATA_DIR to another folder.`,
    );
    await lock.release();
    await (await acquireServerLock(postgres.url, dataDir)).release();
  });

  it("is released at once after its holder was killed", async (test) => {
    const dataDir = await madeFolder(test);
    const holder = startChild(test, dataDir, { server: true });
    const { url } = await answerOf(holder);
    await expect(acquireServerLock(url, dataDir, A_MOMENT_MS)).rejects.toThrow("Another server is already running");
    await killAndWait(holder);

    await (await acquireServerLock(url, dataDir)).release();
  });

  it("does not end the process when PostgreSQL dies", async (test) => {
    const dataDir = await madeFolder(test);
    await using postgres = await startEmbeddedPostgres({ dataDir });
    const lock = await acquireServerLock(postgres.url, dataDir);

    process.kill(postmasterOf(dataDir) ?? 0, "SIGKILL");

    await expect(lock.release()).resolves.toBeUndefined();
  });
});

it.runIf(process.platform === "linux")("waits for a lock file that another start creates during the wait", async () => {
  const dataDir = dataFolder();
  const cluster = join(dataDir, "postgres", "cluster");
  mkdirSync(cluster, { recursive: true });
  // Processes that run in the cluster's folder, as PostgreSQL does.
  const [sooner, later] = [sleeperIn(cluster), sleeperIn(cluster)];
  const become = (text: string) => {
    writeFileSync(`${lockFileOf(dataDir)}.new`, text);
    renameSync(`${lockFileOf(dataDir)}.new`, lockFileOf(dataDir));
  };
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  become(`${sooner}\n\n0\n1\n\n\n\nstarting`);
  const home = { folder: join(dataDir, "postgres"), binaries: { folder: "", major: "" }, rights: { through: [] } };
  const looks = vi.spyOn(process, "kill");
  const seenBy = (pid: number) => expect.poll(() => looks).toHaveBeenCalledWith(pid, 0);

  const running = findRunningPort(home);
  vi.setSystemTime(Date.now() + 10_000);
  looks.mockClear();
  await seenBy(sooner);
  become("");
  await new Promise((passed) => setTimeout(passed, A_MOMENT_MS));
  become(`${later}\n\n0\n2\n\n\n\nready`);

  expect(await running).toBe(2);
});

/** The id of a process that does nothing in a folder until the test ends. */
function sleeperIn(cwd: string): number {
  const child = spawn("sleep", ["600"], { cwd, stdio: "ignore" });
  onTestFinished(() => void child.kill());
  return child.pid ?? 0;
}

/** A process in a group of its own that starts PostgreSQL, reports the result, and runs until it is killed. */
function startChild(test: TestContext, dataDir: string, { server = false } = {}): ChildProcess {
  const script = `
    import { acquireServerLock, startEmbeddedPostgres } from ${JSON.stringify(BUILT)};
    const { url, startedHere } = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)} });
    if (${server}) await acquireServerLock(url, ${JSON.stringify(dataDir)});
    console.log(JSON.stringify({ url, startedHere }));`;
  const args = ["--input-type=module", "--eval", script];
  const child = spawn(process.execPath, args, { detached: true, stdio: ["ignore", "pipe", "inherit"] });
  test.onTestFinished(() => killAndWait(child));
  return child;
}

async function answerOf(child: ChildProcess): Promise<{ url: string; startedHere: boolean }> {
  if (child.stdout === null) throw new Error("The child has no output.");
  const [output] = await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
  return JSON.parse(String(output));
}

async function killAndWait(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const ended = once(child, "exit");
  kill(-child.pid, "SIGKILL");
  await ended;
}

/** Stops a process, as one that hangs, until the test ends. */
function pause(test: TestContext, pid: number | undefined): void {
  // 0 would pause this process, too.
  if (pid === undefined) throw new Error("There is no such process.");
  process.kill(pid, "SIGSTOP");
  test.onTestFinished(() => void process.kill(pid, "SIGCONT"));
}

function draftsIn(dataDir: string): string[] {
  return readdirSync(dataDir).filter((name) => name.startsWith("postgres-init-"));
}
