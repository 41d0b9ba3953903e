import type { Standing } from "../../operation/standing.js";
import { type BillingAccount, isLive, isPaid } from "./account.js";
import { SubscriptionRequired, SubscriptionUnpaid, UpgradePending } from "./failures.js";
import type { BillingSession } from "./session.js";

/** The copy of a live subscription. */
export type LiveAccount = BillingAccount & { readonly subscriptionId: string };

/**
 * Prepares a change of a subscription: finishes an earlier change whose outcome is unknown, checks the caller's role
 * again, since waiting for the lock may have taken a while, and refreshes the copy.
 * @throws what `again`, `resend` and `refresh` throw.
 */
export async function catchUp({ requests, copy }: BillingSession, again: Standing["again"]): Promise<BillingAccount> {
  await requests.resend();
  await again();
  return copy.refresh();
}

/** @throws SubscriptionRequired without a live subscription. */
export function assertSubscribed(account: BillingAccount): asserts account is LiveAccount {
  if (!isLive(account) || account.subscriptionId === null) throw new SubscriptionRequired();
}

/**
 * Parameters that take a cancellation back. Stripe accepts either the flag or the time in one request; clearing the flag
 * also removes its time.
 */
export const withoutEnd = ({ cancelAtPeriodEnd }: LiveAccount) =>
  cancelAtPeriodEnd ? ({ cancel_at_period_end: false } as const) : ({ cancel_at: "" } as const);

/**
 * Whether no invoice brings the plan back any more: in a later period, the latest invoice of an unpaid subscription is a
 * draft, and only paying that one would help.
 */
export const isTooLateToPay = ({ status, hostedInvoiceUrl }: BillingAccount): boolean =>
  status === "unpaid" && hostedInvoiceUrl === null;

/** A subscription whose number of seats can be changed. */
export type ResizableAccount = LiveAccount & { readonly itemId: string };

/**
 * @throws SubscriptionRequired without a live subscription.
 * @throws SubscriptionUnpaid while an invoice is unpaid, UpgradePending while an upgrade waits for its payment.
 */
export function assertResizable(account: BillingAccount): asserts account is ResizableAccount {
  assertSubscribed(account);
  if (account.itemId === null) throw new SubscriptionRequired();
  if (!isPaid(account)) throw new SubscriptionUnpaid(isTooLateToPay(account));
  if (account.pendingSeats !== null) throw new UpgradePending(account.pendingSeats);
}
