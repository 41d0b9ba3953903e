import {
  DAY_SECONDS,
  canBePaid,
  cardAccepts,
  draftInvoice,
  endOfPeriod,
  issueInvoice,
  makeInvoice,
  periodLines,
  prorationLines,
  voidInvoice,
} from "./billing.js";
import { cardDeclined, invalidRequest } from "./errors.js";
import { invoiceObject } from "./invoice-object.js";
import { anchorOf, customerObject, endOf, subscriptionObject } from "./objects.js";
import { percentOf } from "./promotion.js";
import type { Scene } from "./scene.js";
import { sessionObject } from "./session-object.js";
import {
  type CustomerRecord,
  type ItemRecord,
  type Metadata,
  type PendingUpdate,
  type PriceRecord,
  type SessionRecord,
  type SubscriptionRecord,
  mustFind,
  newId,
} from "./state.js";

/** How long an update, or the first invoice of a subscription, may wait for its payment. */
export const WAITING_SECONDS = 23 * 3_600;

export function createCustomer(
  scene: Scene,
  given: Partial<Pick<CustomerRecord, "balance" | "email" | "name" | "metadata">>,
): CustomerRecord {
  const customer: CustomerRecord = {
    id: newId("cus"),
    created: scene.now(),
    email: null,
    name: null,
    metadata: {},
    ...given,
    card: "accepted",
    invoices: 0,
  };
  scene.state.customers[customer.id] = customer;
  scene.emit("customer.created", customerObject(customer));
  return customer;
}

interface Start {
  readonly customer: string;
  readonly items: readonly ItemRecord[];
  readonly metadata: Metadata;
  readonly trialDays?: number | undefined;
  readonly isTaxed?: boolean | undefined;
  readonly percentOff?: number | undefined;
  /** Whether the first invoice is paid at once; otherwise the subscription is incomplete until then. */
  readonly paid: boolean;
}

/** Starts a subscription, with a first invoice for its first period. */
export function startSubscription(scene: Scene, start: Start) {
  const { customer, items, metadata, paid, trialDays = 0, isTaxed = false, percentOff } = start;
  const [first] = items;
  const price = mustFind(scene.state.prices[first?.price ?? ""]);
  const now = scene.now();
  const paidStatus = trialDays > 0 ? "trialing" : "active";
  const subscription: SubscriptionRecord = {
    id: newId("sub"),
    created: now,
    customer,
    currency: price.currency,
    items,
    metadata,
    status: paid ? paidStatus : "incomplete",
    periodStart: now,
    periodEnd: trialDays > 0 ? now + trialDays * DAY_SECONDS : endOfPeriod(now, now, price),
    trialEnd: trialDays > 0 ? now + trialDays * DAY_SECONDS : undefined,
    isTaxed,
    percentOff,
    cancelAtPeriodEnd: false,
    cancelAt: null,
    canceledAt: null,
    endedAt: null,
    latestInvoice: null,
    pendingUpdate: null,
    pendingLines: [],
  };
  scene.state.subscriptions[subscription.id] = subscription;
  const lines = periodLines(scene, subscription);
  const invoice = makeInvoice(scene, subscription, { reason: "subscription_create", lines });
  scene.emit("customer.subscription.created", subscriptionObject(scene, subscription));
  issueInvoice(scene, invoice, { paid });
  return subscription;
}

/**
 * Pays at a session's page with a new card. Only then is there a subscription:
 * https://docs.stripe.com/changelog/basil/2025-03-31/checkout-legacy-subscription-upgrade. Throws an ApiError when the
 * session has ended, or the code is invalid.
 */
export function paySession(scene: Scene, session: SessionRecord, { promotionCode = "", taxId = "" } = {}): void {
  assertOpen(session);
  if (promotionCode !== "") session.percentOff = percentOf(session, promotionCode);
  session.customer ??= createCustomer(scene, { email: session.customerEmail }).id;
  if (session.collectsTaxIds && taxId !== "") mustFind(scene.state.customers[session.customer]).taxId = taxId;
  const items = session.lines.map(({ price, quantity }) => makeItem(scene, price, quantity));
  const metadata = session.subscriptionMetadata;
  const { customer, trialDays, isTaxed, percentOff } = session;
  const offer = { items, metadata, trialDays, isTaxed, percentOff };
  const subscription = startSubscription(scene, { customer, ...offer, paid: true });
  session.subscription = subscription.id;
  session.invoice = subscription.latestInvoice;
  session.status = "complete";
  scene.emit("checkout.session.completed", sessionObject(scene, session));
}

/** Throws an ApiError when the session has ended. */
export function expireSession(scene: Scene, session: SessionRecord): void {
  assertOpen(session);
  session.status = "expired";
  scene.emit("checkout.session.expired", sessionObject(scene, session));
}

export function assertOpen({ status }: SessionRecord): void {
  if (status === "open") return;
  throw invalidRequest(`This Session is ${status}: only an open one can be paid or expired.`);
}

export const makeItem = (scene: Scene, price: string, quantity: number): ItemRecord => ({
  id: newId("si"),
  created: scene.now(),
  price,
  quantity,
});

export interface Update {
  readonly items: readonly ItemRecord[] | undefined;
  readonly metadata: Metadata | undefined;
  readonly cancelAtPeriodEnd: boolean | undefined;
  /** Null takes back a cancellation that was set for a time. */
  readonly cancelAt: number | null | undefined;
  readonly payment: "allow_incomplete" | "pending_if_incomplete";
  readonly proration: "always_invoice" | "create_prorations" | "none";
}

/**
 * Changes a subscription. Only a change that is invoiced at once can fail at the bank. Then `payment` decides whether
 * the change waits, or is made and leaves the subscription past due.
 */
export function updateSubscription(scene: Scene, subscription: SubscriptionRecord, update: Update): void {
  const lines = update.items ? prorationLines(scene, subscription, update.items) : [];
  if (lines.length === 0 || update.proration !== "always_invoice") {
    if (contradictsPendingUpdate(subscription, update)) dropPendingUpdate(scene, subscription);
    scene.change(subscription, () => {
      if (update.proration === "create_prorations")
        subscription.pendingLines = [...subscription.pendingLines, ...lines];
      apply(scene, subscription, update);
    });
    return;
  }
  dropPendingUpdate(scene, subscription);
  const { invoice, paid } = scene.change(subscription, () => {
    const made = makeInvoice(scene, subscription, { reason: "subscription_update", lines });
    const isPaid = canBePaid(scene, made);
    if (!isPaid && update.payment === "pending_if_incomplete") {
      subscription.pendingUpdate = waitingUpdate(scene, subscription, update, made.id);
    } else {
      apply(scene, subscription, update);
      // Whether it is past due depends on its latest invoice, which is now this one.
      const settled = subscription.status === "trialing" ? "trialing" : "active";
      if (subscription.status !== "incomplete") subscription.status = isPaid ? settled : "past_due";
    }
    return { invoice: made, paid: isPaid };
  });
  issueInvoice(scene, invoice, { paid });
}

/**
 * Whether an update contradicts the pending one about the cancellation. Stripe then drops the pending update:
 * https://docs.stripe.com/changelog/endive/2026-09-30/scheduled-subscription-cancellation
 */
function contradictsPendingUpdate({ pendingUpdate }: SubscriptionRecord, { cancelAtPeriodEnd }: Update): boolean {
  const waiting = pendingUpdate?.cancelAtPeriodEnd ?? cancelAtPeriodEnd;
  return cancelAtPeriodEnd !== undefined && waiting !== cancelAtPeriodEnd;
}

/** It expires with the period at the latest: https://docs.stripe.com/billing/subscriptions/pending-updates-reference */
const waitingUpdate = (
  scene: Scene,
  { items, periodEnd }: SubscriptionRecord,
  update: Update,
  invoice: string,
): PendingUpdate => ({
  expiresAt: Math.min(scene.now() + WAITING_SECONDS, periodEnd),
  items: update.items ?? items,
  invoice,
  metadata: update.metadata ?? null,
  cancelAtPeriodEnd: update.cancelAtPeriodEnd ?? null,
});

function apply(scene: Scene, subscription: SubscriptionRecord, update: Update): void {
  subscription.items = update.items ?? subscription.items;
  subscription.metadata = update.metadata ?? subscription.metadata;
  const { cancelAtPeriodEnd = subscription.cancelAtPeriodEnd, cancelAt = subscription.cancelAt } = update;
  const endBefore = endOf(subscription);
  // Each way to cancel replaces the other.
  subscription.cancelAtPeriodEnd = cancelAtPeriodEnd && update.cancelAt == null;
  subscription.cancelAt = subscription.cancelAtPeriodEnd ? null : cancelAt;
  const end = endOf(subscription);
  if (end !== endBefore) subscription.canceledAt = end === null ? null : scene.now();
}

/** Cancels as Stripe's portal does in flexible billing: sets the time at which the period ends, without the flag. */
export function cancelInPortal(scene: Scene, subscription: SubscriptionRecord): void {
  const update = { ...NO_UPDATE, cancelAt: subscription.periodEnd };
  scene.change(subscription, () => apply(scene, subscription, update));
}

/** Takes back a cancellation in the portal. */
export function resumeInPortal(scene: Scene, subscription: SubscriptionRecord): void {
  const update = { ...NO_UPDATE, cancelAt: null, cancelAtPeriodEnd: false };
  scene.change(subscription, () => apply(scene, subscription, update));
}

/**
 * Changes to a price with another interval in the portal: a new period begins, and is invoiced with a credit for the
 * rest of the old one. Throws an ApiError when the card is declined.
 */
export function switchInPortal(scene: Scene, subscription: SubscriptionRecord, price: PriceRecord): void {
  if (!cardAccepts(scene, subscription)) throw cardDeclined();
  dropPendingUpdate(scene, subscription);
  const invoice = scene.change(subscription, () => {
    const credit = prorationLines(scene, subscription, []);
    const now = scene.now();
    subscription.items = subscription.items.map((item) => ({ ...item, price: price.id, billed: undefined }));
    // The change ends a trial, and its invoice, which is paid, is now the latest one.
    if (subscription.status === "trialing") subscription.trialEnd = now;
    subscription.status = "active";
    subscription.restartedAt = now;
    subscription.periodStart = now;
    subscription.periodEnd = endOfPeriod(now, now, price);
    const lines = [...credit, ...periodLines(scene, subscription)];
    return makeInvoice(scene, subscription, { reason: "subscription_update", lines });
  });
  issueInvoice(scene, invoice, { paid: true });
}

const NO_UPDATE: Update = {
  items: undefined,
  metadata: undefined,
  cancelAtPeriodEnd: undefined,
  cancelAt: undefined,
  payment: "allow_incomplete",
  proration: "none",
};

/** Voids the invoice of a waiting update, and drops the update. */
export function dropPendingUpdate(scene: Scene, { pendingUpdate }: SubscriptionRecord): void {
  if (pendingUpdate) voidInvoice(scene, mustFind(scene.state.invoices[pendingUpdate.invoice]));
}

/** Ends a subscription at once. Open invoices remain, except one that an update waits for. */
export function cancelSubscription(scene: Scene, subscription: SubscriptionRecord): void {
  dropPendingUpdate(scene, subscription);
  subscription.status = "canceled";
  subscription.canceledAt ??= scene.now();
  subscription.endedAt = scene.now();
  scene.emit("customer.subscription.deleted", subscriptionObject(scene, subscription));
}

export const hasEnded = ({ status }: SubscriptionRecord): boolean =>
  status === "canceled" || status === "incomplete_expired";

/** Marks a subscription as unpaid, as Stripe can be set up to do when all retries of a payment have failed. */
export function giveUpSubscription(scene: Scene, subscription: SubscriptionRecord): void {
  scene.change(subscription, () => void (subscription.status = "unpaid"));
}

/** Pauses a subscription: from then on, nothing of it becomes due. */
export function pauseSubscription(scene: Scene, subscription: SubscriptionRecord): void {
  scene.change(subscription, () => void Object.assign(subscription, { status: "paused", pausedAt: scene.now() }));
  scene.emit("customer.subscription.paused", subscriptionObject(scene, subscription));
}

/**
 * Starts the next period with an invoice. That of an unpaid subscription stays a draft:
 * https://docs.stripe.com/billing/subscriptions/overview#subscription-statuses
 */
export function renewSubscription(scene: Scene, subscription: SubscriptionRecord): void {
  const invoice = scene.change(subscription, () => {
    const price = mustFind(scene.state.prices[subscription.items[0]?.price ?? ""]);
    subscription.periodStart = subscription.periodEnd;
    subscription.periodEnd = endOfPeriod(anchorOf(subscription), subscription.periodStart, price);
    subscription.items = subscription.items.map((item) => ({ ...item, billed: undefined }));
    const lines = [...subscription.pendingLines, ...periodLines(scene, subscription)];
    subscription.pendingLines = [];
    if (subscription.status === "unpaid") {
      return draftInvoice(scene, subscription, { reason: "subscription_cycle", lines });
    }
    const made = makeInvoice(scene, subscription, { reason: "subscription_cycle", lines });
    subscription.status = canBePaid(scene, made) ? "active" : "past_due";
    return made;
  });
  if (invoice.status === "draft") scene.emit("invoice.created", invoiceObject(scene, invoice));
  else issueInvoice(scene, invoice, { paid: subscription.status === "active" });
}

/** Ends a subscription whose first invoice was not paid in time. */
export function abandonSubscription(scene: Scene, subscription: SubscriptionRecord): void {
  const invoice = scene.state.invoices[subscription.latestInvoice ?? ""];
  if (invoice?.status === "open") voidInvoice(scene, invoice);
  scene.change(subscription, () => {
    subscription.status = "incomplete_expired";
    subscription.endedAt = scene.now();
  });
}
