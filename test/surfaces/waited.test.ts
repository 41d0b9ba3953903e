import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { createMemories } from "../../src/features/bulk/create-memories.js";
import { CONNECTIONS_PER_ACCOUNT } from "../../src/operation/shares.js";
import { LIMITS } from "../../src/limits.js";
import { TOLD_FROM_MS, Waits } from "../../src/operation/waits.js";
import { aPayer, createBillingWorld } from "../support/billing.js";
import { ask } from "../support/http.js";
import { lockMemories } from "../support/locks.js";
import { openConnection, untilClosed } from "../support/socket.js";
import { type World, createWorld } from "../support/world.js";

interface Line {
  readonly operations: readonly string[];
  readonly duration_ms: number;
  readonly waited_ms?: Readonly<Record<string, number>>;
}

const linesOf = ({ log }: World): Line[] =>
  log.map((line) => JSON.parse(line) as Line).filter(({ operations }) => operations?.length > 0);
const BUSY_MS = 300;
const NOTE = { type: "general", title: "A note" };
const READ_SLOWLY = 4;
const SLOW_MS = 100;

const headOf = (path: string, key: string, length: number, more = ""): string =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n${more}` +
  `Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;

/** The values of all series. */
const readMetrics = (text: string): ReadonlyMap<string, number> =>
  new Map(Array.from(text.matchAll(/^(\w+(?:\{.*\})?) (\S+)$/gm), ([, series = "", value]) => [series, Number(value)]));

/** Returns a function that tells how many answers were made since, whether their clients have read them or not. */
function countAnswers(): () => number {
  let made = 0;
  const begin = "http.server.request.start";
  const watch = (message: unknown) => {
    (message as { readonly response: ServerResponse }).response.once("answered", () => made++);
  };
  subscribe(begin, watch);
  onTestFinished(() => void unsubscribe(begin, watch));
  return () => made;
}

it("tells for what a slow request has waited", async () => {
  await using world = await createWorld();
  const { url } = await world.serve({}, undefined, {}, LIMITS.database);
  const ann = await world.user();
  const list = () => ask(`${url}/v1/memories`, { key: ann.key });
  await list();
  {
    await using _lock = await lockMemories(world);
    await Promise.all(Array.from({ length: CONNECTIONS_PER_ACCOUNT + 1 }, list));
  }

  const [fast, ...slow] = linesOf(world);
  expect(Object.keys(fast?.waited_ms ?? {})).not.toContain("lock");
  for (const what of ["database", "lock", "account"]) {
    const waited = slow.map(({ waited_ms }) => waited_ms?.[what] ?? 0);
    expect([what, Math.max(...waited)]).toEqual([what, expect.toSatisfy((ms: number) => ms > 1_000)]);
  }
  for (const { duration_ms, waited_ms = {} } of slow) {
    for (const ms of Object.values(waited_ms)) expect(ms).toBeLessThanOrEqual(duration_ms + 1);
  }
});

it("counts the time in which the process was busy before it began a request", async () => {
  await using world = await createWorld();
  const { url, services } = await world.serve();
  const ann = await world.user();
  await ask(`${url}/v1/memories`, { key: ann.key });
  const find = services.database.run;
  let isBusy = false;
  // One request keeps the process busy; those that have arrived meanwhile wait.
  services.database.run = async (...given) => {
    if (isBusy) for (const end = performance.now() + BUSY_MS; performance.now() < end;) continue;
    isBusy = false;
    return find(...given);
  };

  // The first time, others may connect too late to arrive meanwhile.
  const askAtOnce = async () => {
    isBusy = true;
    await Promise.all(Array.from({ length: 8 }, () => ask(`${url}/v1/memories`, { key: ann.key })));
    const [, ...lines] = linesOf(world);
    return lines.some(({ waited_ms }) => Object.values(waited_ms ?? {}).some((ms) => ms > BUSY_MS / 2));
  };
  await expect.poll(askAtOnce).toBe(true);
});

it("tells how long Stripe, Redis and the client took", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aPayer(world, { seats: 7 });
  const { url, services } = await world.serve();
  const { budgets } = services;
  const take = budgets.take.bind(budgets);
  // As slowly as a Redis far away.
  budgets.take = async (...given) => {
    await wait(2 * TOLD_FROM_MS);
    return take(...given);
  };
  world.stripe.fail({ kind: "slow", delayMs: SLOW_MS });
  const waitedBy = (operation: string) =>
    linesOf(world).find(({ operations }) => operations.includes(operation))?.waited_ms ?? {};

  await ask(`${url}/billing/team-checkout`, { key: owner.key, body: {} });
  const body = JSON.stringify({ type: "fix", title: "Retry", content: "Wait longer each time." });
  const socket = openConnection(url);
  socket.write(headOf("/v1/memories", owner.key, body.length, "Connection: close\r\nExpect: 100-continue\r\n"));
  await once(socket, "data");
  await wait(2 * TOLD_FROM_MS);
  socket.write(body);
  await untilClosed(socket);

  expect(waitedBy("createTeamCheckout")["stripe"]).toBeGreaterThan(SLOW_MS / 2);
  await expect.poll(() => waitedBy("createMemory")["client"]).toBeGreaterThanOrEqual(TOLD_FROM_MS);
  expect(waitedBy("createMemory")["redis"]).toBeGreaterThanOrEqual(TOLD_FROM_MS);
});

it("counts waits in the metrics, where a client that reads slowly makes no request look slow", async () => {
  await using world = await createWorld({ fresh: true });
  const { url, metricsUrl = "" } = await world.serve({ METRICS_PORT: "0" });
  const ann = await world.user();
  const memories = Array.from({ length: 15 }, () => ({ ...NOTE, content: "It waits. ".repeat(5_000) }));
  for (let n = 0; n < 4; n++) await ann.does(createMemories, { memories });
  const body = JSON.stringify({ query: "{ memories(limit: 100) { memories { content } } }" });
  const socket = openConnection(url).pause();
  const head = headOf("/graphql", ann.key, body.length);
  const made = countAnswers();
  // Several answers, since one may fit into the buffers of the system.
  socket.write(`${head}${body}`.repeat(READ_SLOWLY));
  await expect.poll(made).toBe(READ_SLOWLY);
  await wait(BUSY_MS);
  socket.resume();
  const waited = 'memory_graph_waited_seconds_total{operation="memories",what="client"}';
  const took = 'memory_graph_request_duration_seconds_sum{door="graphql",operation="memories"}';
  const count = 'memory_graph_requests_total{door="graphql",operation="memories",outcome="ok"}';
  const read = async () => readMetrics(String((await ask(metricsUrl)).body));
  await expect.poll(async () => (await read()).get(count)).toBe(READ_SLOWLY);
  socket.destroy();

  const metrics = await read();
  const durations = linesOf(world).filter(({ operations }) => operations.includes("memories"));
  const all = durations.reduce((sum, { duration_ms }) => sum + duration_ms, 0) / 1_000;
  expect(metrics.get(waited)).toBeGreaterThan(BUSY_MS / 2_000);
  expect((metrics.get(took) ?? 0) + (metrics.get(waited) ?? 0)).toBeCloseTo(all, 1);
  expect(metrics.get('memory_graph_waited_seconds_total{operation="memories",what="database"}')).toBeGreaterThan(0);
});

it("counts waits at the same time once, and leaves out short ones", async () => {
  const waits = new Waits();
  const turn = waits.of("turn");
  turn.start();
  turn.start();
  turn.stop();
  await expect.poll(() => turn.ms).toBeGreaterThan(20);
  turn.stop();
  waits.of("key").add(9);

  expect(waits.told).toEqual({ turn: Math.round(turn.ms) });
  const { ms } = turn;
  await wait(5);
  expect(turn.ms).toBe(ms);
});
