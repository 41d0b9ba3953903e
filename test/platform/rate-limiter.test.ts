import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { networkOf, networksOf } from "../../src/operation/network.js";
import { ProcessBudgets } from "../../src/platform/rate-limit/rate-limiter.js";
import { RedisBudgets } from "../../src/platform/rate-limit/redis-budgets.js";
import { UseLog } from "../../src/platform/rate-limit/use-log.js";
import { loggerTo } from "../../src/platform/telemetry/logger.js";
import { useLimits } from "../support/limits.js";

const REDIS_URL = process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379";
// What a slow Redis answers late would be counted in the process.
useLimits("budgets", { redisWaitMs: 30_000 });

it("never reports more time left than the length of the window", async () => {
  let now = 0;
  const budgets = new ProcessBudgets(() => now);
  for (let n = 0; n < 10_000; n++) {
    // Uneven steps: sums of fractions are rounded up or down.
    now += Math.PI;
    const { resetMs } = await budgets.take(`name ${n}`, { limit: 1, cost: 1 });
    expect(resetMs).toBe(60_000);
  }
});

it("forgets the oldest budgets beyond a hundred thousand, and none before", async () => {
  const budgets = new ProcessBudgets(() => 0);
  const use = async (name: number) => (await budgets.take(`name ${name}`, { limit: 9, cost: 1 })).used;
  for (let name = 0; name < 100_000; name++) await use(name);

  expect(await use(0)).toBe(1);
  await use(100_000);
  expect(await use(1)).toBe(1);
  expect(await use(0)).toBe(0);
});

it("does not take a budget for old whose window began anew", async () => {
  let now = 0;
  const budgets = new ProcessBudgets(() => now);
  const use = async (name: string) => (await budgets.take(name, { limit: 9, cost: 1 })).used;
  await use("ann");
  now = 30_000;
  for (let name = 0; name < 99_999; name++) await use(`name ${name}`);
  now = 60_000;
  expect(await use("ann")).toBe(0);

  await use("one more");
  expect(await use("ann")).toBe(1);
  expect(await use("name 0")).toBe(0);
});

describe("a log of uses", () => {
  const [windowMs, limit] = [1_000, 100];
  const useAll = (log: UseLog, name: string, now: number) => {
    for (let used = 0; used < limit; used++) log.use(name, { limit, windowMs }, now);
  };
  const countOf = (log: UseLog, name: string, now: number) => log.use(name, { limit, windowMs }, now).length;

  it("forgets the oldest names beyond a million uses, and none before", () => {
    const log = new UseLog();
    for (let name = 0; name < 10_000; name++) useAll(log, `name ${name}`, 0);
    expect(countOf(log, "name 0", 0)).toBe(limit);

    countOf(log, "one more", 0);
    expect(countOf(log, "name 1", 0)).toBe(0);
    expect(countOf(log, "name 0", 0)).toBe(limit);
  });

  it("goes on where it was when it looks for old uses, instead of beginning anew at each use", () => {
    const log = new UseLog();
    const begins = vi.spyOn(Map.prototype, "entries");
    onTestFinished(() => begins.mockRestore());
    for (let name = 0; name < 1_000; name++) log.use(`name ${name}`, { limit, windowMs }, name);
    expect(begins.mock.calls.length).toBeLessThan(10);
  });

  it("forgets no use of its window for uses that have left it", () => {
    const log = new UseLog();
    for (let name = 0; name < 10_100; name++) useAll(log, `name ${name}`, name * windowMs);
    const now = 20_000 * windowMs;

    for (const name of ["ann", "bob"]) useAll(log, name, now);
    expect(countOf(log, "ann", now)).toBe(limit);
  });
});

it("starts a new window in Redis when the old one has less than a millisecond left", async ({ skip }) => {
  const redis = new Redis(REDIS_URL, { lazyConnect: true, connectTimeout: 500, retryStrategy: () => null });
  redis.on("error", () => {});
  await redis.connect().catch(() => skip(`There is no Redis at ${REDIS_URL}.`));
  const warnings: string[] = [];
  const budgets = new RedisBudgets(REDIS_URL, loggerTo({ write: (line) => void warnings.push(line) }, "warn"));
  const name = randomUUID();
  const wish = { limit: 1_000_000, cost: 1, windowMs: 2 };
  // Until Redis is connected, each process counts for itself; a long window shows when that has changed.
  const first = { ...wish, windowMs: 60_000 };
  const isInRedis = async () => (await budgets.take(`first ${name}`, first), redis.exists(`mg:budget:first ${name}`));
  await expect.poll(isInRedis).toBe(1);
  warnings.length = 0;

  // Windows of two milliseconds end all the time, also between two reads of one step.
  for (let n = 0; n < 3_000; n++) {
    const { resetMs } = await budgets.take(name, wish);
    expect(resetMs).toBeGreaterThan(0);
    expect(resetMs).toBeLessThanOrEqual(2);
  }

  expect(warnings).toEqual([]);
  await budgets.close();
  redis.disconnect();
});

it("lets exactly the allowed number of uses through over two processes with one Redis", async ({ skip }) => {
  const redis = new Redis(REDIS_URL, { lazyConnect: true, connectTimeout: 500, retryStrategy: () => null });
  redis.on("error", () => {});
  await redis.connect().catch(() => skip(`There is no Redis at ${REDIS_URL}.`));
  const budgets = ["one", "another"].map(() => new RedisBudgets(REDIS_URL, loggerTo({ write: () => {} }, "warn")));
  const [name, windowMs] = [randomUUID(), 1_000];
  const isInRedis = async (of: RedisBudgets, probe: string) => {
    await of.use(probe, { limit: 1, windowMs: 60_000 });
    return redis.exists(`mg:uses:${probe}`);
  };
  for (const one of budgets) {
    const probe = randomUUID();
    await expect.poll(() => isInRedis(one, probe)).toBe(1);
  }

  const use = (limit: number) =>
    Promise.all(budgets.flatMap((one) => Array.from({ length: 50 }, () => one.use(name, { limit, windowMs }))));
  const together = await use(7);
  await expect.poll(() => redis.exists(`mg:uses:${name}`)).toBe(0);
  const later = await use(7);

  const lengths = (answers: ReadonlyArray<readonly number[]>) =>
    answers.map(({ length }) => length).sort((a, b) => a - b);
  const expected = [0, 1, 2, 3, 4, 5, 6, ...Array.from({ length: 93 }, () => 7)];
  expect([lengths(together), lengths(later)]).toEqual([expected, expected]);
  expect(together.flat().every((age) => age >= 0 && age <= windowMs)).toBe(true);
  for (const one of budgets) await one.close();
  redis.disconnect();
});

it("keeps in Redis only the uses of the last window", async ({ skip }) => {
  const redis = new Redis(REDIS_URL, { lazyConnect: true, connectTimeout: 500, retryStrategy: () => null });
  redis.on("error", () => {});
  await redis.connect().catch(() => skip(`There is no Redis at ${REDIS_URL}.`));
  const budgets = new RedisBudgets(REDIS_URL, loggerTo({ write: () => {} }, "warn"));
  const name = randomUUID();
  const use = () => budgets.use(name, { limit: 1_000_000, windowMs: 200 });
  await expect.poll(async () => (await use(), redis.exists(`mg:uses:${name}`))).toBe(1);

  let ages = await use();
  // Until the first of these has left the window.
  for (let uses = 1; ages.length >= uses - 1; uses++) ages = await use();
  const kept = await redis.llen(`mg:uses:${name}`);

  // None, if all have expired by now.
  expect([0, ages.length + 1]).toContain(kept);
  await budgets.close();
  redis.disconnect();
});

it.each([
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["::ffff:c000:201", "192.0.2.1"],
  ["2001:db8:0:1::1", "2001:db8:0:1"],
  ["2001:0DB8:0000:0001:ffff:ffff:ffff:ffff", "2001:db8:0:1"],
  ["fe80::1%eth0", "fe80:0:0:0"],
  ["fe80::1:2:3:4%a:b:c:d", "fe80:0:0:0"],
  ["2001:db8:7:1::1%192.0.2.1", "2001:db8:7:1"],
  ["::1", "0:0:0:0"],
  ["64:ff9b::192.0.2.1", "64:ff9b:0:0"],
  ["", "unknown"],
  ["x".repeat(10_000), "unknown"],
])("counts %s as %s, however it is spelt", (address, network) => {
  expect(networkOf(address)).toBe(network);
});

it("charges an IPv6 address also to its /48, which has ten times the budget", () => {
  expect(networksOf("2001:db8:7:1::1")).toEqual([
    { network: "2001:db8:7:1", shares: 1 },
    { network: "2001:db8:7::/48", shares: 10 },
  ]);
  expect(networksOf("::ffff:192.0.2.1")).toEqual([{ network: "192.0.2.1", shares: 1 }]);
});
