import { randomUUID } from "node:crypto";
import { expect, it, onTestFinished, vi } from "vitest";
import { AccountBusy, PaymentProviderError } from "../../../src/features/billing/failures.js";
import { type AccountLock, withAccountLock, writeAccount } from "../../../src/features/billing/lock.js";
import { BY_ITSELF } from "../../../src/features/billing/requester.js";
import { withBillingSession } from "../../../src/features/billing/session.js";
import type { Database } from "../../../src/platform/database/database.js";
import type { Billing } from "../../../src/platform/billing/billing.js";
import { Deadline } from "../../../src/platform/billing/payments.js";
import { stripeClient } from "../../../src/platform/billing/stripe-client.js";
import { HOUR_MS } from "../../../src/durations.js";
import { teamSubscription } from "../../../src/features/billing/team-subscription.js";
import {
  aPayer,
  aSubscriber,
  createBillingWorld,
  createStripeWorld,
  customerOf,
  holdLock,
} from "../../support/billing.js";

it("extends the lock for as long as the work takes, and then gives it back", async () => {
  await using at = await scene();

  await at.session(async ({ holder }) => {
    const { lockedUntil } = await at.account();
    await expect.poll(async () => Number((await at.account()).lockedUntil)).toBeGreaterThan(Number(lockedUntil));
    expect(await at.account()).toMatchObject({ lockedBy: holder });
  });

  expect(await at.account()).toMatchObject({ lockedBy: null, lockedUntil: null });
});

it("writes, extends and gives back nothing if another server has the lock by now", async () => {
  await using at = await scene();
  const other = { lockedBy: randomUUID(), lockedUntil: new Date(Date.now() + 60_000) };

  const written = at.session(async (lock) => {
    await at.database.models.billingAccount.updateMany({ data: other });
    const { renewed } = at.counts;
    await expect.poll(() => at.counts.renewed).toBeGreaterThan(renewed);
    await writeAccount(at.database, lock, { customerId: "cus_lost" });
  });

  await expect(written).rejects.toThrow(PaymentProviderError);
  expect(await at.account()).toMatchObject({ ...other, customerId: null });
});

it("takes a lock that a killed server took while the database's clock was ahead", async () => {
  await using at = await scene();
  await at.database.models.billingAccount.updateMany({
    data: { lockedBy: randomUUID(), lockedUntil: new Date(Date.now() + HOUR_MS) },
  });

  expect(await at.session(async ({ holder }) => (await at.account()).lockedBy === holder, { milliseconds: 500 })).toBe(
    true,
  );
});

it("leaves a lock that is held alone, also after this machine was suspended while it waited", async () => {
  await using at = await scene();
  const elsewhere = await holdLock(at.world, at.teamId);
  const session = at.session(async () => at.account());
  await elsewhere.waitedFor();
  const { now } = performance;
  // The clock that does not run meanwhile.
  vi.spyOn(performance, "now").mockImplementation(() => now.call(performance) - HOUR_MS);
  onTestFinished(() => void vi.restoreAllMocks());

  await elsewhere.waitedFor();
  expect(await at.account()).toMatchObject({ lockedBy: null });
  await elsewhere.release();

  expect((await session).lockedBy).not.toBeNull();
});

it("does not reuse what a session has read while the database's clock was ahead", async () => {
  await using at = await scene();
  const elsewhere = await holdLock(at.world, at.teamId);
  const refreshed = withBillingSession(at.world.services, at.teamId, (session) => {
    const times = [0, 2, HOUR_MS].map((ms) => new Date(Number(session.lock.waitedSince) + ms));
    return Promise.resolve(times.map((time) => session.isSinceWaiting(time)));
  });
  await elsewhere.waitedFor();
  await elsewhere.release();

  expect(await refreshed).toEqual([false, true, false]);
});

it("sends no change to the provider if another server has the lock by now", async () => {
  await using at = await scene();
  const { services, stripe } = at.world;

  const sent = withBillingSession(services, at.teamId, async (session) => {
    await at.database.models.billingAccount.updateMany({ data: { lockedBy: randomUUID() } });
    await session.requests.send("customer", { params: { email: "ann@example.com" } }, BY_ITSELF);
  });

  await expect(sent).rejects.toThrow(PaymentProviderError);
  expect(stripe.requests).toEqual([]);
  expect(await at.database.models.billingRequest.count()).toBe(0);
});

it.each([
  ["refused", new Date()],
  ["abandoned", new Date(Date.now() - 2 * HOUR_MS)],
])("leaves a request open that would be %s, if another server has the lock by now", async (_outcome, createdAt) => {
  await using at = await scene();
  const { services } = at.world;
  const { billingRequest, billingAccount } = at.database.models;
  const request = { id: "cs_unknown", params: {} };
  await billingRequest.create({
    data: { id: services.newId(), teamId: at.teamId, kind: "expire", request, door: "billing", createdAt },
  });

  const resent = withBillingSession(services, at.teamId, async (session) => {
    await billingAccount.updateMany({ data: { lockedBy: randomUUID() } });
    await session.requests.resend();
  });

  await expect(resent).rejects.toThrow(PaymentProviderError);
  expect(await billingRequest.findMany()).toMatchObject([{ outcome: null, endedAt: null }]);
});

it("ends no subscription if another server has the lock by now", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const payer = await aSubscriber(world);
  await payer.owner.did(teamSubscription);
  const customer = await customerOf(world, payer);
  const stripe = stripeClient(world.stripe.secretKey, world.stripe.url);
  const second = await stripe.subscriptions.create({ customer, items: [{ price: world.stripe.priceId, quantity: 9 }] });

  const refreshed = withBillingSession(world.services, payer.teamId, async (session) => {
    await world.database.models.billingAccount.updateMany({ data: { lockedBy: randomUUID() } });
    await session.copy.refresh();
  });

  await expect(refreshed).rejects.toThrow(PaymentProviderError);
  expect(await stripe.subscriptions.retrieve(second.id)).toMatchObject({ status: "active" });
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
  const { begun, asked } = { ...at.counts };
  const waiting = [at.session(times), at.session(times)];
  await expect.poll(() => at.counts.begun).toBe(begun + 2);
  // When the first one asks again, it was refused.
  await expect.poll(() => at.counts.asked).toBeGreaterThan(asked + 1);
  await elsewhere.release();

  expect(late).toEqual(late.map(() => ({ status: "rejected", reason: expect.any(AccountBusy) as AccountBusy })));
  for (const { since, now } of await Promise.all(waiting)) {
    expect(since).toBeInstanceOf(Date);
    expect(Number(since)).toBeLessThanOrEqual(Number(now));
  }
});

it("gives the lock back if the answer is lost that it was taken", async () => {
  await using at = await scene();
  at.loseNextAnswer();

  await expect(at.session(() => Promise.resolve())).rejects.toThrow("The connection broke.");

  expect(await at.account()).toMatchObject({ lockedBy: null, lockedUntil: null });
});

it("asks the database once for each of a process's sessions, however many come and go", async () => {
  await using at = await scene();
  /** A session that lasts until it is ended. */
  const begin = () => {
    let [end, ended] = [() => {}, Promise.resolve()];
    const over = new Promise<void>((done) => (end = done));
    const isHeld = new Promise<void>((held) => (ended = at.session(() => (held(), over))));
    return { isHeld, end: () => (end(), ended) };
  };

  const first = begin();
  await first.isHeld;
  const second = begin();
  await expect.poll(() => at.counts.begun).toBe(2);
  await first.end();
  await second.isHeld;
  const third = begin();
  await expect.poll(() => at.counts.begun).toBe(3);
  expect(at.counts.asked).toBe(2);
  await second.end();
  await third.isHeld;
  await third.end();

  expect(at.counts.asked).toBe(3);
});

/** An account, and sessions of one process for it, which count how often they began, asked for the lock and renewed it. */
async function scene() {
  const world = await createStripeWorld();
  const { database } = world;
  const { teamId } = await aPayer(world);
  const payments = world.services.billing.payments as NonNullable<Billing["payments"]>;
  const { billingAccount } = database.models;
  await billingAccount.create({ data: { teamId } });
  const counts = { begun: 0, asked: 0, renewed: 0 };
  let losesAnswer = false;
  const updateMany = async (change: Parameters<typeof billingAccount.updateMany>[0]) => {
    if (change?.data.lockedBy) counts.asked++;
    const updated = await billingAccount.updateMany(change);
    if (!change?.data.lockedBy && change?.data.lockedUntil) counts.renewed++;
    if (losesAnswer) {
      losesAnswer = false;
      throw new Error("The connection broke.");
    }
    return updated;
  };
  const session = <T>(work: (lock: AccountLock) => Promise<T>, { milliseconds = 60_000 } = {}) => {
    // A session first reads the time before it gets into the line.
    let begins = 1;
    const run = (...statement: Parameters<Database["run"]>) =>
      database.run(...statement).finally(() => {
        counts.begun += begins;
        begins = 0;
      });
    const counting = { run, models: { billingAccount: { updateMany } } } as unknown as Database;
    return withAccountLock(counting, { teamId, deadline: new Deadline(milliseconds), payments }, work);
  };
  const account = () => billingAccount.findUniqueOrThrow({ where: { teamId } });
  return {
    world,
    database,
    teamId,
    counts,
    session,
    account,
    loseNextAnswer: () => void (losesAnswer = true),
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}
