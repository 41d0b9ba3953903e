import type { BillingAccount, BillingServices } from "./account.js";
import { accountOf } from "./account.js";
import { claimDueAccount } from "./claim-due-account-statement.js";
import { PaymentProviderError } from "./failures.js";
import { type BillingSession, withBillingSession } from "./session.js";

/**
 * Brings one account that has to be looked at in line with the provider; answers with whether there may be more. This
 * is what finishes what a server began that was killed, and what finds out where an event got lost.
 */
export async function reconcileDueAccount(services: BillingServices): Promise<boolean> {
  if (!services.billing.payments) return false;
  const [due] = await services.database.run(claimDueAccount, {});
  if (!due) return false;
  await reconcileAccount(services, due.teamId);
  if (due.customerId !== null) await markOlderEventsProcessed(services, due.customerId, due.now);
  return true;
}

/** What an event told of is in the copy that was read after it came. */
async function markOlderEventsProcessed(
  { database: { models } }: BillingServices,
  customerId: string,
  now: Date,
): Promise<void> {
  await models.paymentEvent.updateMany({
    where: { customerId, processedAt: null, receivedAt: { lt: now } },
    data: { processedAt: new Date() },
  });
}

/** @throws PaymentProviderError when the provider fails. */
export function reconcileAccount(
  services: BillingServices,
  teamId: string,
  patience?: "changeMs" | "readMs",
): Promise<BillingAccount> {
  const reconcile = async ({ requests, copy }: BillingSession) => {
    await requests.resend();
    return copy.refresh();
  };
  return withBillingSession(services, teamId, reconcile, patience);
}

const PAGE = 100;
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
    const page = await services.database.models.billingAccount.findMany({
      where: { teamId: { gt: last, ...(only !== undefined && { equals: only }) } },
      select: { teamId: true },
      orderBy: { teamId: "asc" },
      take: PAGE,
    });
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
