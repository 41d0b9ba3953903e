import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type Socket, createServer } from "node:net";
import { Redis } from "ioredis";
import { expect, it } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { loggerTo } from "../../src/platform/telemetry/logger.js";
import { RedisBudgets } from "../../src/platform/rate-limit/redis-budgets.js";
import { startFaultyProxy } from "../support/faulty-proxy.js";
import { useLimits, withLimits } from "../support/limits.js";
import { listen } from "../support/listening.js";

const REDIS_URL = process.env["REDIS_URL"];
const { redisWaitMs } = LIMITS.budgets;
// Else an answer of the false Redis could come too late.
useLimits("budgets", { redisWaitMs: 30_000 });
const PATIENCE = { timeout: 60_000, interval: 100 };
const READONLY = "READONLY You can't write against a read only replica.";
const BY_SCRIPT = "ERR Error running script (call to f_8b9c): @user_script:7: @user_script: 7: -";
/** What a Redis that hangs answers. */
const NOTHING = "";

it.skipIf(!REDIS_URL).each(["swallow", "dribble", "refuse"] as const)(
  "keeps counting in the process under load while the network to Redis does this: %s",
  async (weather) => {
    await using network = await startFaultyProxy(REDIS_URL ?? "");
    const told: string[] = [];
    const budgets = new RedisBudgets(network.url, loggerTo({ write: (line) => void told.push(line) }, "info"));
    const wish = { limit: 60, cost: 1 };
    const name = randomUUID();
    await using redis = await openRedis();
    const isShared = () => countsIn(redis, budgets);
    await expect.poll(isShared, PATIENCE).toBe(true);

    using _usual = withLimits("budgets", { redisWaitMs });
    network.become(weather);
    const asked = Array.from({ length: 3 * LIMITS.budgets.askingRedis }, () => budgets.take(name, wish));
    const passed = (await Promise.all(asked)).filter(({ used }) => used + 1 <= wish.limit);
    expect(passed).toHaveLength(wish.limit);
    expect(told.join("")).toContain("Redis is lost");

    network.become("forward");
    await expect.poll(isShared, PATIENCE).toBe(true);
    await budgets.close();
  },
);

it.skipIf(!REDIS_URL)("lets only so many wait for a Redis that hangs: all others are counted at once", async () => {
  await using network = await startFaultyProxy(REDIS_URL ?? "");
  const budgets = new RedisBudgets(network.url, loggerTo({ write: () => {} }, "info"));
  const take = () => budgets.take(randomUUID(), { limit: 60, cost: 1 });
  await using redis = await openRedis();
  await expect.poll(() => countsIn(redis, budgets), PATIENCE).toBe(true);
  using _usual = withLimits("budgets", { redisWaitMs });
  network.become("swallow");

  const settled: string[] = [];
  const waiting = Array.from({ length: LIMITS.budgets.askingRedis }, () => take().then(() => settled.push("waited")));
  await Promise.all([...waiting, take().then(() => settled.push("did not wait"))]);

  expect(settled).toEqual(["did not wait", ...waiting.map(() => "waited")]);
  await budgets.close();
});

it.each([
  [READONLY, { connects: 1 }],
  ["MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", { connects: 1 }],
  // So say versions before 7.
  [`${BY_SCRIPT}${READONLY}`, { connects: 1 }],
  ["OOM command not allowed when used memory > 'maxmemory'.", { connects: 0 }],
  [undefined, { connects: 1 }],
  [NOTHING, { connects: 1 }],
  ["+OK", { connects: 1 }],
  ["*2\r\n:1\r\n$-1", { connects: 1 }],
])("counts in the process for a moment when Redis answers any command with: %s", async (refusal, { connects }) => {
  using _usual = withLimits("budgets", refusal === NOTHING ? { redisWaitMs } : {});
  const redis = await startFalseRedis();
  const told: string[] = [];
  const budgets = new RedisBudgets(redis.url, loggerTo({ write: (line) => void told.push(line) }, "info"));
  const take = async () => (await budgets.take("ann", { limit: 60, cost: 1 })).used;
  const use = async () => (await budgets.use("ann", { limit: 60, windowMs: 1_000 })).length;
  const isShared = async () => (await take()) === FROM_REDIS && (await use()) === FROM_REDIS;
  for (const ask of [take, use]) {
    await expect.poll(isShared, PATIENCE).toBe(true);
    const { connections } = redis;

    redis.failNext(refusal);
    // Where the connection broke, Redis may be asked again on another.
    expect(await ask()).toBeLessThan(refusal === undefined ? FROM_REDIS + 1 : FROM_REDIS);

    if (refusal !== undefined) {
      const reason = isOdd(refusal) ? "it answers what is no list of numbers" : refusal.replace(BY_SCRIPT, "");
      expect(told.map(reasonIn)).toContain(refusal === NOTHING ? "there was no answer in time" : reason);
      // Redis is left alone for a moment, so that nobody waits for it again.
      expect(await ask()).toBeLessThan(FROM_REDIS);
    }
    await expect.poll(isShared, PATIENCE).toBe(true);
    expect(redis.connections - connections).toBeGreaterThanOrEqual(connects);
    if (connects === 0) expect(redis.connections).toBe(connections);
  }
  await budgets.close();
  redis.close();
});

it("counts in the process when Redis does not have the database, instead of in another one", async () => {
  const redis = await startFalseRedis({ select: "ERR DB index is out of range" });
  const told: string[] = [];
  const log = loggerTo({ write: (line) => void told.push(line) }, "info");
  const budgets = new RedisBudgets(`${redis.url}/99`, log);
  await expect.poll(() => redis.connections, PATIENCE).toBeGreaterThan(2);

  expect((await budgets.take("ann", { limit: 60, cost: 1 })).used).toBe(0);
  expect(told.map(reasonIn)).toEqual(["ERR DB index is out of range"]);
  await budgets.close();
  redis.close();
});

it("tells a loss once a minute where Redis refuses some keys, as a node of a cluster does", async () => {
  const redis = await startFalseRedis();
  const told: string[] = [];
  const budgets = new RedisBudgets(redis.url, loggerTo({ write: (line) => void told.push(line) }, "info"));
  const isShared = async () => (await budgets.take("ann", { limit: 60, cost: 1 })).used === FROM_REDIS;
  await expect.poll(isShared, PATIENCE).toBe(true);
  told.length = 0;

  for (const slot of [14280, 7596, 866]) {
    redis.failNext(`MOVED ${slot} 127.0.0.1:7001`);
    expect(await isShared()).toBe(false);
    await expect.poll(isShared, PATIENCE).toBe(true);
  }

  expect(told.map(reasonIn)).toEqual(["MOVED 14280 127.0.0.1:7001", undefined]);
  await budgets.close();
  redis.close();
});

it("tells why while Redis loads its data after a start, and asks for nothing but scripts", async () => {
  const redis = await startFalseRedis({ info: "$23\r\nloading:1\r\nloading_eta:9\r\n" });
  const told: string[] = [];
  const budgets = new RedisBudgets(redis.url, loggerTo({ write: (line) => void told.push(line) }, "info"));
  redis.failNext("LOADING Redis is loading the dataset in memory");
  const take = async () => (await budgets.take("ann", { limit: 60, cost: 1 })).used;
  await expect.poll(async () => (await take(), told.map(reasonIn)), PATIENCE).toContain(LOADING);

  await expect.poll(take, PATIENCE).toBe(FROM_REDIS);
  await budgets.close();
  redis.close();
});

it("sends its password and scripts and nothing else: proxies of Redis know few commands, and may not say so", async () => {
  const redis = await startFalseRedis();
  const url = redis.url.replace("//", "//ann:secret@");
  const budgets = new RedisBudgets(url, loggerTo({ write: () => {} }, "info"));
  const take = async () => (await budgets.take("ann", { limit: 60, cost: 1 })).used;
  await expect.poll(take, PATIENCE).toBe(FROM_REDIS);

  expect([...redis.commands].filter((command) => !command.startsWith("eval"))).toEqual(["auth"]);
  await budgets.close();
  redis.close();
});

it("tells of no users and addresses where Redis does not know a command", async () => {
  const redis = await startFalseRedis();
  const told: string[] = [];
  const budgets = new RedisBudgets(redis.url, loggerTo({ write: (line) => void told.push(line) }, "info"));
  const isShared = async () => (await budgets.take("ann", { limit: 60, cost: 1 })).used === FROM_REDIS;
  await expect.poll(isShared, PATIENCE).toBe(true);

  redis.failNext("ERR unknown command 'evalsha', with args beginning with: '8b9c' '1' 'mg:budget:user:ann' ");
  expect(await isShared()).toBe(false);

  expect(told.map(reasonIn).at(-1)).toBe("ERR unknown command 'evalsha'");
  await budgets.close();
  redis.close();
});

it.skipIf(!REDIS_URL)("begins anew where Redis's clock was set back", async () => {
  const budgets = new RedisBudgets(REDIS_URL ?? "", loggerTo({ write: () => {} }, "info"));
  await using redis = await openRedis();
  await expect.poll(() => countsIn(redis, budgets), PATIENCE).toBe(true);
  const name = randomUUID();
  const HOUR_MS = 3_600_000;
  await redis.set(`mg:budget:${name}`, 60, "PX", HOUR_MS);
  const now = Date.now();
  await redis.rpush(`mg:uses:${name}`, now - 10_000, now + HOUR_MS, now - 5_000);
  await redis.pexpire(`mg:uses:${name}`, HOUR_MS);

  const taken = await budgets.take(name, { limit: 60, cost: 1, windowMs: 60_000 });
  const ages = await budgets.use(name, { limit: 3, windowMs: 60_000 });

  expect(taken).toEqual({ used: 0, resetMs: 60_000 });
  expect(ages).toHaveLength(1);
  expect(ages[0]).toBeGreaterThanOrEqual(5_000);
  expect(await redis.llen(`mg:uses:${name}`)).toBe(2);
  await redis.del(`mg:uses:${name}`, `mg:budget:${name}`);
  await budgets.close();
});

it.skipIf(!REDIS_URL)("needs only the documented rights in Redis, none of them dangerous", async () => {
  const text = (await readFile("docs/operations.md", "utf8")).replaceAll(/\s+/g, " ");
  const rights = /`ACL SETUSER service_2 on >… ([^`]*)`/.exec(text)?.[1]?.split(" ") ?? [];
  const url = new URL(REDIS_URL ?? "");
  const admin = new Redis(url.href);
  const user = `test-${randomUUID()}`;
  await admin.call("ACL", "SETUSER", user, "on", `>${user}`, ...rights);
  url.username = url.password = user;
  const told: string[] = [];
  const budgets = new RedisBudgets(url.href, loggerTo({ write: (line) => void told.push(line) }, "info"));
  const isBack = async () => (await budgets.take(user, { limit: 9, cost: 1 })) && told.at(-1)?.includes("back");
  await expect.poll(isBack, PATIENCE).toBe(true);

  const uses = [];
  for (let use = 0; use < 3; use++) uses.push((await budgets.use(user, { limit: 9, windowMs: 60_000 })).length);

  expect(uses).toEqual([0, 1, 2]);
  expect(told.at(-1)).toContain("back");
  const itself = new Redis(url.href);
  for (const command of ["RESTORE mg:a 0 a", "CLIENT KILL ID 0", "CLIENT LIST", "GET other"]) {
    const [name = "", ...more] = command.split(" ");
    await expect(itself.call(name, ...more), command).rejects.toThrow("NOPERM");
  }
  itself.disconnect();
  await budgets.close();
  await admin.del(`mg:uses:${user}`, `mg:budget:${user}`);
  await admin.call("ACL", "DELUSER", user);
  admin.disconnect();
});

const LOADING = "LOADING Redis is loading the dataset in memory";
const reasonIn = (line: string): string | undefined => (JSON.parse(line) as { reason?: string }).reason;

/** Redis itself, to see what is stored there. */
async function openRedis(): Promise<Redis & AsyncDisposable> {
  const redis = new Redis(REDIS_URL ?? "");
  return Object.assign(redis, { [Symbol.asyncDispose]: async () => redis.disconnect() });
}

/** Whether these budgets are in Redis at the moment. */
async function countsIn(redis: Redis, budgets: RedisBudgets): Promise<boolean> {
  const name = randomUUID();
  await budgets.take(name, { limit: 60, cost: 1, windowMs: 60_000 });
  return (await redis.del(`mg:budget:${name}`)) === 1;
}

/** Answers that are no error but no list of numbers either. */
const isOdd = (answer: string): boolean => /^[+*]/.test(answer);

/** A count that only the false Redis gives. */
const FROM_REDIS = 40;
const listOf = (length: number): string => `*${length}\r\n${`:${FROM_REDIS}\r\n`.repeat(length)}`;

/** Answers scripts in Redis's protocol, until it is told to refuse one, or to break the connection instead. */
async function startFalseRedis({ select, info = "$0\r\n\r\n" }: { select?: string; info?: string } = {}) {
  let failing: { readonly refusal: string | undefined } | undefined;
  let connections = 0;
  const commands = new Set<string>();
  const answer = (command: string): string | undefined => {
    commands.add(/^\$\d+\r\n(\w+)/.exec(command)?.[1]?.toLowerCase() ?? command);
    if (select !== undefined && /^\$6\r\nselect/i.test(command)) return `-${select}\r\n`;
    if (!/^\$\d\r\neval/i.test(command)) return /^\$4\r\ninfo/i.test(command) ? info : "+OK\r\n";
    const { refusal } = failing ?? {};
    if (!failing) return listOf(command.includes("mg:uses") ? FROM_REDIS : 2);
    failing = undefined;
    if (refusal === NOTHING) return NOTHING;
    if (refusal === undefined) return undefined;
    return `${isOdd(refusal) ? "" : "-"}${refusal}\r\n`;
  };
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    connections++;
    open.add(socket.on("close", () => void open.delete(socket)));
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      const [, ...asked] = bytes.toString().split(/^\*\d+\r\n/m);
      for (const said of asked.map(answer)) {
        if (said === undefined) socket.destroy();
        else socket.write(said);
      }
    });
  });
  return {
    url: `redis://127.0.0.1:${await listen(server)}`,
    commands,
    get connections() {
      return connections;
    },
    failNext: (refusal: string | undefined) => void (failing = { refusal }),
    async closeConnections() {
      await Promise.all([...open].map((socket) => once(socket.end(), "close")));
    },
    close: () => void server.close(),
  };
}

it("says that Redis closed the connection, as by CLIENT KILL", async () => {
  const redis = await startFalseRedis();
  const told: string[] = [];
  const budgets = new RedisBudgets(redis.url, loggerTo({ write: (line) => void told.push(line) }, "info"));
  const take = async () => (await budgets.take("ann", { limit: 60, cost: 1 })).used;
  await expect.poll(take, PATIENCE).toBe(FROM_REDIS);

  const closeAndTake = async () => {
    await redis.closeConnections();
    await take();
    return told.map(reasonIn);
  };
  await expect.poll(closeAndTake, PATIENCE).toContain("the connection was closed");
  await budgets.close();
  redis.close();
});

it("says why Redis cannot be reached", async () => {
  const told: string[] = [];
  const budgets = new RedisBudgets("redis://127.0.0.1:1", loggerTo({ write: (line) => void told.push(line) }, "info"));
  await expect.poll(() => told.join(""), PATIENCE).toContain('"reason":"connect ECONNREFUSED 127.0.0.1:1"');
  await budgets.close();
});
