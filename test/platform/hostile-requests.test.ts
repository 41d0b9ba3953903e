import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { HOSTILE } from "../support/hostile-requests.js";
import { ask } from "../support/http.js";
import { startServerProcess } from "../support/server-process.js";
import { createWorld } from "../support/world.js";
import { LIMITS } from "../../src/limits.js";

/** While one request is worked on, everybody else waits; nobody waits longer than this. */
const PULSE_MAX_MS = 1_000;
/** How much more memory the process may have at the end than at its start. */
const MEMORY_MAX_MEGABYTES = 250;

it("answers everybody else while it is sent what costs more than it is worth", { timeout: 300_000 }, async () => {
  await using world = await createWorld();
  await using server = await startServerProcess({
    DATABASE_URL: world.databaseUrl,
    LOG_LEVEL: "error",
    TRUSTED_PROXIES: "1",
  });
  const before = residentMegabytes(server.child.pid);
  const surprises: unknown[] = [];

  for (const [index, { name, path, withKey, ask: request }] of HOSTILE.entries()) {
    const actor = withKey ? await world.user() : undefined;
    const headers = { ...request.headers, "x-forwarded-for": `10.1.${index >> 8}.${index & 255}` };
    const pulse = takePulse(server.url);
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
  // What is remembered is bounded, and Prisma's engine is loaded with the first model.
  expect(residentMegabytes(server.child.pid) - before).toBeLessThan(MEMORY_MAX_MEGABYTES);
});

/** Asks every 100 ms whether the server lives; answers at the end with the slowest answer, in milliseconds. */
function takePulse(url: string): { stop(): Promise<number> } {
  let slowest = 0;
  const end = new AbortController();
  const beat = async () => {
    while (!end.signal.aborted) {
      const startedAt = performance.now();
      await ask(`${url}/healthz`);
      slowest = Math.max(slowest, performance.now() - startedAt);
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

function residentMegabytes(pid: number | undefined): number {
  if (process.platform !== "linux") return 0;
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1_024;
}

it("answers everybody else while many connections bring thousands of requests at once", async () => {
  await using world = await createWorld();
  await using server = await startServerProcess({ DATABASE_URL: world.databaseUrl, LOG_LEVEL: "error" });
  const before = residentMegabytes(server.child.pid);
  const flood = "GET /v1/memories HTTP/1.1\r\nHost: a\r\n\r\n".repeat(2_000);
  const { port } = new URL(server.url);
  const pulse = takePulse(server.url);

  await Promise.all(
    Array.from({ length: 100 }, async () => {
      const socket = connect(Number(port), "127.0.0.1", () => socket.write(flood)).on("error", () => {});
      await new Promise((closed) => socket.once("close", closed));
    }),
  );

  expect(await pulse.stop()).toBeLessThan(2 * PULSE_MAX_MS);
  expect((await ask(`${server.url}/healthz`)).status).toBe(200);
  expect(residentMegabytes(server.child.pid) - before).toBeLessThan(MEMORY_MAX_MEGABYTES / 2);
});
