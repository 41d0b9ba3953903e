import { type ApiError, invalidRequest } from "./errors.js";
import { amountDue, endingBalance, invoiceObject } from "./invoice-object.js";
import { anchorOf, prefixOf, subscriptionObject } from "./objects.js";
import { discountOn } from "./promotion.js";
import type { Scene } from "./scene.js";
import {
  type InvoiceRecord,
  type Interval,
  type ItemRecord,
  type LineRecord,
  type PriceRecord,
  type SubscriptionRecord,
  mustFind,
  newId,
} from "./state.js";

/** What an invoice has of its subscription, before anybody tried to pay it. */
const unpaidInvoiceOf = (scene: Scene, subscription: SubscriptionRecord) => ({
  created: scene.now(),
  customer: subscription.customer,
  subscription: subscription.id,
  subscriptionMetadata: subscription.metadata,
  currency: subscription.currency,
  isTaxed: subscription.isTaxed,
  taxIsIncluded: scene.state.tax.behavior === "inclusive",
  percentOff: subscription.percentOff,
  startingBalance: mustFind(scene.state.customers[subscription.customer]).balance ?? 0,
  attempts: 0,
  paidAt: null,
  voidedAt: null,
});

/** Creates a draft that nobody finalizes, which becomes the subscription's latest invoice. */
export function draftInvoice(
  scene: Scene,
  subscription: SubscriptionRecord,
  { reason, lines }: Pick<InvoiceRecord, "reason" | "lines">,
): InvoiceRecord {
  const draft = { ...unpaidInvoiceOf(scene, subscription), id: newId("in"), number: null };
  const invoice: InvoiceRecord = { ...draft, reason, lines, status: "draft" };
  scene.state.invoices[invoice.id] = invoice;
  subscription.latestInvoice = invoice.id;
  return invoice;
}

/** Creates an open invoice, which becomes the subscription's latest. */
export function makeInvoice(
  scene: Scene,
  subscription: SubscriptionRecord,
  { reason, lines }: Pick<InvoiceRecord, "reason" | "lines">,
): InvoiceRecord {
  const customer = mustFind(scene.state.customers[subscription.customer]);
  customer.invoices++;
  customer.currency ??= subscription.currency;
  const invoice: InvoiceRecord = {
    ...unpaidInvoiceOf(scene, subscription),
    id: newId("in"),
    number: `${prefixOf(customer)}-${String(customer.invoices).padStart(4, "0")}`,
    reason,
    lines,
    status: "open",
  };
  customer.balance = endingBalance(invoice);
  scene.state.invoices[invoice.id] = invoice;
  subscription.latestInvoice = invoice.id;
  return invoice;
}

interface Preview {
  readonly items: readonly ItemRecord[];
  readonly prorates: boolean;
  /** Whether the subscription is renewed at the end of its period. */
  readonly isRenewed: boolean;
}

/**
 * The next invoice of a subscription as if it had these items, with prorations if `prorates`. Throws an ApiError when
 * there would be nothing to invoice: https://docs.stripe.com/error-codes#invoice-upcoming-none
 */
export function previewInvoice(
  scene: Scene,
  subscription: SubscriptionRecord,
  { items, prorates, isRenewed }: Preview,
): InvoiceRecord {
  const { periodStart, periodEnd, pendingLines } = subscription;
  const price = mustFind(scene.state.prices[items[0]?.price ?? ""]);
  const next = {
    items,
    periodStart: periodEnd,
    periodEnd: endOfPeriod(anchorOf(subscription), Math.max(periodEnd, periodStart), price),
  };
  const prorations = prorates ? prorationLines(scene, subscription, items) : [];
  const renewal = isRenewed ? periodLines(scene, { ...subscription, ...next }) : [];
  const lines = [...pendingLines, ...prorations, ...renewal];
  if (lines.length === 0) {
    const message = `No upcoming invoices for customer: ${subscription.customer}`;
    throw invalidRequest(message, { code: "invoice_upcoming_none" }, 404);
  }
  return {
    ...unpaidInvoiceOf(scene, subscription),
    id: newId("upcoming_in"),
    number: null,
    reason: "upcoming",
    status: "draft",
    lines,
  };
}

/** Sends the events of a new invoice, after those of its subscription, and settles it. */
export function issueInvoice(scene: Scene, invoice: InvoiceRecord, { paid }: { readonly paid: boolean }): void {
  scene.emit("invoice.created", invoiceObject(scene, invoice));
  scene.emit("invoice.finalized", invoiceObject(scene, invoice));
  if (paid) markPaid(scene, invoice);
  else markFailed(scene, invoice);
}

/** Whether nothing is due, or the bank lets the card pay it. */
export const canBePaid = (scene: Scene, invoice: InvoiceRecord): boolean =>
  amountDue(invoice) === 0 || cardAccepts(scene, invoice);

export const cardAccepts = (scene: Scene, { customer }: { readonly customer: string }): boolean =>
  mustFind(scene.state.customers[customer]).card === "accepted";

function markPaid(scene: Scene, invoice: InvoiceRecord): void {
  invoice.status = "paid";
  invoice.attempts++;
  invoice.paidAt = scene.now();
  scene.emit("invoice.paid", invoiceObject(scene, invoice));
  scene.emit("invoice.payment_succeeded", invoiceObject(scene, invoice));
}

function markFailed(scene: Scene, invoice: InvoiceRecord): void {
  invoice.attempts++;
  const isChallenged = mustFind(scene.state.customers[invoice.customer]).card === "challenged";
  const type = isChallenged ? "invoice.payment_action_required" : "invoice.payment_failed";
  scene.emit(type, invoiceObject(scene, invoice));
}

/** Pays an invoice, and applies what waited for it. Throws an ApiError when it cannot be paid. */
export function payInvoice(scene: Scene, invoice: InvoiceRecord): void {
  assertPayable(invoice);
  markPaid(scene, invoice);
  const subscription = mustFind(scene.state.subscriptions[invoice.subscription]);
  const update = subscription.pendingUpdate;
  if (update?.invoice === invoice.id) {
    scene.change(subscription, () => {
      subscription.items = update.items;
      subscription.metadata = { ...subscription.metadata, ...update.metadata };
      subscription.cancelAtPeriodEnd = update.cancelAtPeriodEnd ?? subscription.cancelAtPeriodEnd;
      subscription.pendingUpdate = null;
    });
    scene.emit("customer.subscription.pending_update_applied", subscriptionObject(scene, subscription));
  } else if (subscription.latestInvoice === invoice.id && isUnpaid(subscription)) {
    scene.change(subscription, () => void (subscription.status = "active"));
  }
}

const isUnpaid = ({ status }: SubscriptionRecord): boolean =>
  status === "past_due" || status === "unpaid" || status === "incomplete";

/** An attempt to pay an invoice that the bank declines. Throws an ApiError when it cannot be paid. */
export function declineInvoice(scene: Scene, invoice: InvoiceRecord): void {
  assertPayable(invoice);
  markFailed(scene, invoice);
}

/** Voids an invoice, and drops an update that waited for it. Throws an ApiError when it cannot be voided. */
export function voidInvoice(scene: Scene, invoice: InvoiceRecord): void {
  assertPayable(invoice);
  invoice.status = "void";
  // What it took of the customer's balance.
  const customer = mustFind(scene.state.customers[invoice.customer]);
  customer.balance = (customer.balance ?? 0) + (invoice.startingBalance ?? 0) - endingBalance(invoice);
  invoice.voidedAt = scene.now();
  scene.emit("invoice.voided", invoiceObject(scene, invoice));
  const subscription = mustFind(scene.state.subscriptions[invoice.subscription]);
  if (subscription.pendingUpdate?.invoice !== invoice.id) return;
  scene.change(subscription, () => void (subscription.pendingUpdate = null));
  scene.emit("customer.subscription.pending_update_expired", subscriptionObject(scene, subscription));
}

/** Writes an open invoice off. Its subscription then counts as paid. Throws an ApiError when it is not open. */
export function giveInvoiceUp(scene: Scene, invoice: InvoiceRecord): void {
  if (invoice.status !== "open") throw wrongStatus(invoice, "only an open one can be marked as uncollectible");
  invoice.status = "uncollectible";
  invoice.uncollectibleAt = scene.now();
  scene.emit("invoice.marked_uncollectible", invoiceObject(scene, invoice));
  const subscription = mustFind(scene.state.subscriptions[invoice.subscription]);
  if (subscription.latestInvoice !== invoice.id || !isUnpaid(subscription)) return;
  scene.change(subscription, () => void (subscription.status = "active"));
}

/** One that was written off, too: https://docs.stripe.com/invoicing/integration/workflow-transitions */
function assertPayable(invoice: InvoiceRecord): void {
  if (invoice.status === "open" || invoice.status === "uncollectible") return;
  throw wrongStatus(invoice, "only an open or uncollectible one can be paid or voided");
}

const wrongStatus = ({ id, status }: InvoiceRecord, rule: string): ApiError =>
  invalidRequest(`The invoice ${id} is ${status}: ${rule}.`, { code: "status_transition_invalid" });

/** The price of a whole period of the items. */
export function periodLines(scene: Scene, subscription: SubscriptionRecord): LineRecord[] {
  const { items, periodStart, periodEnd } = subscription;
  return items.map((item) => {
    const price = mustFind(scene.state.prices[item.price]);
    return {
      ...lineOf(item),
      amount: unitAmountOf(price, periodStart, subscription) * item.quantity,
      description: `${item.quantity} × ${nameOf(scene, price)}`,
      proration: false,
      start: periodStart,
      end: periodEnd,
    };
  });
}

const lineOf = ({ id, price, quantity }: ItemRecord) => ({ id: newId("il"), item: id, price, quantity });

const nameOf = ({ state }: Scene, { product }: PriceRecord): string => mustFind(state.products[product]).name;

/** What this period was debited for: the present price and quantity, unless they changed without a proration. */
export const billedOf = ({ billed, price, quantity }: ItemRecord) => billed ?? { price, quantity };

/**
 * The lines for changing to other items: a credit for the rest of the period with what was debited, as in flexible
 * billing (https://docs.stripe.com/billing/subscriptions/prorations#credit-prorations), and the price of that time with
 * the new items, both less the discount, as with Stripe's `proration_discounts: included`. Approximate: by the share of
 * seconds that is left, rounded to the smallest unit, for prices in one currency.
 */
export function prorationLines(
  scene: Scene,
  subscription: SubscriptionRecord,
  items: readonly ItemRecord[],
): readonly LineRecord[] {
  const { periodStart, periodEnd } = subscription;
  const now = Math.min(Math.max(scene.now(), periodStart), periodEnd);
  const share = periodEnd === periodStart ? 0 : (periodEnd - now) / (periodEnd - periodStart);
  const same = (one: ItemRecord, other: ItemRecord) =>
    one.id === other.id && one.price === other.price && one.quantity === other.quantity;
  const lines = (among: readonly ItemRecord[], others: readonly ItemRecord[], sign: 1 | -1, what: string) =>
    among
      .filter((item) => !others.some((other) => same(item, other)))
      .map((item) => (sign === -1 ? { ...item, ...billedOf(item) } : item))
      .map((item) => {
        const price = mustFind(scene.state.prices[item.price]);
        const full = Math.round(unitAmountOf(price, now, subscription) * item.quantity * share);
        return {
          ...lineOf(item),
          amount: sign * (full - discountOn(subscription, full)),
          description: `${what} ${item.quantity} × ${nameOf(scene, price)}`,
          proration: true,
          start: now,
          end: periodEnd,
        };
      });
  return [
    ...lines(subscription.items, items, -1, "Unused time on"),
    ...lines(items, subscription.items, 1, "Remaining time on"),
  ];
}

/** The price of a unit in a period that starts then. A trial costs nothing. */
const unitAmountOf = (price: PriceRecord, start: number, { trialEnd = 0 }: SubscriptionRecord): number =>
  start < trialEnd ? 0 : price.unitAmount;

/** The end of the period from `start`, counted from the first `beginning`, so that the 31st returns after February. */
export function endOfPeriod(beginning: number, start: number, price: PriceRecord): number {
  const { interval, intervalCount } = mustFind(price.recurring ?? undefined);
  for (let periods = 1; ; periods++) {
    const end = later(beginning, interval, intervalCount * periods);
    if (end > start) return end;
  }
}

export const DAY_SECONDS = 86_400;

function later(from: number, interval: Interval, count: number): number {
  if (interval === "day") return from + count * DAY_SECONDS;
  if (interval === "week") return from + count * 7 * DAY_SECONDS;
  const date = new Date(from * 1_000);
  const month = date.getUTCMonth() + count * (interval === "year" ? 12 : 1);
  const daysInMonth = new Date(Date.UTC(date.getUTCFullYear(), month + 1, 0)).getUTCDate();
  const day = Math.min(date.getUTCDate(), daysInMonth);
  const timeOfDay = from - Math.floor(from / DAY_SECONDS) * DAY_SECONDS;
  return Date.UTC(date.getUTCFullYear(), month, day) / 1_000 + timeOfDay;
}
