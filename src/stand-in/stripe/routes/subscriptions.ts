import { invalidRequest, missingResource } from "../errors.js";
import { type Update, cancelSubscription, hasEnded, startSubscription, updateSubscription } from "../lifecycle.js";
import { subscriptionObject } from "../objects.js";
import { COMMON, PAGING, type Reader, boolean, fields, integer, metadata, oneOf, optional, text } from "../params.js";
import type { Scene } from "../scene.js";
import { type SubscriptionRecord, mergeMetadata } from "../state.js";
import { CHANGED_ITEMS, NEW_ITEMS, changedItems, newItems } from "./items.js";
import { type Route, findNamed, exclusive, listOf, findCustomer, route } from "./route.js";

const STATUSES = [
  "active",
  "all",
  "canceled",
  "ended",
  "incomplete",
  "incomplete_expired",
  "past_due",
  "paused",
  "trialing",
  "unpaid",
] as const;

const LIST = fields({
  ...PAGING,
  customer: optional(text()),
  status: optional(oneOf(...STATUSES)),
});

const CREATE = fields({
  ...COMMON,
  customer: text(),
  items: NEW_ITEMS,
  metadata: optional(metadata),
});

/** A time, or an empty value to take back the cancellation. */
export const endOrNone: Reader<number | null> = (tree, param) => (tree === "" ? null : integer()(tree, param));

const UPDATE = fields({
  ...COMMON,
  items: optional(CHANGED_ITEMS),
  metadata: optional(metadata),
  cancel_at: optional(endOrNone),
  cancel_at_period_end: optional(boolean),
  payment_behavior: optional(oneOf("allow_incomplete", "pending_if_incomplete")),
  proration_behavior: optional(oneOf("always_invoice", "create_prorations", "none")),
});

const CANCEL = fields({ ...COMMON, invoice_now: optional(boolean), prorate: optional(boolean) });

export const subscriptionRoutes: readonly Route[] = [
  route("GET", "/v1/subscriptions", LIST, (scene, params) => {
    if (params.customer !== undefined) findCustomer(scene, params.customer);
    const matching = Object.values(scene.state.subscriptions).filter(
      (subscription) =>
        (params.customer === undefined || subscription.customer === params.customer) &&
        hasStatus(subscription, params.status),
    );
    return listOf("/v1/subscriptions", matching, params, (each) => subscriptionObject(scene, each));
  }),
  route("POST", "/v1/subscriptions", CREATE, (scene, params) => {
    const customer = findCustomer(scene, params.customer);
    const items = newItems(scene, params.items);
    const given = mergeMetadata({}, params.metadata);
    const start = { customer: customer.id, items, metadata: given, paid: customer.card === "accepted" };
    return subscriptionObject(scene, startSubscription(scene, start));
  }),
  route("GET", "/v1/subscriptions/:id", fields(COMMON), (scene, _params, id) =>
    subscriptionObject(scene, findNamed(scene.state.subscriptions, "subscription", id)),
  ),
  route("POST", "/v1/subscriptions/:id", UPDATE, (scene, params, id) => {
    const subscription = findNamed(scene.state.subscriptions, "subscription", id);
    updateSubscription(scene, subscription, updateOf(scene, subscription, params));
    return subscriptionObject(scene, subscription);
  }),
  route("DELETE", "/v1/subscriptions/:id", CANCEL, (scene, _params, id) => {
    const subscription = findNamed(scene.state.subscriptions, "subscription", id);
    // Cancelling it again is answered like an unknown subscription.
    if (hasEnded(subscription)) throw missingResource("subscription", id);
    cancelSubscription(scene, subscription);
    return subscriptionObject(scene, subscription);
  }),
];

/** Without a status, lists all that are not canceled. */
function hasStatus({ status }: SubscriptionRecord, wanted: (typeof STATUSES)[number] | undefined): boolean {
  if (wanted === undefined) return status !== "canceled";
  if (wanted === "ended") return status === "canceled" || status === "incomplete_expired";
  return wanted === "all" || status === wanted;
}

function updateOf(scene: Scene, subscription: SubscriptionRecord, params: ReturnType<typeof UPDATE>): Update {
  const { items, cancel_at: cancelAt, cancel_at_period_end: cancelAtPeriodEnd } = params;
  exclusive({ cancel_at: cancelAt, cancel_at_period_end: cancelAtPeriodEnd });
  const changesMore = [items, cancelAt, cancelAtPeriodEnd].some((given) => given !== undefined);
  if (changesMore && hasEnded(subscription)) {
    const message = "A canceled subscription can only update its cancellation_details and metadata.";
    throw invalidRequest(message, { code: "invalid_canceled_subscription_fields" });
  }
  if (changesMore && subscription.status === "incomplete") {
    throw invalidRequest("An incomplete subscription can only update its metadata and default_source.");
  }
  const payment = params.payment_behavior ?? "allow_incomplete";
  const proration = params.proration_behavior ?? "create_prorations";
  // https://docs.stripe.com/billing/subscriptions/pending-updates-reference
  if (payment === "pending_if_incomplete" && cancelAt !== undefined) {
    const message = "`cancel_at` is not supported with `payment_behavior=pending_if_incomplete`.";
    throw invalidRequest(message, { param: "cancel_at" });
  }
  return {
    items: items && changedItems(scene, subscription, items, proration !== "none"),
    metadata: params.metadata === undefined ? undefined : mergeMetadata(subscription.metadata, params.metadata),
    cancelAtPeriodEnd,
    cancelAt,
    payment,
    proration,
  };
}
