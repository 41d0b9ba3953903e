import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Database, Statement } from "../../platform/database.js";
import type { Deadline } from "../../platform/payments.js";
import { PaymentProviderError } from "./failures.js";

/** How long a lock outlives a server that was killed. */
const LEASE_S = 3;
const RENEWED_EVERY_MS = 1_000;
const ASKED_EVERY_MS = 80;

const claim: Statement = {
  name: "lock_billing_account",
  text: `UPDATE billing_account SET locked_by = $2::uuid, locked_until = now() + interval '${LEASE_S} seconds'
    WHERE team_id = $1::uuid AND (locked_until IS NULL OR locked_until < now()) RETURNING team_id`,
};

const renew: Statement = {
  name: "renew_billing_lock",
  text: `UPDATE billing_account SET locked_until = now() + interval '${LEASE_S} seconds'
    WHERE team_id = $1::uuid AND locked_by = $2::uuid RETURNING team_id`,
};

const release: Statement = {
  name: "release_billing_account",
  text: "UPDATE billing_account SET locked_by = NULL, locked_until = NULL WHERE team_id = $1::uuid AND locked_by = $2::uuid",
};

/** Proof of holding an account's lock. Whoever writes names it: a server that lost its lock by a stall writes nothing. */
export interface AccountLock {
  readonly teamId: string;
  readonly holder: string;
  /** Since when others were waited for, by the database's clock; undefined where nobody had the lock. */
  readonly waitedSince: Date | undefined;
}

export const readClock: Statement = { name: "read_clock", text: "SELECT clock_timestamp() AS now" };

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
  const values = [teamId, holder];
  let waitedSince: Date | undefined;
  while ((await database.run(claim, values)).length === 0) {
    waitedSince ??= (await database.run<{ now: Date }>(readClock, []))[0]?.now;
    if (deadline.remainingMs === 0) throw new PaymentProviderError();
    await sleep(ASKED_EVERY_MS * (0.5 + Math.random()));
  }
  const renewing = setInterval(() => database.run(renew, values).catch(() => {}), RENEWED_EVERY_MS);
  try {
    return await work({ teamId, holder, waitedSince });
  } finally {
    clearInterval(renewing);
    // What could not be let go lapses by itself, and must not hide what came of the work.
    await database.run(release, values).catch(() => {});
  }
}
