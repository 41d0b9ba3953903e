import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { loggerTo } from "../../src/platform/logger.js";
import { RedisBudgets } from "../../src/platform/redis-budgets.js";
import { startFaultyProxy } from "../support/faulty-proxy.js";

const REDIS_URL = process.env["REDIS_URL"];
const PATIENCE = { timeout: 60_000, interval: 100 };

it.skipIf(!REDIS_URL).each(["swallow", "dribble", "refuse"] as const)(
  "keeps counting in the process under load while the network to Redis does this: %s",
  async (weather) => {
    await using network = await startFaultyProxy(REDIS_URL ?? "");
    const told: string[] = [];
    const budgets = new RedisBudgets(network.url, loggerTo({ write: (line) => void told.push(line) }, "info"));
    const wish = { limit: 60, cost: 1 };
    const name = randomUUID();
    const isShared = async () => (await budgets.take(`${name} ${randomUUID()}`, wish)) && told.at(-1)?.includes("back");
    // Before it is connected, Redis counts as lost, as after a fault.
    await expect.poll(isShared, PATIENCE).toBe(true);

    network.become(weather);
    const asked = Array.from({ length: 3 * LIMITS.budgets.askingRedis }, () => budgets.take(name, wish));
    const passed = (await Promise.all(asked)).filter(({ used }) => used + 1 <= wish.limit);
    expect(passed).toHaveLength(wish.limit);
    expect(told.at(-1)).toContain("Redis is lost");

    network.become("forward");
    await expect.poll(isShared, PATIENCE).toBe(true);
    await budgets.close();
  },
);

it.skipIf(!REDIS_URL)("lets only so many wait for a Redis that hangs: all others are counted at once", async () => {
  await using network = await startFaultyProxy(REDIS_URL ?? "");
  const told: string[] = [];
  const budgets = new RedisBudgets(network.url, loggerTo({ write: (line) => void told.push(line) }, "info"));
  const take = () => budgets.take(randomUUID(), { limit: 60, cost: 1 });
  await expect.poll(async () => (await take()) && told.at(-1)?.includes("back"), PATIENCE).toBe(true);
  network.become("swallow");

  const settled: string[] = [];
  const waiting = Array.from({ length: LIMITS.budgets.askingRedis }, () => take().then(() => settled.push("waited")));
  await Promise.all([...waiting, take().then(() => settled.push("did not wait"))]);

  expect(settled).toEqual(["did not wait", ...waiting.map(() => "waited")]);
  await budgets.close();
});

it("says why Redis cannot be reached", async () => {
  const told: string[] = [];
  const budgets = new RedisBudgets("redis://127.0.0.1:1", loggerTo({ write: (line) => void told.push(line) }, "info"));
  await expect.poll(() => told.join(""), PATIENCE).toContain('"reason":"connect ECONNREFUSED 127.0.0.1:1"');
  await budgets.close();
});
