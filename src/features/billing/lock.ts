import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../../platform/database.js";
import type { Deadline } from "../../platform/payments.js";
import { PaymentProviderError } from "./failures.js";
import { LEASE_MS, type TakenLock, takeLock } from "./take-lock-statement.js";

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

/**
 * Does the work while holding the lock of the account. The lock is a row with an expiry time that is renewed meanwhile,
 * not a lock of the database, which would hold a connection while waiting for Stripe.
 * @throws PaymentProviderError when others hold it until the deadline.
 */
export async function withAccountLock<T>(
  database: Database,
  { teamId, deadline }: { readonly teamId: string; readonly deadline: Deadline },
  work: (lock: AccountLock) => Promise<T>,
): Promise<T> {
  const holder = randomUUID();
  let waitedSince: Date | undefined;
  let taken: TakenLock | undefined;
  for (;;) {
    [taken] = await database.run(takeLock, { teamId, holder });
    if (taken?.taken) break;
    waitedSince ??= taken?.now;
    if (deadline.remainingMs === 0) throw new PaymentProviderError();
    await sleep(ASKED_EVERY_MS * (0.5 + Math.random()));
  }
  const lock: AccountLock = { teamId, holder, waitedSince, now: startClock(taken.now) };
  const renewing = setInterval(() => renew(database, lock).catch(() => {}), RENEWED_EVERY_MS);
  try {
    return await work(lock);
  } finally {
    clearInterval(renewing);
    // A lock that cannot be released expires by itself; the failure must not hide the result of the work.
    await release(database, lock).catch(() => {});
  }
}

/** Continues from a time that was just read from the database. */
function startClock(time: Date): () => Date {
  const startedAt = performance.now();
  return () => new Date(time.getTime() + Math.floor(performance.now() - startedAt));
}

async function renew({ models }: Database, { teamId, holder, now }: AccountLock): Promise<void> {
  const lockedUntil = new Date(now().getTime() + LEASE_MS);
  await models.billingAccount.updateMany({ where: { teamId, lockedBy: holder }, data: { lockedUntil } });
}

async function release({ models }: Database, { teamId, holder }: AccountLock): Promise<void> {
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
