import type { Statement } from "../../platform/database.js";
import type { BillingAccount, BillingServices } from "./account.js";
import { accountOf } from "./account.js";
import { withAccountDesk } from "./account-desk.js";

/**
 * The account that waits longest to be looked at, of those that have to be: something was asked of the provider and
 * never answered, a time has passed at which something changes, a checkout may have been paid without our being told.
 * Looking is noted first, so that one that fails does not keep the others waiting.
 */
const claimDueAccount: Statement = {
  name: "claim_due_billing_account",
  text: `
    UPDATE billing_account SET checked_at = now() WHERE team_id = (
      SELECT b.team_id FROM billing_account b CROSS JOIN LATERAL (SELECT CASE
        WHEN EXISTS (SELECT FROM billing_operation o WHERE o.team_id = b.team_id AND o.outcome IS NULL
          AND o.created_at < now() - interval '15 seconds') THEN interval '15 seconds'
        WHEN b.status NOT IN ('none', 'canceled', 'incomplete_expired') AND (
          least(b.period_end, b.pending_until) BETWEEN b.mirrored_at AND now()
          OR NOT EXISTS (SELECT FROM team t WHERE t.id = b.team_id)) THEN interval '1 minute'
        WHEN b.checkout_url IS NOT NULL THEN interval '5 minutes'
        WHEN b.status NOT IN ('none', 'canceled', 'incomplete_expired') THEN interval '1 day'
      END AS every) due
      WHERE coalesce(b.checked_at, '-infinity') < now() - due.every
        AND (b.locked_until IS NULL OR b.locked_until < now())
      ORDER BY b.checked_at NULLS FIRST LIMIT 1 FOR UPDATE OF b SKIP LOCKED
    ) RETURNING team_id AS "teamId"`,
};

/**
 * Brings one account that has to be looked at in line with the provider; answers with whether there may be more. This
 * is what finishes what a server began that was killed, and what finds out where an event got lost.
 */
export async function reconcileDueAccount(services: BillingServices): Promise<boolean> {
  if (!services.billing.payments) return false;
  const [due] = await services.database.run<{ teamId: string }>(claimDueAccount, []);
  if (due) await reconcileAccount(services, due.teamId);
  return due !== undefined;
}

/** @throws PaymentProviderError when the provider fails. */
export const reconcileAccount = (services: BillingServices, teamId: string): Promise<BillingAccount> =>
  withAccountDesk(services, teamId, async (desk) => {
    await desk.settle();
    return desk.mirror();
  });

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
      yield await reconcileAccount(services, teamId).then(
        (after) => ({ teamId, before, after }),
        () => ({ teamId, before }),
      );
      last = teamId;
    }
    if (page.length === 0) return;
  }
}
