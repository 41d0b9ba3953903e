import type Stripe from "stripe";
import { type BillingAccount, NO_CHECKOUT, type NO_SUBSCRIPTION, isLive, isPaid } from "./account.js";

/** A subscription as stored in the copy. */
export type SubscriptionValues = Pick<BillingAccount, keyof typeof NO_SUBSCRIPTION>;

/** A checkout as stored in the account. */
type CheckoutValues = Pick<BillingAccount, keyof typeof NO_CHECKOUT>;

/**
 * Sorts subscriptions so that the one that counts is first: paid, then other live ones, then incomplete, then ended.
 * Among equal ones, the subscription in the copy comes first: otherwise, after it has ended, a second subscription that
 * the service ended would be shown as the team's. Then the oldest live one, or the newest ended one.
 */
export function rankSubscriptions(
  subscriptions: readonly Stripe.Subscription[],
  knownId: string | null,
): Stripe.Subscription[] {
  const rank = (subscription: Stripe.Subscription): number => {
    if (isPaid(subscription)) return 0;
    if (subscription.status === "incomplete") return 2;
    return isLive(subscription) ? 1 : 3;
  };
  return [...subscriptions].sort(
    (one, other) =>
      rank(one) - rank(other) ||
      Number(other.id === knownId) - Number(one.id === knownId) ||
      (isLive(one) ? one.created - other.created : other.created - one.created),
  );
}

/**
 * The stored values of a subscription, which must contain its latest invoice. Fields that may be null may also be
 * missing: Stripe's OpenAPI document requires none of them.
 */
export function readSubscription(subscription: Stripe.Subscription, known: SeatsKnownBy): SubscriptionValues {
  const { id, status, pending_update: pending, latest_invoice: invoice } = subscription;
  const item = findSeats(subscription, known);
  const wanted = pending?.subscription_items?.find((pendingItem) => pendingItem.id === item?.id);
  const isDue = typeof invoice === "object" && invoice !== null && mayBePaid(subscription, invoice);
  const seats = readSeats(subscription, item);
  return {
    subscriptionId: id,
    itemId: item?.id ?? null,
    status,
    ...seats,
    interval: item?.price.recurring?.interval ?? null,
    periodStart: item ? timeOf(item.current_period_start) : null,
    periodEnd: item ? timeOf(item.current_period_end) : null,
    cancelAtPeriodEnd: subscription.cancel_at_period_end,
    cancelAt: subscription.cancel_at == null ? null : timeOf(subscription.cancel_at),
    pendingSeats: wanted?.quantity ?? null,
    pendingUntil: pending ? timeOf(pending.expires_at) : null,
    hostedInvoiceUrl: isDue ? (invoice.hosted_invoice_url ?? null) : null,
  };
}

/**
 * Whether paying this invoice buys something: after the end of the subscription, it would not. One that is marked as
 * uncollectible can still be paid; where the subscription counts as paid, the operator has forgiven it.
 */
const mayBePaid = (subscription: Stripe.Subscription, { status }: Stripe.Invoice): boolean =>
  isLive(subscription) && (status === "open" || (status === "uncollectible" && !isPaid(subscription)));

/** How the item of the seats is recognised. */
interface SeatsKnownBy {
  /** The configured prices. */
  readonly prices: readonly string[];
  /** The item in the copy. */
  readonly knownItemId: string | null;
}

/**
 * The operator may have added other items in the dashboard, and may have given the seats a price of their own. Stripe
 * promises no order of items.
 */
function findSeats({ items: { data } }: Stripe.Subscription, { prices, knownItemId }: SeatsKnownBy) {
  const priced = data.filter(({ price }) => prices.includes(price.id));
  const candidates = priced.length > 0 ? priced : data;
  return candidates.find(({ id }) => id === knownItemId) ?? candidates[0];
}

/** Names in the metadata of a subscription with a lowered quantity: the seats that are still paid, and until when. */
export const KEPT_SEATS = { seats: "paid_seats", until: "paid_until" } as const;

/**
 * The seats that are paid for, and those of the next period if there is one and these are fewer. A smaller quantity is
 * stored at Stripe at once, so that the renewal charges it; the metadata says what is paid until the end of the period.
 */
function readSeats(
  subscription: Stripe.Subscription,
  item: Stripe.SubscriptionItem | undefined,
): Pick<BillingAccount, "seats" | "nextSeats"> {
  const quantity = item?.quantity ?? null;
  const { metadata } = subscription;
  const isThisPeriod = item !== undefined && metadata[KEPT_SEATS.until] === String(item.current_period_end);
  const kept = isThisPeriod ? Number(metadata[KEPT_SEATS.seats]) : 0;
  if (quantity === null || !(kept > quantity)) return { seats: quantity, nextSeats: null };
  return { seats: kept, nextSeats: isLive(subscription) ? quantity : null };
}

/** Stripe's times are seconds since 1970. */
export const timeOf = (seconds: number): Date => new Date(seconds * 1_000);

/** The stored values of a checkout: only an open one can be paid. */
export function readCheckout({ id, url, status, metadata, expires_at }: Stripe.Checkout.Session): CheckoutValues {
  if (status !== "open") return NO_CHECKOUT;
  return {
    checkoutId: id,
    checkoutUrl: url,
    checkoutSeats: Number(metadata?.["seats"]),
    checkoutPriceId: metadata?.["price"] ?? null,
    checkoutExpiresAt: timeOf(expires_at),
  };
}

/** The tax of an invoice, in the currency's smallest unit. */
export const taxOf = ({ total_taxes: taxes }: Pick<Stripe.Invoice, "total_taxes">): number =>
  (taxes ?? []).reduce((sum, { amount }) => sum + amount, 0);
