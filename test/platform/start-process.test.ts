import { spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { beforeAll, expect, inject, it, onTestFinished } from "vitest";
import { databaseOn, onServer } from "../bench/on-server.js";
import { aFolder } from "../support/folder.js";
import { ask } from "../support/http.js";
import { listen } from "../support/listening.js";
import { createWorld } from "../support/world.js";
import { type ServerProcess, startServerProcess } from "../support/server-process.js";
import { environmentForProcess } from "../support/environment.js";

beforeAll(() => {
  const { status, stderr } = spawnSync(process.execPath, [".config/run.mjs"], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
}, 600_000);

/** Causes a problem with the data folder, and returns changed environment variables. */
type Trouble = (folder: string) => Record<string, string> | Promise<Record<string, string>>;

const TROUBLES: ReadonlyArray<readonly [what: string, trouble: Trouble, sentence: RegExp]> = [
  ["the port is taken", async () => ({ PORT: await takenPort() }), /another program listens there\. Stop it/],
  ["the address is another machine's", () => ({ HOST: "203.0.113.9" }), /does not have the address\. Correct HOST/],
  ["the address is none", () => ({ HOST: "a b" }), /cannot listen on a b|HOST/],
  ["the URL of the database is none", () => ({ DATABASE_URL: "postgres://[" }), /DATABASE_URL must be a URL/],
  ["the database does not run", () => ({ DATABASE_URL: "postgres://a@127.0.0.1:1/b" }), /No PostgreSQL can be reached/],
  ["only PGSSLMODE asks for TLS", () => withModeOfTls("verify-full"), /offers no TLS: .*PGSSLMODE|is not trusted/],
  ["the data folder is a file", (folder) => ({ DATA_DIR: fileIn(folder) }), /is a file: set DATA_DIR to a folder/],
  ["the data folder's name is too long", () => ({ DATA_DIR: "d".repeat(3_000) }), /is too long: set DATA_DIR/],
  ...(process.platform === "linux"
    ? [
        [
          "nobody can make the data folder",
          () => ({ DATA_DIR: "/proc/none" }),
          /\/proc\/none cannot be .*DATA_DIR/,
        ] as const,
      ]
    : []),
  ["the demo user's key is a folder", (folder) => withFolder(folder, "demo-key"), /demo-key .*\(EISDIR\)/],
  ["the stand-in's file is damaged", (folder) => withDamage(folder), /is damaged: delete it, then start again/],
];

/** An address that says nothing about TLS, and the variable of PostgreSQL's own programs that then counts. */
const withModeOfTls = (PGSSLMODE: string) => ({
  PGSSLMODE,
  DATABASE_URL: inject("databaseServer").url.replace(/\?.*/, ""),
});

it.each(TROUBLES)("ends with a sentence and no stack when %s", async (_what, trouble, sentence) => {
  await using world = await createWorld();
  const folder = await aFolder();
  const given = await trouble(folder);

  const { code, said } = await start({ DATABASE_URL: world.databaseUrl, DATA_DIR: folder, ...given });

  expect(said).toMatch(sentence);
  expect(said).not.toMatch(/^ {4}at /m);
  expect(code).toBe(1);
});

it("says no error where Ctrl-C ends the programs that create the database", async () => {
  const folder = await aFolder();
  const env = { ...environmentForProcess(), DATA_DIR: folder, PORT: "0", DATABASE_URL: "" };
  // A group of its own, which Ctrl-C reaches as a whole.
  const child = spawn(process.execPath, ["dist/main.js"], { env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => (said += String(bytes)));
  const isCreating = () =>
    readdirSync(folder).some((name) => existsSync(join(folder, name, "cluster", "global", "pg_control")));
  await expect.poll(isCreating, { interval: 20 }).toBe(true);
  process.kill(-(child.pid ?? 0), "SIGINT");
  await once(child, "exit");

  expect(said).toBe("The service was stopped while it started.\n");
  expect(child.exitCode).toBe(0);
});

it("lets servers in development that start at once with one data folder share one stand-in for Stripe", async () => {
  await using world = await createWorld();
  const folder = await aFolder();
  const environment = { DATABASE_URL: world.databaseUrl, DATA_DIR: folder, NODE_ENV: "development" };
  const paymentsOf = async (server: ServerProcess) => {
    await expect.poll(server.printed).toContain("Ctrl-C stops the service.");
    return /a stand-in for Stripe, (\S+),/.exec(server.printed())?.[1];
  };

  const [first, second] = await Promise.all([startServerProcess(environment), startServerProcess(environment)]);
  await using _first = first;
  await using _second = second;
  const address = await paymentsOf(first);
  expect(address).toMatch(/^http/);
  expect(await paymentsOf(second)).toBe(address);
  await first.kill("SIGKILL");
  await second.kill("SIGKILL");
  await using third = await startServerProcess(environment);

  // So that links of before still work.
  expect(await paymentsOf(third)).toBe(address);
});

it("exits with one sentence when the limit of open files is too low", async ({ skip }) => {
  if (process.platform === "win32") return skip("There is no such limit.");
  const command = `ulimit -n 40 && exec "${process.execPath}" dist/main.js`;

  const { status, stderr } = spawnSync("sh", ["-c", command], { encoding: "utf8" });

  expect([status, stderr]).toEqual([1, expect.stringMatching(/^This process may not open 256 files, .*\.\n$/)]);
  return undefined;
});

it("exits with one sentence when it may not use the memory that Prisma needs, instead of serving a part", async ({
  skip,
}) => {
  if (process.platform !== "linux") return skip("There is no such limit.");
  await using world = await createWorld();
  const limited = (rest: string) =>
    spawnSync("sh", ["-c", `ulimit -v 3000000 && exec "${process.execPath}" ${rest}`], {
      encoding: "utf8",
      timeout: 60_000,
      env: { ...environmentForProcess(), DATABASE_URL: world.databaseUrl, PORT: "0", NODE_ENV: "production" },
    });
  if (limited(`-e 'new WebAssembly.Memory({ initial: 1 })'`).status === 0) return skip("This Node.js reserves less.");

  const { status, stderr } = limited("dist/main.js");

  expect([status, stderr]).toEqual([1, expect.stringMatching(/^This process may not use enough memory .*\.\n$/)]);
  return undefined;
});

it("accepts as many connections as it may open files, less some of its own, and goes on answering", async ({
  skip,
}) => {
  if (process.platform !== "linux") return skip("Only on Linux this machine has many addresses of its own.");
  await using world = await createWorld();
  const environment = { DATABASE_URL: world.databaseUrl, LOG_LEVEL: "warn" };
  await using server = await startServerProcess(environment, {}, { openFiles: 400 });
  const clients = Array.from({ length: 500 }, (_, n) => {
    const from = { localAddress: `127.0.0.${2 + (n % 100)}`, port: Number(new URL(server.url).port) };
    const client = connect({ ...from, host: "127.0.0.1" }, () =>
      client.write("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"),
    );
    return client.on("error", () => {}).resume();
  });
  onTestFinished(() => clients.forEach((client) => client.destroy()));

  await expect.poll(() => clients.filter(({ closed, bytesRead }) => !closed && bytesRead === 0)).toEqual([]);
  expect(clients.filter(({ closed }) => !closed).length).toBeLessThanOrEqual(272);

  // One more is closed, and so is one that has been idle for a second: the next try finds room.
  await expect.poll(() => ask(`${server.url}/readyz`).catch(String)).toMatchObject({ status: 200 });
  // The log line is written a moment later.
  await expect.poll(server.printed).toContain("may open 400 files, so it accepts 272 connections at a time");
  return undefined;
});

it("says in one line how many migrations a first start applied", async () => {
  await using server = await startServerProcess({ DATABASE_URL: await emptyDatabase(), LOG_LEVEL: "info" });

  // The log line is written a moment later.
  await server.kill("SIGTERM");
  const lines = server.printed().split("\n");

  expect(lines.filter((line) => line.includes("migration"))).toEqual([
    expect.stringMatching(/"count":[1-9]\d+,"newest":"\d+_\w+","msg":"migrations applied"/),
  ]);
});

it("keeps no process running after the database is migrated", async () => {
  const script = `
    import { migrate } from "./dist/modules/platform/database/migrations.js";
    const applied = await migrate(${JSON.stringify(await emptyDatabase())});
    console.log(JSON.stringify({ applied: applied.length, timers: process.getActiveResourcesInfo().filter(isTimer) }));
    function isTimer(name) { return name === "Timeout"; }`;

  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", script], {
    encoding: "utf8",
  });

  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toEqual({ applied: expect.any(Number) as number, timers: [] });
});

async function emptyDatabase(): Promise<string> {
  const { url, prefix } = inject("databaseServer");
  const name = `${prefix}${randomUUID().replaceAll("-", "")}`;
  await onServer(url, async (server) => void (await server.query(`CREATE DATABASE ${name}`)));
  return databaseOn(url, name);
}

/** Starts the build and waits until it ends by itself. */
async function start(environment: Record<string, string>): Promise<{ code: number | null; said: string }> {
  const env = { ...environmentForProcess(), PORT: "0", NODE_ENV: "development", LOG_LEVEL: "error", ...environment };
  const child = spawn(process.execPath, ["dist/main.js"], { env, stdio: ["ignore", "ignore", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let said = "";
  child.stderr.on("data", (bytes) => (said += String(bytes)));
  await once(child, "close");
  return { code: child.exitCode, said };
}

async function takenPort(): Promise<string> {
  const server = createServer();
  onTestFinished(() => void server.close());
  return String(await listen(server));
}

function fileIn(folder: string): string {
  writeFileSync(join(folder, "file"), "");
  return join(folder, "file");
}

function withFolder(folder: string, name: string): Record<string, string> {
  mkdirSync(join(folder, name));
  return {};
}

function withDamage(folder: string): Record<string, string> {
  writeFileSync(join(folder, "stand-in-stripe.json"), "{");
  return {};
}
