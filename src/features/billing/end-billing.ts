import type { Context } from "../../operation/context.js";
import { type BillingAccount, accountOf, isLive } from "./account.js";
import { PaymentProviderError, SubscriptionActive } from "./failures.js";
import { requesterOf } from "./requester.js";
import { withBillingSession } from "./session.js";

/** Whether anything can be charged for the team, now or by a page that is open. */
const mayCharge = (account: BillingAccount, now: Date): boolean =>
  isLive(account) ||
  account.hasOpenRequest ||
  (account.checkoutUrl !== null && Number(account.checkoutExpiresAt) > +now);

/**
 * Makes sure that nothing can be charged for a team any more. Where the copy says that nothing can, the provider is not
 * asked, so that its failure does not stand in the way.
 * @throws SubscriptionActive while a subscription lives.
 * @throws PaymentProviderError when the provider, who had to be asked, failed, or is about to make a subscription.
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
 * For a team whose row is locked: what was asked meanwhile may charge it still.
 * @throws SubscriptionActive when something may be charged for it.
 */
export async function assertBillingEnded(context: Context, teamId: string): Promise<void> {
  if (mayCharge(await accountOf(context, teamId), context.now())) throw new SubscriptionActive();
}
