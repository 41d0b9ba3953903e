import type { Context } from "../../operation/context.js";
import { type BillingAccount, accountOf, isLive } from "./account.js";
import { withAccountDesk } from "./account-desk.js";
import { PaymentProviderError, SubscriptionActive } from "./failures.js";
import { askerOf } from "./requests.js";

/** Whether anything can be charged for the team, now or by a page that is open. */
const mayCharge = (account: BillingAccount, now: Date): boolean =>
  isLive(account) ||
  account.hasOpenOperation ||
  (account.checkoutUrl !== null && Number(account.checkoutExpiresAt) > +now);

/**
 * Makes sure that nothing can be charged for a team any more. Where the copy says that nothing can, the provider is not
 * asked, so that its failure does not stand in the way.
 * @throws SubscriptionActive while a subscription lives.
 * @throws PaymentProviderError when the provider, who had to be asked, failed, or is about to make a subscription.
 */
export async function endBilling(context: Context, teamId: string): Promise<void> {
  if (!mayCharge(await accountOf(context, teamId), context.now())) return;
  await withAccountDesk(context, teamId, async (desk) => {
    await desk.settle();
    const { customerId } = await desk.account();
    const open = customerId === null ? [] : await desk.openCheckouts(customerId);
    const { wasPaid } = await desk.withdraw(open, askerOf(context));
    if (isLive(await desk.mirror())) throw new SubscriptionActive();
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
