import type { Context } from "../../operation/context.js";
import { type BillingAccount, accountOf, isLive } from "./account.js";
import { PaymentProviderError, SubscriptionActive } from "./failures.js";
import { requesterOf } from "./requester.js";
import { withBillingSession } from "./session.js";

/** Whether the team may be charged, now or through an open checkout. */
const mayCharge = (account: BillingAccount, now: Date): boolean =>
  isLive(account) ||
  account.hasOpenRequest ||
  (account.checkoutUrl !== null && Number(account.checkoutExpiresAt) > +now);

/**
 * Ensures that a team can no longer be charged. If the copy already says so, the provider is not asked, so that its
 * failure cannot prevent the deletion.
 * @throws SubscriptionActive while a subscription is live.
 * @throws PaymentProviderError when the provider had to be asked and failed, or is about to create a subscription.
 */
export async function endBilling(context: Context, teamId: string): Promise<void> {
  if (!mayCharge(await accountOf(context, teamId), context.now())) return;
  await withBillingSession(context, teamId, async (session) => {
    const { requests, checkouts, copy } = session;
    await requests.resend();
    const { customerId } = await session.account();
    const open = customerId === null ? [] : await checkouts.list(customerId);
    const { wasPaid } = await checkouts.withdraw(open, requesterOf(context));
    if (isLive(await copy.refresh())) throw new SubscriptionActive();
    if (wasPaid) throw new PaymentProviderError();
  });
}

/**
 * Checks again after the team's row is locked: a request in between may have started a charge.
 * @throws SubscriptionActive when the team may be charged.
 */
export async function assertBillingEnded(context: Context, teamId: string): Promise<void> {
  if (mayCharge(await accountOf(context, teamId), context.now())) throw new SubscriptionActive();
}
