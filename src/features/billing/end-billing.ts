import type { Context } from "../../operation/context.js";
import { type BillingAccount, accountOf, isLive } from "./account.js";
import { AccountBusy, PaymentProviderError, SubscriptionActive } from "./failures.js";
import { requesterOf } from "./requester.js";
import { withBillingSession } from "./session.js";

/** Whether seats may be bought at this moment: through an open checkout, or one that is being opened. */
const maySell = (account: BillingAccount, now: Date): boolean =>
  account.hasOpenRequest || (account.checkoutUrl !== null && Number(account.checkoutExpiresAt) > +now);

/**
 * Ensures that a team can no longer be charged. If the copy already says so, the provider is not asked, so that its
 * failure cannot prevent the deletion.
 * @throws SubscriptionActive while a subscription is live.
 * @throws PaymentProviderError when the provider is about to create a subscription.
 * @throws what `withBillingSession` throws when the provider has to be asked.
 */
export async function endBilling(context: Context, teamId: string): Promise<void> {
  const account = await accountOf(context, teamId);
  if (!isLive(account) && !maySell(account, context.now())) return;
  if (isLive(await withdrawCheckouts(context, teamId))) throw new SubscriptionActive();
}

/**
 * Checks again after the team's row is locked: a request in between may have started a charge.
 * @throws SubscriptionActive while a subscription is live.
 * @throws AccountBusy when something was begun in between whose outcome the next attempt finds out.
 */
export async function assertBillingEnded(context: Context, teamId: string): Promise<void> {
  const account = await accountOf(context, teamId);
  if (isLive(account)) throw new SubscriptionActive();
  if (maySell(account, context.now())) throw new AccountBusy();
}

/**
 * Ensures that nobody can buy fewer seats than a team is about to have: whoever joined beyond them would have the plan
 * without a paid seat. The provider is only asked if there is such a checkout.
 * @throws PaymentProviderError when the provider is about to create a subscription.
 * @throws what `withBillingSession` throws when the provider has to be asked.
 */
export async function withdrawSmallerCheckout(context: Context, teamId: string, seats: number): Promise<void> {
  if (!context.billing.payments) return;
  if (sellsFewer(await accountOf(context, teamId), seats)) await withdrawCheckouts(context, teamId);
}

/**
 * Checks again after the team's row is locked.
 * @throws AccountBusy when a checkout for fewer seats was opened in between.
 */
export function assertNoSmallerCheckout(context: Context, account: BillingAccount, seats: number): void {
  if (context.billing.payments && sellsFewer(account, seats)) throw new AccountBusy();
}

/**
 * Whether fewer seats may be bought, or were at the last moment: the checkout is stored until the provider says that it
 * is over. Of a request whose outcome is unknown, nobody knows how many.
 */
const sellsFewer = (account: BillingAccount, seats: number): boolean =>
  !isLive(account) &&
  (account.hasOpenRequest || (account.checkoutUrl !== null && (account.checkoutSeats ?? 0) < seats));

/** Ends what may still be bought; returns the account afterwards, which is live if somebody has just paid. */
async function withdrawCheckouts(context: Context, teamId: string): Promise<BillingAccount> {
  const withdrawn = withBillingSession(context, teamId, async (session) => {
    const { requests, checkouts, copy } = session;
    await requests.resend();
    const { customerId } = await session.account();
    const open = customerId === null ? [] : await checkouts.list(customerId);
    const { wasPaid } = await checkouts.withdraw(open, requesterOf(context));
    const account = await copy.refresh();
    if (wasPaid && !isLive(account)) throw new PaymentProviderError();
    return account;
  });
  return withdrawn.catch((error: unknown) => {
    // A request to the provider may still have its effect, but what was asked for here is only done after it.
    const isUndone = error instanceof PaymentProviderError && error.outcome === "unknown";
    throw isUndone ? new PaymentProviderError("undone") : error;
  });
}
