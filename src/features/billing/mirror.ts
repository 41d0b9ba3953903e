import type Stripe from "stripe";
import type { Statement } from "../../platform/database.js";
import { type BillingAccount, isLive, isPaid } from "./account.js";

/** A subscription as the local copy holds it. */
export type SeenSubscription = Pick<
  BillingAccount,
  | "subscriptionId"
  | "itemId"
  | "status"
  | "seats"
  | "periodStart"
  | "periodEnd"
  | "cancelAtPeriodEnd"
  | "pendingSeats"
  | "pendingUntil"
  | "hostedInvoiceUrl"
>;

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
export function readSubscription(subscription: Stripe.Subscription, priceId: string): SeenSubscription {
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
export const timeOf = (seconds: number): Date => new Date(seconds * 1_000);

/** The team's row is locked before its account's, as every change to a team does, and tells whether there is one. */
export const lockTeamOfAccount: Statement = {
  name: "lock_team_of_billing_account",
  text: "SELECT id FROM team WHERE id = $1::uuid FOR UPDATE",
};

/**
 * A checkout is over when Stripe says so, when its time has been for a while, or when there is a subscription that it
 * would double. The last value is when Stripe was asked: what happened there before that is in the copy.
 */
export const writeMirror: Statement = {
  name: "write_billing_mirror",
  text: `
    UPDATE billing_account SET
      subscription_id = $3, item_id = $4, status = $5, seats = $6::int, period_start = $7::timestamptz,
      period_end = $8::timestamptz, cancel_at_period_end = $9, pending_seats = $10::int,
      pending_until = $11::timestamptz, hosted_invoice_url = $12, mirrored_at = $14::timestamptz,
      checked_at = now(), checkout_url = CASE WHEN $13 OR checkout_expires_at <= now() - interval '1 hour'
        THEN NULL ELSE checkout_url END
    WHERE team_id = $1::uuid AND locked_by = $2::uuid RETURNING team_id`,
};

/**
 * As many seats as are paid for; where somebody made the subscription smaller at the provider itself, nobody is
 * removed. 1,000 is the bound of a team.
 */
export const grantSeats: Statement = {
  name: "grant_paid_seats",
  text: `UPDATE team SET max_members = greatest(member_count, least($2::int, 1000), 1)
    WHERE id = $1::uuid AND max_members <> greatest(member_count, least($2::int, 1000), 1) RETURNING id`,
};

/** The values of `writeMirror` after team and lock; nulls where there is no subscription. */
export function mirrorValues(subscription: SeenSubscription | undefined, checkoutIsOver: boolean): unknown[] {
  if (!subscription) return [null, null, "none", null, null, null, false, null, null, null, checkoutIsOver];
  const { subscriptionId, itemId, status, seats, periodStart, periodEnd, ...rest } = subscription;
  const { cancelAtPeriodEnd, pendingSeats, pendingUntil, hostedInvoiceUrl } = rest;
  const period = [periodStart, periodEnd, cancelAtPeriodEnd];
  return [
    subscriptionId,
    itemId,
    status,
    seats,
    ...period,
    pendingSeats,
    pendingUntil,
    hostedInvoiceUrl,
    checkoutIsOver || isLive({ status }),
  ];
}

/** What is kept of a checkout: only one that is open can be paid. */
export function checkoutValues({ id, url, status, metadata, expires_at }: Stripe.Checkout.Session): unknown[] {
  if (status !== "open") return [null, null, null, null];
  return [id, url, Number(metadata?.["seats"]), timeOf(expires_at)];
}
