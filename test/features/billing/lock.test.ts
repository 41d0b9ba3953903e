import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { AccountBusy, PaymentProviderError } from "../../../src/features/billing/failures.js";
import { type AccountLock, withAccountLock, writeAccount } from "../../../src/features/billing/lock.js";
import type { Database } from "../../../src/platform/database.js";
import { type Billing, Deadline } from "../../../src/platform/payments.js";
import { aPayer, createStripeWorld, holdLock } from "../../support/billing.js";

it("extends the lock for as long as the work takes, and then gives it back", async () => {
  await using at = await scene();

  await at.session(async ({ holder }) => {
    const { lockedUntil } = await at.account();
    await expect.poll(async () => Number((await at.account()).lockedUntil)).toBeGreaterThan(Number(lockedUntil));
    expect(await at.account()).toMatchObject({ lockedBy: holder });
  });

  expect(await at.account()).toMatchObject({ lockedBy: null, lockedUntil: null });
});

it("writes nothing and gives nothing back if another server has the lock by now", async () => {
  await using at = await scene();
  const other = { lockedBy: randomUUID(), lockedUntil: new Date(Date.now() + 60_000) };

  const written = at.session(async (lock) => {
    await at.database.models.billingAccount.updateMany({ data: other });
    await writeAccount(at.database, lock, { customerId: "cus_lost" });
  });

  await expect(written).rejects.toThrow(PaymentProviderError);
  expect(await at.account()).toMatchObject({ ...other, customerId: null });
});

it("gives up at the deadline, and says since when a session waited", async () => {
  await using at = await scene();
  const times = ({ waitedSince, now }: AccountLock) => Promise.resolve({ since: waitedSince, now: now() });

  expect((await at.session(times)).since).toBeUndefined();
  const elsewhere = await holdLock(at.world, at.teamId);
  // The second one waits in the line of this process.
  const late = await Promise.allSettled([
    at.session(times, { milliseconds: 100 }),
    at.session(times, { milliseconds: 1 }),
  ]);
  const waiting = [at.session(times), at.session(times)];
  await elsewhere.release();

  expect(late).toEqual(late.map(() => ({ status: "rejected", reason: expect.any(AccountBusy) as AccountBusy })));
  for (const { since, now } of await Promise.all(waiting)) {
    expect(since).toBeInstanceOf(Date);
    expect(Number(since)).toBeLessThanOrEqual(Number(now));
  }
});

it("asks the database once for each of a process's sessions, however many come and go", async () => {
  await using at = await scene();
  let [begun, asked] = [0, 0];
  const { models } = at.database;
  const billingAccount = {
    updateMany(change: Parameters<typeof models.billingAccount.updateMany>[0]) {
      if (change?.data.lockedBy) asked++;
      return models.billingAccount.updateMany(change);
    },
  };
  // A session reads the time before it gets into the line.
  const run = (...statement: Parameters<Database["run"]>) => at.database.run(...statement).finally(() => begun++);
  const counted = { run, models: { billingAccount } } as unknown as Database;
  /** A session that lasts until it is ended. */
  const begin = () => {
    let [end, ended] = [() => {}, Promise.resolve()];
    const over = new Promise<void>((done) => (end = done));
    const isHeld = new Promise<void>((held) => (ended = at.session(() => (held(), over), { by: counted })));
    return { isHeld, end: () => (end(), ended) };
  };

  const first = begin();
  await first.isHeld;
  const second = begin();
  await expect.poll(() => begun).toBe(2);
  await first.end();
  await second.isHeld;
  const third = begin();
  await expect.poll(() => begun).toBe(3);
  expect(asked).toBe(2);
  await second.end();
  await third.isHeld;
  await third.end();

  expect(asked).toBe(3);
});

/** An account, and sessions of one process for it. */
async function scene() {
  const world = await createStripeWorld();
  const { database } = world;
  const { teamId } = await aPayer(world);
  const payments = world.services.billing.payments as NonNullable<Billing["payments"]>;
  await database.models.billingAccount.create({ data: { teamId } });
  const session = <T>(
    work: (lock: AccountLock) => Promise<T>,
    { milliseconds = 60_000, by = database }: { milliseconds?: number; by?: Database } = {},
  ) => withAccountLock(by, { teamId, deadline: new Deadline(milliseconds), payments }, work);
  const account = () => database.models.billingAccount.findUniqueOrThrow({ where: { teamId } });
  return { world, database, teamId, session, account, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}
