import type Stripe from "stripe";
import type { Context } from "../../operation/context.js";
import { PaymentsError } from "../../platform/payments.js";
import { accountOf, isLive } from "./account.js";
import { type AccountDesk, withAccountDesk } from "./account-desk.js";
import { SubscriptionActive } from "./failures.js";
import { type Asker, askerOf } from "./requests.js";

/** The checkouts that can be paid at this moment, as the provider says. */
export async function openCheckouts(desk: AccountDesk, customer: string): Promise<readonly Stripe.Checkout.Session[]> {
  const { data } = await desk.ask("list", (stripe, options) =>
    stripe.checkout.sessions.list({ customer, status: "open", limit: 100 }, options),
  );
  return data;
}

/** From here on nobody can pay it. One that was paid in between cannot be withdrawn: the subscription tells of that. */
export async function withdrawCheckout(desk: AccountDesk, id: string, asker: Asker): Promise<void> {
  try {
    await desk.perform("expire", { id, params: {} }, asker);
  } catch (error) {
    if (!(error instanceof PaymentsError && error.outcome === "refused")) throw error;
  }
}

/**
 * Makes sure that nothing can be charged for a team any more. Where the copy says that nothing can, the provider is not
 * asked, so that its failure does not stand in the way.
 * @throws SubscriptionActive while a subscription lives.
 * @throws PaymentProviderError when the provider, who had to be asked, failed.
 */
export async function endBilling(context: Context, teamId: string): Promise<void> {
  const known = await accountOf(context, teamId);
  if (!isLive(known) && known.checkoutUrl === null && !known.hasOpenOperation) return;
  await withAccountDesk(context, teamId, async (desk) => {
    await desk.settle();
    const { customerId } = await desk.account();
    for (const { id } of customerId === null ? [] : await openCheckouts(desk, customerId)) {
      await withdrawCheckout(desk, id, askerOf(context));
    }
    if (isLive(await desk.mirror())) throw new SubscriptionActive();
  });
}
