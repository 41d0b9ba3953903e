import { spawnSync } from "node:child_process";
import { Agent, request } from "node:http";
import { type Socket, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, it, onTestFinished } from "vitest";
import { createTeam } from "../../src/features/teams/create-team.js";
import { LIMITS } from "../../src/limits.js";
import { startFaultyProxy } from "../support/faulty-proxy.js";
import { ask } from "../support/http.js";
import { listen } from "../support/listening.js";
import { lockMemories } from "../support/locks.js";
import { aMemory } from "../support/memories.js";
import { type ServerProcess, startServerProcess } from "../support/server-process.js";
import { openConnection } from "../support/socket.js";
import { manyOf } from "../support/teams.js";
import { type Actor, createWorld } from "../support/world.js";

const PATIENCE = { timeout: 60_000 };
const NOTE = { type: "general", title: "A note", content: "Something." };
const { echoMs } = LIMITS.stop;
/** How long requests may still run, and the whole stop may take, before what hangs is cut off. */
const STOP = { drainMs: 2_000, wholeMs: 3_000 };

/** These tests run the build, because they stop processes. */
beforeAll(() => {
  const { status, stderr } = spawnSync(process.execPath, [".config/run.mjs"], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
}, 600_000);

it("stops in time, even if its database, a request or a mail server hangs", async () => {
  await using world = await createWorld();
  await using network = await startFaultyProxy(world.databaseUrl);
  const mail = await startSilentServer();
  const ann = await world.user();
  await using server = await startServerProcess(
    {
      DATABASE_URL: network.url,
      SMTP_URL: `smtp://${mail.address}`,
      MAIL_FROM: "no-reply@example.com",
      PUBLIC_URL: "https://memory.example.com",
    },
    { stop: STOP },
  );
  await ask(`${server.url}/signup`, { body: { email: "bob@example.com" } });
  await expect.poll(() => mail.connections(), PATIENCE).toBeGreaterThan(0);
  await using lock = await lockMemories(world);
  const hanging = Array.from({ length: 3 }, () => ask(`${server.url}/v1/memories`, { key: ann.key }));
  const ended = Promise.allSettled(hanging);
  await expect.poll(() => lock.waiting(), PATIENCE).toBe(3);
  network.become("swallow");

  const begunAt = performance.now();
  await server.kill("SIGTERM");

  // A second to exit; the rest is for a machine that is busy with other tests.
  expect(performance.now() - begunAt).toBeLessThan(STOP.wholeMs + 6_000);
  await ended;
});

it("stops in time while the payment provider and the embeddings server hang, for a request and for background jobs", async () => {
  await using world = await createWorld();
  const [provider, embeddings] = [await startSilentServer(), await startSilentServer()];
  const ann = await world.user();
  await aMemory(ann);
  await ann.did(createTeam, { name: "Team", maxMembers: 10 });
  await using server = await startServerProcess(
    {
      DATABASE_URL: world.databaseUrl,
      STRIPE_API_BASE: `http://${provider.address}`,
      STRIPE_SECRET_KEY: "sk_test_nothing",
      STRIPE_WEBHOOK_SECRET: "whsec_nothing",
      STRIPE_TEAM_PRICE_ID: "price_nothing",
      EMBEDDINGS_URL: `http://${embeddings.address}`,
      EMBEDDINGS_MODEL: "one",
    },
    { stop: STOP },
  );
  const asked = ask(`${server.url}/billing/team-checkout`, { key: ann.key, body: {} }).catch(() => "cut off");
  await expect.poll(() => provider.connections(), PATIENCE).toBeGreaterThan(0);
  await expect.poll(() => embeddings.connections(), PATIENCE).toBeGreaterThan(0);
  // Also a request whose body never arrives.
  const endless = openConnection(server.url);
  endless.write(
    `POST /v1/memories HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${ann.key}\r\nContent-Length: 9\r\n\r\n`,
  );

  const begunAt = performance.now();
  await server.kill("SIGTERM");

  expect(performance.now() - begunAt).toBeLessThan(STOP.wholeMs + 6_000);
  endless.destroy();
  await asked;
});

/** Long timeouts: a request that waits for a lock must still wait when a busy machine reaches the next step. */
const PATIENT_LIMITS = {
  database: { lockWaitMs: 60_000, connectionWaitMs: 60_000, statementTimeoutMs: 60_000 },
  stop: { drainMs: 60_000, wholeMs: 90_000 },
};

it("opens no debugger at SIGUSR1: every user of the machine could run code by it", async ({ skip }) => {
  if (process.platform === "win32") return skip("Windows has no SIGUSR1.");
  await using world = await createWorld();
  await using server = await startServerProcess({ DATABASE_URL: world.databaseUrl, LOG_LEVEL: "warn" });

  server.child.kill("SIGUSR1");

  await expect.poll(server.printed, PATIENCE).toContain("no debugger is opened");
  expect(server.printed()).not.toContain("Debugger listening");
  expect((await ask(`${server.url}/readyz`)).status).toBe(200);
  return undefined;
});

it("stops at once at a second signal, even while a request waits", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await using server = await startServerProcess({ DATABASE_URL: world.databaseUrl }, PATIENT_LIMITS);
  await using lock = await lockMemories(world);
  const waiting = ask(`${server.url}/v1/memories`, { key: ann.key }).catch(() => "cut off");
  await expect.poll(() => lock.waiting(), PATIENCE).toBe(1);

  server.child.kill("SIGTERM");
  await expect.poll(() => isOpen(server), PATIENCE).toBe(false);
  await sleep(echoMs + 100);
  await server.kill("SIGTERM");

  expect(server.child.signalCode).toBe("SIGKILL");
  // Nobody released the lock meanwhile.
  expect([await lock.waiting(), await waiting]).toEqual([expect.any(Number), "cut off"]);
});

it("keeps answering for a while, so that proxies choose another server before it closes", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  await using server = await startServerProcess({ DATABASE_URL: world.databaseUrl }, { stop: { leaveMs: 5_000 } });

  const ended = server.kill("SIGTERM");
  await expect.poll(() => ask(`${server.url}/readyz`).then(({ status }) => status), PATIENCE).toBe(503);
  const { status, headers } = await ask(`${server.url}/v1/memories`, { key: ann.key });

  expect([status, headers.get("connection")]).toEqual([200, "close"]);
  expect(await ended).toBe(0);
});

it("loses no request of fifty clients that send on kept connections while it stops", async () => {
  await using world = await createWorld();
  const users = await manyOf(50, () => world.user());
  const { database } = PATIENT_LIMITS;
  const limits = { database, stop: { leaveMs: 2_000 } };
  await using server = await startServerProcess({ DATABASE_URL: world.databaseUrl }, limits);
  const statuses: Record<string, number> = {};
  const send = async ({ key }: Actor): Promise<void> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let sent = 0; ; sent++) {
      const answer = await post(agent, server.url, key, { ...NOTE, title: `Note ${sent}` });
      statuses[answer] = (statuses[answer] ?? 0) + 1;
      if (answer === "ECONNREFUSED") return;
    }
  };
  const clients = users.map(send);
  await expect.poll(() => statuses["201"] ?? 0, PATIENCE).toBeGreaterThan(100);

  expect(await server.kill("SIGTERM")).toBe(0);
  await Promise.all(clients);

  const stored = await world.database.models.memory.count();
  const { ECONNRESET: reset = 0, ...others } = statuses;
  expect(others).toEqual({ 201: stored, ECONNREFUSED: 50 });
  // The system resets a connection that is made in the instant between the last one accepted and the closed port.
  expect(reset).toBeLessThanOrEqual(2);
});

/** The status of an answer that was read to its end, or the code of the error. */
const post = (agent: Agent, url: string, key: string, body: object): Promise<string> =>
  new Promise((resolve) => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const fail = (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message);
    request(`${url}/v1/memories`, { agent, method: "POST", headers }, (response) => {
      response
        .on("error", fail)
        .on("end", () => resolve(String(response.statusCode)))
        .resume();
    })
      .on("error", fail)
      .end(JSON.stringify(body));
  });

it("finishes running requests when the same Ctrl-C arrives twice", async () => {
  await using world = await createWorld();
  const ann = await world.user();
  // A busy machine handles both signals late, and at different moments.
  const patient = { ...PATIENT_LIMITS, stop: { ...PATIENT_LIMITS.stop, echoMs: 20_000 } };
  await using server = await startServerProcess({ DATABASE_URL: world.databaseUrl }, patient);
  await using lock = await lockMemories(world);
  const created = ask(`${server.url}/v1/memories`, { key: ann.key, body: NOTE });
  await expect.poll(() => lock.waiting(), PATIENCE).toBe(1);

  server.child.kill("SIGINT");
  server.child.kill("SIGINT");
  await expect.poll(() => isOpen(server), PATIENCE).toBe(false);
  await lock.release();

  expect((await created).status).toBe(201);
  expect(await server.kill("SIGINT").then(() => server.child.exitCode)).toBe(0);
});

const isOpen = ({ url }: ServerProcess): Promise<boolean> =>
  ask(`${url}/healthz`).then(
    () => true,
    () => false,
  );

/** A server that accepts every connection and never answers. */
async function startSilentServer(): Promise<{ address: string; connections(): number }> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket.on("error", () => {})));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { address: `127.0.0.1:${await listen(server)}`, connections: () => sockets.length };
}
