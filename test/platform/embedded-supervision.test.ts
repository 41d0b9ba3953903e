import { execFile } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, renameSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { type TestContext, describe, expect, it } from "vitest";
import { PRESENCE_NAME, acquireServerLock, startEmbeddedPostgres } from "../../src/platform/embedded/index.js";
import { type KeptRunning, keepRunning } from "../../src/platform/embedded/supervision.js";
import { openDatabase } from "../../src/platform/database/database.js";
import { loggerTo } from "../../src/platform/telemetry/logger.js";
import { clusterOf } from "../../src/platform/embedded/home.js";
import { postmasterOf } from "../support/cluster.js";
import { kill, madeFolder, query } from "../support/embedded.js";

/** Waiting time for something that will not become free. */
const A_MOMENT_MS = 100;
/** The application name of the connection with the server's lock. */
const LOCK_NAME = "memory-graph server lock";
const PATIENCE = { timeout: 60_000, interval: 50 };

describe.concurrent("the embedded PostgreSQL under a server", () => {
  // This test comes first because it takes longest.
  it("is killed when it hangs while stopping", async (test) => {
    const dataDir = await madeFolder(test);
    const postgres = await startEmbeddedPostgres({ dataDir });
    const [writer] = await query<{ pid: number }>(
      postgres.url,
      "SELECT pid FROM pg_stat_activity WHERE backend_type IS NULL OR backend_type = 'checkpointer' LIMIT 1",
    );
    process.kill(writer?.pid ?? 0, "SIGSTOP");

    await postgres.stop();

    await test.expect.poll(() => postmasterOf(dataDir), PATIENCE).toBeUndefined();
  });

  it.for<[string, (dataDir: string, url: string) => Promise<unknown> | void]>([
    ["is killed", (dataDir) => kill(postmasterOf(dataDir) ?? 0, "SIGKILL")],
    ["is stopped by hand", (dataDir) => kill(postmasterOf(dataDir) ?? 0, "SIGINT")],
    ["is stopped at once", (dataDir) => kill(postmasterOf(dataDir) ?? 0, "SIGQUIT")],
    ["loses a process", async (_, url) => kill(await aBackend(url), "SIGKILL")],
    ["ends every connection", (_, url) => query(url, ENDS_OTHERS)],
    ["ends that of its presence", (_, url) => query(url, `${ENDS_OTHERS} AND application_name = '${PRESENCE_NAME}'`)],
    ["ends that of the lock", (_, url) => query(url, `${ENDS_OTHERS} AND application_name = '${LOCK_NAME}'`)],
  ])("restarts by itself on the same port after it %s, and takes the server's lock again", async ([, harm], test) => {
    const { dataDir, kept, log, works } = await start(test);
    await query(kept.databaseUrl, "CREATE TABLE note AS SELECT 'kept' AS text");
    const url = kept.databaseUrl;

    await harm(dataDir, url);
    await test.expect.poll(() => log.text(), PATIENCE).toContain("the embedded PostgreSQL runs again");

    expect(kept.databaseUrl).toBe(url);
    await test.expect.poll(works, PATIENCE).toBe(true);
    expect(await query(url, "SELECT text FROM note")).toEqual([{ text: "kept" }]);
    await expect(acquireServerLock(url, dataDir, A_MOMENT_MS)).rejects.toThrow("Another server is already running");
  });

  it("waits no longer for a PostgreSQL that has ended", async (test) => {
    const dataDir = await madeFolder(test);
    appendFileSync(join(clusterOf(join(dataDir, "postgres")), "postgresql.conf"), "nonsense = = 1\n");
    const module = JSON.stringify(pathToFileURL(resolve("dist/modules/platform/embedded/index.js")).href);
    const start = `
      const { startEmbeddedPostgres } = await import(${module});
      await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)} }).catch(() => {});
      console.log(process.getActiveResourcesInfo().filter((name) => name === "Timeout").length);
      process.exit();`;

    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", start]);

    expect(stdout.trim()).toBe("0");
  });

  it("restarts on another port when its own is in use, and connections use it", async (test) => {
    const { dataDir, kept, log, works, hide, show } = await start(test);
    const { port } = new URL(kept.databaseUrl);
    hide();
    kill(postmasterOf(dataDir) ?? 0, "SIGINT");
    await test.expect.poll(() => postmasterOf(dataDir), PATIENCE).toBeUndefined();
    const other = createServer().listen(Number(port), "127.0.0.1");
    test.onTestFinished(() => void other.close());
    await once(other, "listening");
    show();

    await test.expect.poll(() => log.text(), PATIENCE).toContain("the embedded PostgreSQL runs again");

    expect(new URL(kept.databaseUrl).port).not.toBe(port);
    await test.expect.poll(works, PATIENCE).toBe(true);
  });

  it("retries until it can start, and logs that once a minute", async (test) => {
    const { dataDir, log, works, hide, show } = await start(test);
    hide();
    kill(postmasterOf(dataDir) ?? 0, "SIGINT");
    await test.expect.poll(() => log.text(), PATIENCE).toContain("cannot be restarted");
    expect(await works()).toBe(false);
    const attempts = () => log.text().match(/"level":"debug".*could not be restarted/g)?.length;
    await test.expect.poll(attempts, PATIENCE).toBeGreaterThan(2);

    expect(log.text().match(/cannot be restarted/g)).toHaveLength(1);
    expect(log.text()).toContain(`The database in ${join(dataDir, "postgres")} is incomplete: restore a backup`);
    show();
    await test.expect.poll(works, PATIENCE).toBe(true);
  });

  it("stops a server when another one has taken over its data folder", async (test) => {
    const { dataDir, kept, hide, show } = await start(test);
    hide();
    await query(kept.databaseUrl, ENDS_OTHERS);
    const other = await acquireServerLock(kept.databaseUrl, dataDir);
    test.onTestFinished(() => other.release());
    show();

    expect((await kept.lost).message).toBe(
      `Another server is already running on the data folder ${dataDir}. Stop it, or set DATA_DIR to another folder.`,
    );
  });

  it("stops with its server", async (test) => {
    const { dataDir, kept } = await start(test);

    await kept[Symbol.asyncDispose]();

    expect(postmasterOf(dataDir)).toBeUndefined();
  });

  it("stops with its server, even while it waits for the server's lock", async (test) => {
    const { dataDir, kept, hide, show } = await start(test);
    const url = kept.databaseUrl;
    hide();
    await query(url, ENDS_OTHERS);
    const other = await acquireServerLock(url, dataDir);
    show();
    const locking = `SELECT FROM pg_stat_activity WHERE application_name = '${LOCK_NAME}'`;
    await test.expect.poll(async () => (await query(url, locking)).length, PATIENCE).toBe(2);

    const stopped = kept[Symbol.asyncDispose]();
    await other.release();
    await stopped;

    expect(postmasterOf(dataDir)).toBeUndefined();
  });

  it("stops with its server, even during a restart", async (test) => {
    const { dataDir, kept, log, hide } = await start(test);
    hide();
    kill(postmasterOf(dataDir) ?? 0, "SIGINT");
    await test.expect.poll(() => log.text(), PATIENCE).toContain("cannot be restarted");

    await kept[Symbol.asyncDispose]();

    await test.expect.poll(() => postmasterOf(dataDir), PATIENCE).toBeUndefined();
    expect(log.text()).not.toContain("runs again");
  });

  it("stops with its server while it starts again", async (test) => {
    if (process.platform === "win32") return test.skip("There no process can be paused.");
    const { dataDir, kept } = await start(test);
    const first = postmasterOf(dataDir) ?? 0;
    kill(first, "SIGKILL");
    await test.expect.poll(() => startedAfter(dataDir, first), { ...PATIENCE, interval: 1 }).toBe(true);
    const second = postmasterOf(dataDir) ?? Number.NaN;
    process.kill(second, "SIGSTOP");
    test.onTestFinished(() => kill(second, "SIGKILL"));

    await kept[Symbol.asyncDispose]();
    process.kill(second, "SIGCONT");

    await test.expect.poll(() => postmasterOf(dataDir), PATIENCE).toBeUndefined();
    return undefined;
  });
});

/** Whether another PostgreSQL runs on the folder than this one. */
function startedAfter(dataDir: string, first: number): boolean {
  const postmaster = postmasterOf(dataDir);
  return postmaster !== undefined && postmaster !== first;
}

/** A server's PostgreSQL, and connections to it like a server's. */
async function start(test: TestContext) {
  const dataDir = await madeFolder(test);
  const lines: string[] = [];
  const log = loggerTo({ write: (line) => void lines.push(line) }, "debug");
  const kept: KeptRunning = await keepRunning({ dataDir, log });
  const database = openDatabase(() => kept.databaseUrl);
  test.onTestFinished(async () => {
    await database[Symbol.asyncDispose]();
    await kept[Symbol.asyncDispose]();
  });
  const works = () =>
    database.pool.query("SELECT").then(
      () => true,
      () => false,
    );
  // A data folder without its password cannot be started on.
  const [shown, hidden] = [join(dataDir, "postgres/password"), join(dataDir, "hidden")];
  return {
    dataDir,
    kept,
    works,
    log: { text: () => lines.join("") },
    hide: () => renameSync(shown, hidden),
    show: () => renameSync(hidden, shown),
  };
}

const ENDS_OTHERS =
  "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = current_user AND pid <> pg_backend_pid()";

async function aBackend(url: string): Promise<number> {
  const rows = await query<{ pid: number }>(
    url,
    "SELECT pid FROM pg_stat_activity WHERE usename = current_user AND pid <> pg_backend_pid()",
  );
  return rows[0]?.pid ?? 0;
}
