import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type TestContext, describe, expect, it } from "vitest";
import { startEmbeddedPostgres } from "../../src/platform/embedded/index.js";
import { postmasterOf } from "../support/cluster.js";
import { kill, madeFolder, query } from "../support/embedded.js";

const PATIENCE = { timeout: 60_000, interval: 5 };
/** How long the processes wait for others to leave PostgreSQL. */
const OTHERS_LEAVE_MS = 200;

// On Windows no process can be paused.
describe.runIf(process.platform !== "win32")("a process that is paused", { concurrent: true }, () => {
  it("while it stops PostgreSQL stops none that another process has started meanwhile", async (test) => {
    const dataDir = await madeFolder(test);
    const child = run(
      test,
      `const { default: pg } = await import("pg");
      const postgres = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)} });
      const { query } = pg.Client.prototype;
      pg.Client.prototype.query = async function (...values) {
        const answer = await query.apply(this, values);
        // Nobody else is connected: now it would stop PostgreSQL.
        if (/pg_stat_activity/.test(values[0])) process.kill(process.pid, "SIGSTOP");
        return answer;
      };
      await postgres.stop();`,
    );
    await untilPaused(test, child);
    kill(postmasterOf(dataDir) ?? 0, "SIGKILL");
    await using other = await startEmbeddedPostgres({ dataDir });
    const postmaster = postmasterOf(dataDir);

    child.kill("SIGCONT");

    expect(await endOf(child)).toBe(0);
    expect([other.startedHere, postmasterOf(dataDir)]).toEqual([true, postmaster]);
    expect(await query(other.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  it("while it stops PostgreSQL lets others say whom they wait for, and then stops it", async (test) => {
    const dataDir = await madeFolder(test);
    const child = run(
      test,
      `const { default: pg } = await import("pg");
      const postgres = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)} });
      const { query } = pg.Client.prototype;
      pg.Client.prototype.query = async function (...values) {
        if (/pg_stat_activity/.test(values[0])) process.kill(process.pid, "SIGSTOP");
        return query.apply(this, values);
      };
      await postgres.stop();`,
    );
    await untilPaused(test, child);

    await test
      .expect(startEmbeddedPostgres({ dataDir }))
      .rejects.toThrow(
        `Another process has been stopping the embedded PostgreSQL in ${dataDir} for 10 s: if it is paused`,
      );
    child.kill("SIGCONT");

    test.expect(await endOf(child)).toBe(0);
    test.expect(postmasterOf(dataDir)).toBeUndefined();
  });

  it("while it waits for other connections to close looks once more, and stops PostgreSQL", async (test) => {
    const dataDir = await madeFolder(test);
    const child = run(
      test,
      `const { default: pg } = await import("pg");
      const postgres = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)} });
      const client = new pg.Client(postgres.url);
      await client.connect();
      const { query } = pg.Client.prototype;
      pg.Client.prototype.query = async function (...values) {
        const answer = await query.apply(this, values);
        if (!/pg_stat_activity/.test(values[0])) return answer;
        pg.Client.prototype.query = query;
        await client.end();
        process.kill(process.pid, "SIGSTOP");
        return answer;
      };
      await postgres.stop();`,
    );
    await untilPaused(test, child);
    const pausedAt = performance.now();
    await test.expect.poll(() => performance.now() - pausedAt, PATIENCE).toBeGreaterThan(OTHERS_LEAVE_MS);
    child.kill("SIGCONT");

    expect(await endOf(child)).toBe(0);
    expect(postmasterOf(dataDir)).toBeUndefined();
  });

  it("while it starts PostgreSQL does not take it for late", async (test) => {
    const dataDir = await madeFolder(test);
    // Waits in one turn, as if paused, from its first look until PostgreSQL is ready, and takes it for a minute.
    const child = run(
      test,
      `const { default: fs } = await import("node:fs");
      const { syncBuiltinESMExports } = await import("node:module");
      const { readFileSync } = fs;
      const now = performance.now.bind(performance);
      fs.readFileSync = (file, ...options) => {
        const text = readFileSync(file, ...options);
        if (!String(file).endsWith("postmaster.pid") || /ready/.test(text)) return text;
        while (!/ready/.test(readFileSync(file, "utf8"))) {}
        performance.now = () => now() + 61_000;
        return text;
      };
      syncBuiltinESMExports();
      const postgres = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)} });
      process.exitCode = postgres.startedHere ? 0 : 1;
      await postgres.abandon();`,
    );

    expect(await endOf(child)).toBe(0);
  });
});

/** Runs a script that may start the embedded PostgreSQL, and waits little for others to leave it. */
function run(test: TestContext, script: string): ChildProcess {
  const module = (path: string) => JSON.stringify(pathToFileURL(resolve("dist/modules", path)).href);
  const begin = `
    const { LIMITS } = await import(${module("limits.js")});
    LIMITS.embeddedDatabase.othersLeaveMs = ${OTHERS_LEAVE_MS};
    const { startEmbeddedPostgres } = await import(${module("platform/embedded/index.js")});`;
  const args = ["--input-type=module", "--eval", begin + script];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
  test.onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

/** Waits until a process has stopped itself. */
const untilPaused = (test: TestContext, { pid }: ChildProcess) =>
  test.expect
    .poll(() => spawnSync("ps", ["-o", "state=", "-p", String(pid)], { encoding: "utf8" }).stdout, PATIENCE)
    .toMatch(/^T/);

async function endOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return child.exitCode;
}
