import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { HOSTILE } from "../support/hostile-requests.js";
import { ask } from "../support/http.js";
import { linkMemories, storeMemories } from "../support/hubs.js";
import { type ServerProcess, freePort, startServerProcess } from "../support/server-process.js";
import { openConnection } from "../support/socket.js";
import { createWorld } from "../support/world.js";
import { LIMITS } from "../../src/limits.js";

/** While one request is worked on, everybody else waits. Nobody may wait longer than this. */
const PULSE_MAX_MS = 1_000;
/** How much more memory the process may use at the end than at its start. */
const MEMORY_MAX_MEGABYTES = 250;

it("answers other clients while it gets requests that cost much more to answer than to send", async () => {
  await using world = await createWorld();
  await using server = await startServerProcess({
    DATABASE_URL: world.databaseUrl,
    LOG_LEVEL: "error",
    TRUSTED_PROXIES: "1",
    PUBLIC_URL: "https://memory.example.com",
  });
  const before = residentMegabytes(server.child.pid);
  const surprises: unknown[] = [];

  for (const [index, { name, path, withKey, ask: request }] of HOSTILE.entries()) {
    const actor = withKey ? await world.user() : undefined;
    const headers = { ...request.headers, "x-forwarded-for": `10.1.${index >> 8}.${index & 255}` };
    const pulse = takePulse(server);
    const startedAt = performance.now();
    const answer = await ask(server.url + path, { ...request, key: actor?.key, headers }).catch((error: unknown) => ({
      status: String(error),
      body: "",
    }));
    const took = performance.now() - startedAt;
    const slowest = await pulse.stop();
    const length = JSON.stringify(answer.body ?? "").length;
    const isRefusal = answer.status !== 200;
    const isWrong =
      slowest > PULSE_MAX_MS || Number(answer.status) >= 500 || (isRefusal && length > LIMITS.refusal.bytes);
    if (isWrong) surprises.push({ name, withKey, status: answer.status, slowest, length, took });
  }

  expect(surprises).toEqual([]);
  expect(server.child.exitCode).toBe(null);
  expect(server.printed()).not.toContain('"level":"error"');
  // Caches are bounded; Prisma's engine is loaded with the first query of a model.
  expect(residentMegabytes(server.child.pid) - before).toBeLessThan(MEMORY_MAX_MEGABYTES);
});

/**
 * Asks the server every 100 ms whether it lives, and returns the slowest answer in milliseconds at the end. Time in
 * which the machine did other work does not count.
 */
function takePulse({ url, child: { pid } }: ServerProcess): { stop(): Promise<number> } {
  let slowest = 0;
  const end = new AbortController();
  const beat = async () => {
    while (!end.signal.aborted) {
      const [startedAt, workedBefore] = [performance.now(), workedMs(pid)];
      await ask(`${url}/healthz`);
      slowest = Math.max(slowest, Math.min(performance.now() - startedAt, workedMs(pid) - workedBefore));
      await sleep(100, undefined, { signal: end.signal }).catch(() => {});
    }
  };
  const beating = beat();
  return {
    async stop() {
      end.abort();
      await beating;
      return slowest;
    },
  };
}

/** How long the process has used a processor, in milliseconds; known only on Linux. */
function workedMs(pid: number | undefined): number {
  if (process.platform !== "linux") return performance.now();
  const [, fields = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
  const [user, system] = fields.split(" ").slice(11, 13).map(Number);
  return ((user ?? 0) + (system ?? 0)) * CLOCK_TICK_MS;
}

const CLOCK_TICK_MS = 10;

function residentMegabytes(pid: number | undefined): number {
  if (process.platform !== "linux") return 0;
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1_024;
}

it("answers other clients while many connections send thousands of requests at once", async () => {
  await using world = await createWorld();
  await using server = await startServerProcess({ DATABASE_URL: world.databaseUrl, LOG_LEVEL: "error" });
  const before = residentMegabytes(server.child.pid);
  const flood = "GET /v1/memories HTTP/1.1\r\nHost: a\r\n\r\n".repeat(2_000);
  const { port } = new URL(server.url);
  const pulse = takePulse(server);

  await Promise.all(
    Array.from({ length: 100 }, async () => {
      const socket = connect(Number(port), "127.0.0.1", () => socket.write(flood)).on("error", () => {});
      await new Promise((closed) => socket.once("close", closed));
    }),
  );

  expect(await pulse.stop()).toBeLessThan(2 * PULSE_MAX_MS);
  expect((await ask(`${server.url}/healthz`)).status).toBe(200);
  expect(residentMegabytes(server.child.pid) - before).toBeLessThan(MEMORY_MAX_MEGABYTES);
});

const POST = "POST /graphql HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n";

/** What clients send before they reset their connection. */
const RESET: Readonly<Record<string, string>> = {
  nothing: "",
  "half of a head": "GET /healthz HTTP/1.1\r\nHo",
  "half of a body": `${POST}Content-Length: 100\r\n\r\n{`,
  "half of a chunk": `${POST}Transfer-Encoding: chunked\r\n\r\nff\r\n{`,
  "an expectation": `${POST}Expect: 100-continue\r\nContent-Length: 100\r\n\r\n`,
  "a request": "GET /docs HTTP/1.1\r\nHost: a\r\n\r\n",
  "requests ahead": "GET /docs HTTP/1.1\r\nHost: a\r\n\r\n".repeat(20),
  "what is no request": "\0\0\0\0\r\n\r\n",
  "a tunnel": "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n",
  "a tunnel behind a request": "GET /docs HTTP/1.1\r\nHost: a\r\n\r\nCONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n",
  "another protocol": "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
};

it("goes on after clients reset their connection in the middle of anything", async () => {
  await using world = await createWorld();
  const metricsPort = await freePort();
  await using server = await startServerProcess({ DATABASE_URL: world.databaseUrl, METRICS_PORT: String(metricsPort) });
  const isAlive = () => ask(`${server.url}/healthz`).then(({ status }) => status, String);

  for (const [what, bytes] of Object.entries(RESET)) {
    for (const url of [server.url, `http://127.0.0.1:${metricsPort}`]) {
      for (const isRead of [false, true]) {
        const client = openConnection(url);
        client.allowHalfOpen = true;
        await new Promise((sent) => client.write(bytes, sent));
        // Asked later, so answered after the bytes were read, and again after the reset was.
        if (isRead) await isAlive();
        client.resetAndDestroy();
        expect(await isAlive(), what).toBe(200);
      }
    }
  }
  expect(await isAlive()).toBe(200);
});

const ALIKE = [..."bcdefg"].map((letter) => "a".repeat(32) + letter);

/** Twenty words for each of these beginnings. */
const beginningWith = (beginnings: readonly string[]): string[] =>
  beginnings.flatMap((beginning) => Array.from("bcdefghijklmnopqrstu", (letter) => beginning + letter.repeat(2)));

/** Contents, and queries that nearly match at every position of them. */
const NEARLY: ReadonlyArray<readonly [content: string, query: string]> = [
  // Hyphens also join the parts of names.
  [`${"-".repeat(60)} += x`, `${"-".repeat(26)}+x`],
  [beginningWith(ALIKE).join(" ").padEnd(50_000, " a"), ALIKE.join(" ")],
  [beginningWith(ALIKE).join(" ").padEnd(50_000, "-a"), ALIKE.join(" ")],
];

it("answers other clients while it searches texts that nearly match the query everywhere", async () => {
  await using world = await createWorld();
  await using server = await startServerProcess({ DATABASE_URL: world.databaseUrl, LOG_LEVEL: "error" });
  const surprises: unknown[] = [];

  for (const [content, query] of NEARLY) {
    const actor = await world.user();
    await storeMemories(world, actor, 10, content);
    await world.database.pool.query("SELECT count_words($1, 10000)", [actor.caller.personalGraphId]);
    const pulse = takePulse(server);
    const path = `/v1/memories/search?query=${encodeURIComponent(query)}`;
    const { status, body } = await ask(server.url + path, { key: actor.key });
    const slowest = await pulse.stop();
    const { total } = body as { total: number };
    if (slowest > PULSE_MAX_MS || status !== 200 || total !== 10) surprises.push({ query, slowest, status, total });
  }

  expect(surprises).toEqual([]);
});

/** The same field under many aliases, so that documents differ and each is parsed and validated again. */
const named = (count: number, name: string, field: string): string =>
  `{ ${Array.from({ length: count }, (_, n) => `${name}${n}: ${field}`).join(" ")} }`;
const HUBS = "memories(limit: 100) { memories { content relationships";

/** Simultaneous requests of one account, over memories that each lead to many others. */
const NEAR_BOUNDS: ReadonlyArray<readonly [name: string, documents: readonly string[]]> = [
  ["contents that are followed", Array(30).fill(`{ ${HUBS} { memory { content } } } } }`)],
  ["all of what is followed", Array(30).fill(`{ ${HUBS} { id type memory { id title summary tags version } } } } }`)],
  [
    "a level too many",
    Array(30).fill(`{ memories { memories { relationships { memory { relationships { relationshipId } } } } } }`),
  ],
  ["exports", Array.from({ length: 15 }, (_, n) => named(14, `a${n}x`, "exportAccount { memories { content } }"))],
  ["searches", Array.from({ length: 4 }, (_, n) => named(14, `a${n}x`, `searchMemories(query: "wrods") { total }`))],
  [
    "documents",
    Array.from({ length: 200 }, (_, n) => named(15, `a${n}x`, `viewer { ${"id email plan ".repeat(18)} }`)),
  ],
];

it("answers other clients while one account requests answers near their size limits", async () => {
  await using world = await createWorld();
  const { databaseUrl: DATABASE_URL } = world;
  await using server = await startServerProcess({ DATABASE_URL, LOG_LEVEL: "error", TRUSTED_PROXIES: "1" });
  const surprises: unknown[] = [];

  for (const [name, documents] of NEAR_BOUNDS) {
    const actor = await world.user();
    await storeMemories(world, actor, 100, "some words ".repeat(100));
    await linkMemories(world, actor, 60);
    const pulse = takePulse(server);
    const answers = await Promise.all(
      documents.map((query) => ask(`${server.url}/graphql`, { key: actor.key, body: { query } }).catch(String)),
    );
    const slowest = await pulse.stop();
    // On a busy machine some requests are refused because they waited too long.
    const isBroken = answers.some(
      (answer) => typeof answer === "string" || ![200, 400, 429, 503].includes(answer.status),
    );
    if (slowest > 2 * PULSE_MAX_MS || isBroken) surprises.push({ name, slowest, isBroken });
  }

  expect(surprises).toEqual([]);
  expect(server.child.exitCode).toBe(null);
  expect(server.printed()).not.toContain('"level":"error"');
});
