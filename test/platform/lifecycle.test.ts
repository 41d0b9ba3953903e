import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { acquireServerLock, startEmbeddedPostgres } from "../../src/platform/embedded/index.js";
import { postmasterOf } from "../support/cluster.js";
import { dataFolder, madeFolder, query } from "../support/embedded.js";
import { program as user } from "../../src/commands/user.js";
import { runHere, runProcess } from "../support/commands.js";
import { ask } from "../support/http.js";
import { lockMemories } from "../support/locks.js";
import { PATIENT } from "../support/patience.js";
import { startServerProcess } from "../support/server-process.js";
import { prepareDemoKey } from "../../src/features/access/index.js";
import { createWorld } from "../support/world.js";
import { environmentForProcess } from "../support/environment.js";

const root = resolve(import.meta.dirname, "../..");
/** How long anything may take while the machine is busy with other tests. */
const PATIENCE = { timeout: 90_000 };
vi.setConfig({ testTimeout: 240_000 });
const DEVELOPMENT = { NODE_ENV: "development" };
const NOTE = { type: "general", title: "A note", content: "Something." };

/** These tests run the build, because they stop and kill processes. */
beforeAll(() => {
  const { status, stderr } = spawnSync(process.execPath, [join(root, ".config/run.mjs")], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
}, 600_000);

it("answers running requests after a signal to stop, and exits with 0", async () => {
  await using world = await createWorld();
  const people = await Promise.all(Array.from({ length: 9 }, () => world.user()));
  // Also on a busy machine the requests still wait for the lock when the server no longer listens.
  const limits = { database: PATIENT, stop: { drainMs: 60_000, wholeMs: 90_000 } };
  await using server = await startServerProcess({ DATABASE_URL: world.databaseUrl }, limits);
  const { url } = server;
  await using lock = await lockMemories(world);

  const answers = Promise.all(people.map(({ key }) => ask(`${url}/v1/memories`, { key, body: NOTE })));
  await expect.poll(() => lock.waiting(), PATIENCE).toBe(people.length);
  const ended = server.kill("SIGTERM");
  await expect.poll(() => isOpen(url), PATIENCE).toBe(false);
  await lock.release();

  expect((await answers).map(({ status }) => status)).toEqual(people.map(() => 201));
  expect(await ended).toBe(0);
  expect(await world.database.models.memory.count()).toBe(people.length);
});

it.each([
  ["the server", false],
  ["the server and its PostgreSQL", true],
])(
  "keeps everything that was acknowledged when %s is killed, and starts again by itself",
  async (_what, withDatabase) => {
    const dataDir = await madeFolder();
    const server = start({ DATA_DIR: dataDir });
    const { url, key } = await server.ready();
    const acknowledged: string[] = [];
    const create = async (): Promise<void> => {
      const { status, body } = await ask(`${url}/v1/memories`, { key, body: NOTE });
      if (status !== 201) throw new Error(`A creation was answered with ${status}.`);
      acknowledged.push((body as { id: string }).id);
      if (acknowledged.length === 60) {
        server.child.kill("SIGKILL");
        if (withDatabase) process.kill(postmasterOf(dataDir) ?? 0, "SIGKILL");
      }
      return create();
    };

    const broken = await Promise.allSettled(Array.from({ length: 8 }, create));
    expect(broken.map(({ status }) => status)).toEqual(Array(8).fill("rejected"));
    expect(await server.ended).toEqual([null, "SIGKILL"]);

    const again = start({ DATA_DIR: dataDir });
    const { url: urlAgain, key: keyAgain } = await again.ready();
    const kept = await idsOf(urlAgain, key);
    expect(acknowledged.length).toBeGreaterThanOrEqual(60);
    expect(acknowledged.filter((id) => !kept.has(id))).toEqual([]);
    expect(keyAgain).toBe(key);
    // As when its terminal is closed.
    again.child.kill("SIGHUP");
    expect(await again.ended).toEqual([0, null]);
  },
);

it.each([
  ["is killed", "SIGKILL"],
  ["is stopped by hand", "SIGINT"],
] as const)(
  "answers 503 and goes on by itself when its PostgreSQL %s, and loses nothing",
  async (_what, signal) => {
    const dataDir = await madeFolder();
    const server = start({ DATA_DIR: dataDir });
    const { url, key } = await server.ready();
    const acknowledged: string[] = [];
    const statuses = new Set<number>();
    const until = Date.now() + 90_000;
    const create = async (): Promise<void> => {
      const { status, body } = await ask(`${url}/v1/memories`, { key, body: NOTE });
      statuses.add(status);
      if (status === 201) acknowledged.push((body as { id: string }).id);
      if (acknowledged.length === 30 && !statuses.has(503)) process.kill(postmasterOf(dataDir) ?? 0, signal);
      if (!(statuses.has(503) && acknowledged.length >= 60) && Date.now() < until) return create();
    };

    await Promise.all(Array.from({ length: 4 }, create));

    expect([...statuses].sort()).toEqual([201, 503]);
    const kept = await idsOf(url, key);
    expect(acknowledged.filter((id) => !kept.has(id))).toEqual([]);
    await expect.poll(async () => (await ask(`${url}/readyz`)).status, PATIENCE).toBe(200);
    expect(server.child.exitCode).toBeNull();
  },
  120_000,
);

it("logs a rejected promise that nothing waits for, and keeps answering", async () => {
  await using world = await createWorld();
  const onSignal = 'process.on("SIGUSR2", () => void Promise.reject(new Error("forgotten")));';
  const flags = ["--import", `data:text/javascript,${encodeURIComponent(onSignal)}`];
  await using server = await startServerProcess({ DATABASE_URL: world.databaseUrl }, {}, { flags });

  server.child.kill("SIGUSR2");

  await expect
    .poll(server.printed)
    .toMatch(/"level":"error".*forgotten.*a promise that nothing waits for was rejected/);
  const { status } = await ask(`${server.url}/healthz`);
  expect([status, server.child.exitCode]).toEqual([200, null]);
});

it("refuses a second server on the same data folder, and says what to do", async () => {
  const dataDir = await madeFolder();
  const { url } = await start({ DATA_DIR: dataDir }).ready();

  const second = start({ DATA_DIR: dataDir });

  expect(await second.ended).toEqual([1, null]);
  expect(second.errors()).toContain(`Another server is already running on the data folder ${dataDir}. Stop it, or`);
  expect((await ask(`${url}/readyz`)).status).toBe(200);
});

it("ends with a sentence when another server has taken over its data folder", async () => {
  const dataDir = await madeFolder();
  const server = start({ DATA_DIR: dataDir });
  await server.ready();
  await using postgres = await startEmbeddedPostgres({ dataDir });
  // Without its password the server cannot come back before the other one has the lock.
  const [shown, hidden] = [join(dataDir, "postgres/password"), join(dataDir, "hidden")];
  renameSync(shown, hidden);
  await query(
    await postgres.administratorUrl(),
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'memory-graph server lock'",
  );
  const other = await acquireServerLock(postgres.url, dataDir);
  renameSync(hidden, shown);

  expect(await server.ended).toEqual([1, null]);
  expect(server.errors()).toContain(`Another server is already running on the data folder ${dataDir}. Stop it, or`);
  await other.release();
});

it("creates users on the command line beside a running server, and prints one JSON value", async () => {
  const dataDir = await madeFolder();
  const { url } = await start({ DATA_DIR: dataDir }).ready();
  const create = ["create", "--email", "Ann@example.com", "--verified", "--plan", "free", "--json"];

  const made = await runProcess("user", create, { ...DEVELOPMENT, DATA_DIR: dataDir });

  const { key, ...told } = JSON.parse(made.output) as { key: string };
  expect([made.code, made.output.split("\n").length]).toEqual([0, 2]);
  expect(told).toEqual({ user_id: expect.any(String) as string, email: "ann@example.com" });
  const { body } = await ask(`${url}/me`, { key });
  expect(body).toMatchObject({
    email: "ann@example.com",
    plan: "free",
    email_verified_at: expect.any(String) as string,
  });

  const again = await runHere(user, create, { ...DEVELOPMENT, DATA_DIR: dataDir });
  expect([again.code, again.output]).toEqual([1, ""]);
  expect(again.errors).toContain("There is already a user with the address ann@example.com.");
});

it("creates users and keys without a server, as text or as JSON", async () => {
  await using world = await createWorld();
  const environment = { ...DEVELOPMENT, DATABASE_URL: world.databaseUrl, DATA_DIR: dataFolder() };

  const made = await runHere(user, ["create", "--email", "ann@example.com"], environment);
  const added = await runHere(user, ["key", "--email", "ann@example.com", "--json"], environment);
  const key = JSON.parse(added.output) as { email: string };
  const unknown = await runHere(user, ["key", "--email", "bob@example.com", "--json"], environment);
  const wrong = await runHere(user, ["create", "--email", "nobody", "--json"], environment);

  expect(made.output).toMatch(/^Created the user ann@example\.com, plan free\.\n[^]*Key {3}mg_live_\w{38}/);
  expect(Object.keys(key)).toEqual(["user_id", "email", "key"]);
  expect(await world.database.models.apiKey.count()).toBe(2);
  expect(unknown).toMatchObject({ code: 1, output: "", errors: expect.stringMatching(/^There is no user/) });
  expect(wrong).toMatchObject({ code: 2, output: "", errors: expect.stringContaining("not an e-mail address") });
});

it("keeps the demo key after restarts, as long as its file exists", async () => {
  await using world = await createWorld();
  const dataDir = dataFolder();
  const file = join(dataDir, "demo-key");
  const run = async () => {
    const server = start({ DATABASE_URL: world.databaseUrl, DATA_DIR: dataDir });
    const { url, key } = await server.ready();
    const { body } = await ask(`${url}/me`, { key });
    server.child.kill("SIGTERM");
    expect(await server.ended).toEqual([0, null]);
    return [key, (body as { email: string }).email, (body as { plan: string }).plan];
  };

  const first = await run();
  expect(first.slice(1)).toEqual(["demo@example.com", "pro"]);
  expect([readFileSync(file, "utf8"), statSync(file).mode & 0o077]).toEqual([`${first[0]}\n`, 0]);
  expect(await run()).toEqual(first);
  rmSync(file);
  const [otherKey, ...same] = await run();
  expect(same).toEqual(first.slice(1));
  expect(otherKey).not.toBe(first[0]);
});

it("uses one demo key for all databases that are used with a data folder, unless it was revoked in one", async () => {
  await using one = await createWorld();
  await using other = await createWorld();
  const dataDir = dataFolder();
  const keyOf = ({ services }: typeof one) => prepareDemoKey(services, dataDir);

  const key = await keyOf(one);
  expect([await keyOf(other), await keyOf(one)]).toEqual([key, key]);
  expect(await other.database.models.user.findMany({ select: { email: true, plan: true } })).toEqual([
    { email: "demo@example.com", plan: "pro" },
  ]);
  expect(await other.database.models.apiKey.count()).toBe(1);
  await one.database.models.apiKey.updateMany({ data: { revokedAt: one.services.now() } });
  const second = await keyOf(one);
  expect(second).not.toBe(key);
  expect([await keyOf(other), await other.database.models.apiKey.count()]).toEqual([second, 2]);
});

it("creates no demo user and shows no key in production", async () => {
  await using world = await createWorld();
  const server = start({ DATABASE_URL: world.databaseUrl, NODE_ENV: "production" });

  await expect.poll(server.output, PATIENCE).toMatch(/listens on http:\/\/127\.0\.0\.1:\d+\n/);
  server.child.kill("SIGINT");

  expect(await server.ended).toEqual([0, null]);
  expect(server.output()).not.toContain("mg_live_");
  expect(await world.database.models.user.count()).toBe(0);
});

it("prints an address that can be opened, and that it listens on all others, and where metrics are", async () => {
  await using world = await createWorld();
  const settings = { DATABASE_URL: world.databaseUrl, HOST: "0.0.0.0", METRICS_PORT: "0" };
  const developed = start({ ...settings, PUBLIC_URL: "https://memory.example.com" });
  await developed.ready();
  const produced = start({ ...settings, NODE_ENV: "production" });
  const metrics = /http:\/\/127\.0\.0\.1:\d+\/metrics\n/;

  // The tour knows the demo user's key on this machine only.
  expect(developed.output()).toMatch(/npm run tour -- --url http:\/\/127\.0\.0\.1:\d+\s/);
  expect(developed.output()).toMatch(metrics);
  await expect.poll(produced.output, PATIENCE).toMatch(metrics);
  expect(produced.output()).toMatch(/listens on all addresses of this machine, such as http:\/\/127\.0\.0\.1:\d+\n/);
});

it("refuses to start with a wrong configuration, and names every problem at once", async () => {
  const server = start({ PORT: "http", LOG_LEVEL: "loud", DATABASE_URL: "mysql://root:hush@db/x" });

  expect(await server.ended).toEqual([1, null]);
  for (const name of ["PORT", "LOG_LEVEL", "DATABASE_URL"]) expect(server.errors()).toContain(`  ${name} must be`);
  expect(server.errors()).not.toMatch(/hush|^\s+at /m);
});

it("refuses to start on a port that is in use, and says so", async () => {
  await using world = await createWorld();
  const { url } = await world.serve();

  const server = start({ DATABASE_URL: world.databaseUrl, PORT: new URL(url).port });

  expect(await server.ended).toEqual([1, null]);
  expect(server.errors()).toContain("EADDRINUSE");
  expect(server.errors()).not.toMatch(/^\s+at /m);
});

interface Running {
  readonly child: ChildProcess;
  /** Waits until the server listens. Returns its URL and, in development, the demo key. */
  ready(): Promise<{ url: string; key: string }>;
  output(): string;
  errors(): string;
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<[code: number | null, signal: string | null]>;
}

/** Starts the built server, by default on a free port. It is killed when the test ends. */
function start(environment: Record<string, string>): Running {
  const child = spawn(process.execPath, [join(root, "dist/main.js")], settings(environment));
  const said = { stdout: "", stderr: "" };
  child.stdout?.on("data", (chunk) => (said.stdout += String(chunk)));
  child.stderr?.on("data", (chunk) => (said.stderr += String(chunk)));
  const ended = once(child, "close").then(([code, signal]): [number | null, string | null] => [
    code as number | null,
    signal as string | null,
  ]);
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const ready = async () => {
    const told = () => /Address +(https?:\S+)[^]*Key +(mg_live_\w+)/.exec(said.stdout);
    await Promise.race([expect.poll(told, PATIENCE).toBeTruthy(), ended]);
    const [, url = "", key = ""] = told() ?? [];
    if (!url) throw new Error(`The server did not start: ${said.stderr}`);
    return { url, key };
  };
  return { child, ready, output: () => said.stdout, errors: () => said.stderr, ended };
}

/** Runs in a separate folder without `.env`, and without the environment variables of the tests. */
function settings(environment: Record<string, string>) {
  const ours = {
    HOST: "",
    PORT: "0",
    PUBLIC_URL: "",
    REDIS_URL: "",
    DATABASE_URL: "",
    DATA_DIR: "",
    LOG_LEVEL: "warn",
  };
  const env = { ...environmentForProcess(), ...ours, NODE_ENV: "development", ...environment };
  return { cwd: dataFolder(), env, stdio: "pipe" } as const;
}

const isOpen = (url: string): Promise<boolean> =>
  fetch(`${url}/healthz`).then(
    () => true,
    () => false,
  );

/** The ids of all memories, page by page. */
async function idsOf(url: string, key: string): Promise<Set<string>> {
  const ids = new Set<string>();
  for (let cursor: string | null = ""; cursor !== null;) {
    const { body } = await ask(`${url}/v1/memories?limit=100${cursor && `&cursor=${cursor}`}`, { key });
    const page = body as { memories: Array<{ id: string }>; next_cursor: string | null };
    for (const { id } of page.memories) ids.add(id);
    cursor = page.next_cursor;
  }
  return ids;
}
