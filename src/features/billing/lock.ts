import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { LIMITS } from "../../limits.js";
import { timeOf } from "../../operation/clock-statement.js";
import type { Database } from "../../platform/database/database.js";
import { Gate } from "../../operation/gate.js";
import type { Deadline, Payments } from "../../platform/billing/payments.js";
import { AccountBusy, PaymentProviderError } from "./failures.js";

/** How long a lock lasts without renewal, such as that of a killed server. */
export const LEASE_MS = 3_000;
const RENEWED_EVERY_MS = 1_000;
const ASKED_EVERY_MS = 80;

/** An account's lock, while it is held. Every write checks the holder: a server that lost its lock writes nothing. */
export interface AccountLock {
  readonly teamId: string;
  readonly holder: string;
  /** When this holder began waiting for the lock, by the database's clock; undefined if it did not wait. */
  readonly waitedSince: Date | undefined;
  /** The time by the database's clock, never ahead of it: servers compare these times, and their own clocks differ. */
  now(): Date;
}

/** Where a lock is waited for, and how long. */
interface Wait {
  readonly teamId: string;
  readonly deadline: Deadline;
  /** Of this process: its sessions for one team take turns without asking the database. */
  readonly payments: Payments;
}

/**
 * Does the work while holding the lock of the account. The lock is a row whose expiry time is renewed meanwhile. A lock
 * of the database would hold a connection while waiting for Stripe.
 * @throws AccountBusy when others hold it until the deadline.
 */
export async function withAccountLock<T>(
  database: Database,
  { teamId, deadline, payments }: Wait,
  work: (lock: AccountLock) => Promise<T>,
): Promise<T> {
  const asked = await timeOf(database);
  const lines = linesOf.get(payments) ?? new Map<string, Gate>();
  linesOf.set(payments, lines);
  const line = lines.get(teamId) ?? new Gate(1);
  lines.set(teamId, line);
  const turn = line.enter(deadline.remainingMs);
  await turn?.catch(() => {
    throw new AccountBusy();
  });
  try {
    const now = startClock(turn ? await timeOf(database) : asked);
    return await holdLock(database, { teamId, deadline, now, waitedSince: turn && asked }, work);
  } finally {
    line.leave();
    if (line.isIdle) lines.delete(teamId);
  }
}

/**
 * Only the first in a process's line asks the database for the lock. If all asked again and again, they would use up the
 * connections that the holder needs.
 */
const linesOf = new WeakMap<Payments, Map<string, Gate>>();

async function holdLock<T>(
  database: Database,
  { teamId, deadline, ...start }: Omit<Wait, "payments"> & Pick<AccountLock, "now" | "waitedSince">,
  work: (lock: AccountLock) => Promise<T>,
): Promise<T> {
  const holder = randomUUID();
  let { now, waitedSince } = start;
  while (!(await takeOrLeave(database, { teamId, holder, now }))) {
    waitedSince ??= now();
    if (deadline.remainingMs === 0) throw new AccountBusy();
    await sleep(ASKED_EVERY_MS * (0.5 + Math.random()));
    now = startClock(await timeOf(database));
  }
  const lock: AccountLock = { teamId, holder, waitedSince, now };
  const renewing = setInterval(() => renew(database, lock).catch(() => {}), RENEWED_EVERY_MS);
  try {
    return await work(lock);
  } finally {
    clearInterval(renewing);
    // A lock that cannot be released expires by itself; the failure must not hide the result of the work.
    await release(database, lock).catch(() => {});
  }
}

/**
 * Continues from a time that was just read from the database. It stops while the machine is suspended, so it is read anew
 * after each wait: by a time that is far behind, a lock that is held would look like one of a clock that was ahead.
 */
function startClock(time: Date): () => Date {
  const startedAt = performance.now();
  return () => new Date(time.getTime() + Math.floor(performance.now() - startedAt));
}

type Holder = Pick<AccountLock, "teamId" | "holder" | "now">;

/**
 * Takes the lock if it is free. Of several servers that try at the same time, one succeeds. A lock that would last for
 * longer than any was taken while the database's clock was ahead, maybe by a server that was killed.
 */
async function take({ models }: Database, { teamId, holder, now }: Holder): Promise<boolean> {
  const [time, last] = [now(), new Date(leaseFrom(now).getTime() + LIMITS.clock.aheadMs)];
  const isFree = [{ lockedUntil: null }, { lockedUntil: { lt: time } }, { lockedUntil: { gt: last } }];
  const { count } = await models.billingAccount.updateMany({
    where: { teamId, OR: isFree },
    data: { lockedBy: holder, lockedUntil: leaseFrom(now) },
  });
  return count > 0;
}

/** Gives the lock back if it is unknown whether it was taken: the answer may be lost. */
async function takeOrLeave(database: Database, wanted: Holder): Promise<boolean> {
  try {
    return await take(database, wanted);
  } catch (error) {
    await release(database, wanted).catch(() => {});
    throw error;
  }
}

async function renew({ models }: Database, { teamId, holder, now }: Holder): Promise<void> {
  const data = { lockedUntil: leaseFrom(now) };
  await models.billingAccount.updateMany({ where: { teamId, lockedBy: holder }, data });
}

const leaseFrom = (now: AccountLock["now"]): Date => new Date(now().getTime() + LEASE_MS);

async function release({ models }: Database, { teamId, holder }: Pick<Holder, "teamId" | "holder">): Promise<void> {
  const data = { lockedBy: null, lockedUntil: null };
  await models.billingAccount.updateMany({ where: { teamId, lockedBy: holder }, data });
}

/**
 * Writes the account's row as the lock's holder; nobody else can take the lock until the transaction ends.
 * @throws PaymentProviderError when nothing was written because the lock was lost.
 */
export async function writeAccount(
  { models }: Database,
  { teamId, holder }: AccountLock,
  data: Parameters<Database["models"]["billingAccount"]["updateMany"]>[0]["data"],
): Promise<void> {
  const { count } = await models.billingAccount.updateMany({ where: { teamId, lockedBy: holder }, data });
  if (count === 0) throw new PaymentProviderError();
}

/**
 * Checks that the lock is still held; within a transaction nobody else can take it until that ends.
 * @throws PaymentProviderError when it was lost, as by a process that was paused.
 */
export const assertHeld = (database: Database, lock: AccountLock): Promise<void> =>
  writeAccount(database, lock, { lockedBy: lock.holder });
