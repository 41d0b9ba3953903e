import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../../platform/database.js";
import type { Deadline } from "../../platform/payments.js";
import { PaymentProviderError } from "./failures.js";
import { LEASE_MS, type TakenLock, takeLock } from "./take-lock-statement.js";

const RENEWED_EVERY_MS = 1_000;
const ASKED_EVERY_MS = 80;

/** Proof of holding an account's lock. Whoever writes names it: a server that lost its lock by a stall writes nothing. */
export interface AccountLock {
  readonly teamId: string;
  readonly holder: string;
  /** Since when others were waited for, by the database's clock; undefined where nobody had the lock. */
  readonly waitedSince: Date | undefined;
  /** The time by the database's clock, never too late: what several servers compare must not depend on theirs. */
  now(): Date;
}

/**
 * Does the work while nobody else deals with the provider about this team. The lock is a row with a time in it that is
 * renewed meanwhile, not one of the database's own: those would hold a connection while Stripe is waited for.
 * @throws PaymentProviderError when others keep it until the deadline.
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
  const lock: AccountLock = { teamId, holder, waitedSince, now: clockFrom(taken.now) };
  const renewing = setInterval(() => renew(database, lock).catch(() => {}), RENEWED_EVERY_MS);
  try {
    return await work(lock);
  } finally {
    clearInterval(renewing);
    // What could not be let go lapses by itself, and must not hide what came of the work.
    await release(database, lock).catch(() => {});
  }
}

/** Goes on from what the database has told a moment ago. */
function clockFrom(told: Date): () => Date {
  const heardAt = performance.now();
  return () => new Date(told.getTime() + Math.floor(performance.now() - heardAt));
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
 * Changes the row of the account in the name of the lock's holder; nobody else takes the lock until the transaction ends.
 * @throws PaymentProviderError when nothing was written because another server holds the lock by now.
 */
export async function writeAccount(
  { models }: Database,
  { teamId, holder }: AccountLock,
  data: Parameters<Database["models"]["billingAccount"]["updateMany"]>[0]["data"],
): Promise<void> {
  const { count } = await models.billingAccount.updateMany({ where: { teamId, lockedBy: holder }, data });
  if (count === 0) throw new PaymentProviderError();
}
