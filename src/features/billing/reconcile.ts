import type { Statement } from "../../platform/database.js";
import type { BillingAccount, BillingServices } from "./account.js";
import { accountOf } from "./account.js";
import { type AccountDesk, withAccountDesk } from "./account-desk.js";
import { PaymentProviderError } from "./failures.js";

/**
 * The account that waits longest to be looked at, of those that have to be: something was asked of the provider and
 * never answered, a time has passed at which something changes, an event could not be acted upon, a checkout may have
 * been paid without our being told. Looking is noted first, so that one that fails does not keep the others waiting.
 */
const claimDueAccount: Statement = {
  name: "claim_due_billing_account",
  text: `
    UPDATE billing_account SET checked_at = now() WHERE team_id = (
      SELECT b.team_id FROM billing_account b
      CROSS JOIN LATERAL (SELECT b.status NOT IN ('none', 'canceled', 'incomplete_expired') AS is_live) s
      CROSS JOIN LATERAL (SELECT CASE
        WHEN b.customer_id IS NOT NULL AND b.mirrored_at IS NULL THEN interval '15 seconds'
        WHEN EXISTS (SELECT FROM billing_operation o WHERE o.team_id = b.team_id AND o.outcome IS NULL
          AND o.created_at < now() - interval '15 seconds') THEN interval '15 seconds'
        WHEN s.is_live AND least(b.period_end, b.pending_until) <= now() THEN interval '1 minute'
        WHEN s.is_live AND NOT EXISTS (SELECT FROM team t WHERE t.id = b.team_id) THEN interval '1 minute'
        WHEN EXISTS (SELECT FROM payment_event e WHERE e.customer_id = b.customer_id AND e.processed_at IS NULL
          AND e.received_at < now() - interval '1 minute') THEN interval '1 minute'
        WHEN b.checkout_url IS NOT NULL THEN interval '5 minutes'
        WHEN s.is_live THEN interval '1 day'
      END AS every) due
      WHERE coalesce(b.checked_at, '-infinity') < now() - due.every
        AND (b.locked_until IS NULL OR b.locked_until < now())
      ORDER BY b.checked_at NULLS FIRST LIMIT 1 FOR UPDATE OF b SKIP LOCKED
    ) RETURNING team_id AS "teamId", customer_id AS "customerId", clock_timestamp() AS now`,
};

/** What an event told of is in the copy that was read after it came. */
const markOlderEventsProcessed: Statement = {
  name: "mark_older_payment_events_processed",
  text: `UPDATE payment_event SET processed_at = now()
    WHERE customer_id = $1 AND processed_at IS NULL AND received_at < $2::timestamptz`,
};

interface DueAccount {
  readonly teamId: string;
  readonly customerId: string | null;
  readonly now: Date;
}

/**
 * Brings one account that has to be looked at in line with the provider; answers with whether there may be more. This
 * is what finishes what a server began that was killed, and what finds out where an event got lost.
 */
export async function reconcileDueAccount(services: BillingServices): Promise<boolean> {
  if (!services.billing.payments) return false;
  const [due] = await services.database.run<DueAccount>(claimDueAccount, []);
  if (!due) return false;
  await reconcileAccount(services, due.teamId);
  await services.database.run(markOlderEventsProcessed, [due.customerId, due.now]);
  return true;
}

/** @throws PaymentProviderError when the provider fails. */
export function reconcileAccount(
  services: BillingServices,
  teamId: string,
  patience?: "changeMs" | "readMs",
): Promise<BillingAccount> {
  const reconcile = async (desk: AccountDesk) => {
    await desk.settle();
    return desk.mirror();
  };
  return withAccountDesk(services, teamId, reconcile, patience);
}

const accountsAfter: Statement = {
  name: "billing_accounts_after",
  text: `SELECT team_id AS "teamId" FROM billing_account
    WHERE team_id > $1::uuid AND ($2::uuid IS NULL OR team_id = $2::uuid) ORDER BY team_id LIMIT 100`,
};

const FIRST = "00000000-0000-0000-0000-000000000000";

/** What became of one account; without `after` the provider failed. */
export interface Reconciled {
  readonly teamId: string;
  readonly before: BillingAccount;
  readonly after?: BillingAccount;
}

/** Brings every account in line with the provider, or that of one team, one after the other. */
export async function* reconcileAccounts(services: BillingServices, only?: string): AsyncGenerator<Reconciled> {
  let last = FIRST;
  for (;;) {
    const page = await services.database.run<{ teamId: string }>(accountsAfter, [last, only ?? null]);
    for (const { teamId } of page) {
      const before = await accountOf(services, teamId);
      yield { teamId, before, ...(await outcomeOf(services, teamId)) };
      last = teamId;
    }
    if (page.length === 0) return;
  }
}

/** A provider that fails for one team may not for the next; anything else ends it all. */
async function outcomeOf(services: BillingServices, teamId: string): Promise<{ after?: BillingAccount }> {
  try {
    return { after: await reconcileAccount(services, teamId) };
  } catch (error) {
    if (error instanceof PaymentProviderError) return {};
    throw error;
  }
}
