import type Stripe from "stripe";
import { type BillingAccount, NO_CHECKOUT, type NO_SUBSCRIPTION, isLive, isPaid } from "./account.js";

/** A subscription as the copy holds it. */
export type SubscriptionValues = Pick<BillingAccount, keyof typeof NO_SUBSCRIPTION>;

/** A checkout as the account holds it. */
type CheckoutValues = Pick<BillingAccount, keyof typeof NO_CHECKOUT>;

/**
 * The one subscription that counts, first, and then the others: one that is paid before one that is not, any that may
 * charge before any that has ended; of those that live the oldest, of those that ended the newest.
 */
export function rankSubscriptions(subscriptions: readonly Stripe.Subscription[]): Stripe.Subscription[] {
  const rank = (subscription: Stripe.Subscription): number => {
    if (isPaid(subscription)) return 0;
    if (subscription.status === "incomplete") return 2;
    return isLive(subscription) ? 1 : 3;
  };
  return [...subscriptions].sort(
    (one, other) =>
      rank(one) - rank(other) || (isLive(one) ? one.created - other.created : other.created - one.created),
  );
}

/** Reads what matters off a subscription that was asked for with its latest invoice. */
export function readSubscription(subscription: Stripe.Subscription, priceId: string): SubscriptionValues {
  const { id, status, items, pending_update: pending, latest_invoice: invoice } = subscription;
  const item = items.data.find(({ price }) => price.id === priceId) ?? items.data[0];
  const wanted = pending?.subscription_items?.find((pendingItem) => pendingItem.id === item?.id);
  const isOpen = typeof invoice === "object" && invoice?.status === "open";
  return {
    subscriptionId: id,
    itemId: item?.id ?? null,
    status,
    seats: item?.quantity ?? null,
    periodStart: item ? timeOf(item.current_period_start) : null,
    periodEnd: item ? timeOf(item.current_period_end) : null,
    cancelAtPeriodEnd: subscription.cancel_at_period_end,
    pendingSeats: wanted?.quantity ?? null,
    pendingUntil: pending ? timeOf(pending.expires_at) : null,
    hostedInvoiceUrl: isOpen ? (invoice.hosted_invoice_url ?? null) : null,
  };
}

/** Stripe's times are seconds since 1970. */
const timeOf = (seconds: number): Date => new Date(seconds * 1_000);

/** What is kept of a checkout: only one that is open can be paid. */
export function readCheckout({ id, url, status, metadata, expires_at }: Stripe.Checkout.Session): CheckoutValues {
  if (status !== "open") return NO_CHECKOUT;
  return {
    checkoutId: id,
    checkoutUrl: url,
    checkoutSeats: Number(metadata?.["seats"]),
    checkoutExpiresAt: timeOf(expires_at),
  };
}
