import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { describe, expect, it } from "vitest";
import { LIMITS } from "../../src/limits.js";
import { Gate } from "../../src/operation/gate.js";
import { Patience } from "../../src/operation/patience.js";
import { type OpenDatabase, openDatabase } from "../../src/platform/database/database.js";
import type { Statement } from "../../src/platform/database/statement.js";
import { RedisBudgets } from "../../src/platform/rate-limit/redis-budgets.js";
import { loggerTo } from "../../src/platform/telemetry/logger.js";
import { withinTime } from "../../src/within-time.js";
import { Slots } from "../../src/surfaces/slots.js";
import { PATIENT } from "../support/patience.js";
import { createWorld } from "../support/world.js";

const REDIS_URL = process.env["REDIS_URL"];
const WAIT_MS = 100;
const sleep: Statement = { name: "sleep", text: "SELECT pg_sleep($1)" };

/** An answer that comes after a few milliseconds. */
const answerOf = (database: OpenDatabase) => database.run(sleep, [0.01]);

/** Lets the process do nothing, as when it is paused: meanwhile the answer comes, and the time is over. */
function block(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

const WAITS: Readonly<Record<string, (answer: Promise<unknown>) => Promise<unknown>>> = {
  "work with a time limit": (answer) => withinTime(answer, WAIT_MS, () => "late"),
  "the look-up of a key": (answer) => new Patience(WAIT_MS).limit(answer),
  "the turn at a gate": (answer) => {
    const gate = new Gate(1);
    void gate.enter();
    void answer.then(() => gate.leave());
    return gate.enter(WAIT_MS) ?? Promise.resolve();
  },
  "a slot": (answer) => {
    const slots = new Slots({ slots: 1, waiting: 1, waitMs: WAIT_MS });
    void slots.take("Ann");
    void answer.then(() => slots.give("Ann"));
    return Promise.resolve(slots.take("Ann")).then((hasSlot) => hasSlot || "late");
  },
};

// Again if PostgreSQL or Redis was so busy that the answer had not come in.
describe("after a pause of the process", { retry: 3 }, () => {
  it.each(Object.entries(WAITS))("reads what has come in before it gives up: %s", async (_name, wait) => {
    await using world = await createWorld();
    // So that the connection is open.
    await answerOf(world.database);
    const waiting = wait(answerOf(world.database));
    // The statement is sent.
    await new Promise(setImmediate);
    block(2 * WAIT_MS);
    await expect(waiting).resolves.not.toBe("late");
  });

  it("reads what has come in before it takes a connection for hung", async () => {
    await using world = await createWorld();
    const statementTimeoutMs = 600;
    await using database = openDatabase(world.databaseUrl, () => {}, { ...PATIENT, statementTimeoutMs });
    await answerOf(database);
    const waiting = answerOf(database);
    await new Promise(setImmediate);
    block(statementTimeoutMs + LIMITS.database.answerGraceMs + 100);
    await expect(waiting).resolves.toHaveLength(1);
  });

  it.skipIf(!REDIS_URL)("reads what has come in before it takes Redis for lost", async () => {
    const told: string[] = [];
    const budgets = new RedisBudgets(REDIS_URL ?? "", loggerTo({ write: (line) => void told.push(line) }, "info"));
    await using redis = Object.assign(new Redis(REDIS_URL ?? ""), {
      [Symbol.asyncDispose]: async () => {
        redis.disconnect();
        await budgets.close();
      },
    });
    const name = randomUUID();
    const take = () => budgets.take(name, { limit: 60, cost: 1 });
    await expect.poll(async () => take().then(() => redis.get(`mg:budget:${name}`))).not.toBeNull();
    const before = Number(await redis.get(`mg:budget:${name}`));

    told.length = 0;
    const waiting = take();
    await new Promise(setImmediate);
    // Longer than any command may take.
    block(7 * LIMITS.budgets.redisWaitMs);

    expect(await waiting).toMatchObject({ used: before });
    expect(told).toEqual([]);
  });
});
