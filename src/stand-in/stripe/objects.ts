import { Stripe } from "stripe";
import { discountIds } from "./promotion.js";
import {
  type CustomerRecord,
  type EndpointRecord,
  type ItemRecord,
  type PriceRecord,
  type ProductRecord,
  type SessionRecord,
  type Source,
  type SubscriptionRecord,
  mustFind,
} from "./state.js";

/** `satisfies` checks that each object has all declared fields. */
export function customerObject(customer: CustomerRecord): Stripe.Customer {
  const { id, created, email, name, metadata } = customer;
  return {
    id,
    object: "customer",
    address: null,
    balance: customer.balance ?? 0,
    created,
    currency: customer.currency ?? null,
    customer_account: null,
    default_source: null,
    delinquent: false,
    description: null,
    discount: null,
    email,
    invoice_prefix: prefixOf(customer),
    invoice_settings: {
      custom_fields: null,
      default_payment_method: null,
      footer: null,
      rendering_options: null,
    },
    livemode: false,
    metadata: { ...metadata },
    name,
    next_invoice_sequence: customer.invoices + 1,
    phone: null,
    preferred_locales: [],
    shipping: null,
    tax_exempt: "none",
    test_clock: null,
  } satisfies Stripe.Customer;
}

export const prefixOf = ({ id }: { readonly id: string }): string => id.slice(-8).toUpperCase();

export function productObject({ id, created, name }: ProductRecord): Stripe.Product {
  return {
    id,
    object: "product",
    active: true,
    created,
    default_price: null,
    description: null,
    images: [],
    livemode: false,
    marketing_features: [],
    metadata: {},
    name,
    package_dimensions: null,
    shippable: null,
    statement_descriptor: null,
    tax_code: null,
    tax_details: null,
    type: "service",
    unit_label: null,
    updated: created,
    url: null,
  } satisfies Stripe.Product;
}

export function priceObject(price: PriceRecord): Stripe.Price {
  const { id, created, currency, unitAmount, product, lookupKey, recurring } = price;
  return {
    id,
    object: "price",
    active: true,
    billing_scheme: "per_unit",
    created,
    currency,
    custom_unit_amount: null,
    livemode: false,
    lookup_key: lookupKey,
    metadata: {},
    nickname: null,
    product,
    recurring: recurring && {
      interval: recurring.interval,
      interval_count: recurring.intervalCount,
      meter: null,
      trial_period_days: null,
      usage_type: "licensed",
    },
    tax_behavior: "unspecified",
    tiers_mode: null,
    transform_quantity: null,
    type: recurring ? "recurring" : "one_time",
    unit_amount: unitAmount,
    unit_amount_decimal: Stripe.Decimal.from(unitAmount),
  } satisfies Stripe.Price;
}

/** The older form of a price, which items still carry. */
function planObject({ id, created, currency, unitAmount, product, ...price }: PriceRecord): Stripe.Plan {
  return {
    id,
    object: "plan",
    active: true,
    amount: unitAmount,
    amount_decimal: Stripe.Decimal.from(unitAmount),
    billing_scheme: "per_unit",
    created,
    currency,
    interval: price.recurring?.interval ?? "month",
    interval_count: price.recurring?.intervalCount ?? 1,
    livemode: false,
    metadata: {},
    meter: null,
    nickname: null,
    product,
    tiers_mode: null,
    transform_usage: null,
    trial_period_days: null,
    usage_type: "licensed",
  } satisfies Stripe.Plan;
}

function itemObject(
  { state }: Source,
  { id, created, price, quantity }: ItemRecord,
  subscription: SubscriptionRecord,
): Stripe.SubscriptionItem {
  const priced = mustFind(state.prices[price]);
  return {
    id,
    object: "subscription_item",
    billing_thresholds: null,
    created,
    current_period_end: subscription.periodEnd,
    current_period_start: subscription.periodStart,
    current_trial: null,
    discounts: [],
    metadata: {},
    plan: planObject(priced),
    price: priceObject(priced),
    quantity,
    subscription: subscription.id,
    tax_rates: [],
  } satisfies Stripe.SubscriptionItem;
}

export function subscriptionObject(source: Source, subscription: SubscriptionRecord): Stripe.Subscription {
  const { id, created, status, cancelAtPeriodEnd, canceledAt, endedAt } = subscription;
  return {
    ...UNUSED_BY_SUBSCRIPTIONS,
    id,
    object: "subscription",
    billing_cycle_anchor: anchorOf(subscription),
    cancel_at: endedAt === null ? endOf(subscription) : null,
    cancel_at_period_end: cancelAtPeriodEnd,
    canceled_at: canceledAt,
    cancellation_details: {
      comment: null,
      feedback: null,
      feedback_option: null,
      reason: canceledAt === null ? null : "cancellation_requested",
    },
    created,
    currency: subscription.currency,
    customer: subscription.customer,
    description: null,
    discounts: discountIds(subscription),
    ended_at: endedAt,
    items: {
      object: "list",
      data: subscription.items.map((item) => itemObject(source, item, subscription)),
      has_more: false,
      url: `/v1/subscription_items?subscription=${id}`,
    },
    latest_invoice: subscription.latestInvoice,
    metadata: { ...subscription.metadata },
    pending_update: pendingUpdateObject(source, subscription),
    automatic_tax: {
      disabled_reason: null,
      enabled: subscription.isTaxed,
      liability: subscription.isTaxed ? { type: "self" } : null,
    },
    start_date: created,
    status,
    ...(status === "paused" && { status_details: { paused: pauseObject(subscription) } }),
    trial_end: subscription.trialEnd ?? null,
    trial_start: subscription.trialEnd === undefined ? null : created,
  } satisfies Stripe.Subscription;
}

const pauseObject = ({ created, pausedAt = created }: SubscriptionRecord): Stripe.Subscription.StatusDetails.Paused =>
  ({ subscription: { type: "pause_requested" }, transitioned_at: pausedAt, type: "subscription" }) as const;

/** When periods are counted from: the last change of the interval, the end of the trial, or the start. */
export const anchorOf = ({ restartedAt, trialEnd, created }: SubscriptionRecord): number =>
  restartedAt ?? trialEnd ?? created;

/** When a cancelled subscription ends; null for one that is renewed. */
export const endOf = ({ cancelAtPeriodEnd, cancelAt, periodEnd }: SubscriptionRecord): number | null =>
  cancelAtPeriodEnd ? periodEnd : cancelAt;

/** The fields with the same value in every subscription. */
const UNUSED_BY_SUBSCRIPTIONS = {
  application: null,
  application_fee_percent: null,
  billing_cycle_anchor_config: null,
  billing_mode: { flexible: { proration_discounts: "included" }, type: "flexible" },
  billing_schedules: [],
  billing_thresholds: null,
  collection_method: "charge_automatically",
  customer_account: null,
  days_until_due: null,
  default_payment_method: null,
  default_source: null,
  default_tax_rates: [],
  invoice_settings: {
    account_tax_ids: null,
    custom_fields: null,
    description: null,
    footer: null,
    issuer: { type: "self" },
  },
  livemode: false,
  managed_payments: null,
  next_pending_invoice_item_invoice: null,
  on_behalf_of: null,
  pause_collection: null,
  payment_settings: {
    payment_method_options: null,
    payment_method_types: null,
    save_default_payment_method: "off",
  },
  pending_invoice_item_interval: null,
  pending_setup_intent: null,
  schedule: null,
  test_clock: null,
  transfer_data: null,
  trial_settings: { end_behavior: { billing_cycle_anchor: null, missing_payment_method: "create_invoice" } },
} satisfies Partial<Stripe.Subscription>;

function pendingUpdateObject(
  source: Source,
  subscription: SubscriptionRecord,
): Stripe.Subscription.PendingUpdate | null {
  const update = subscription.pendingUpdate;
  if (!update) return null;
  return {
    billing_cycle_anchor: null,
    cancel_at_period_end: update.cancelAtPeriodEnd,
    discount: null,
    discounts: null,
    expires_at: update.expiresAt,
    metadata: update.metadata && { ...update.metadata },
    subscription_items: update.items.map((item) => itemObject(source, item, subscription)),
    trial_end: null,
    trial_from_plan: null,
  } satisfies Stripe.Subscription.PendingUpdate;
}

export function endpointObject(endpoint: EndpointRecord): Stripe.WebhookEndpoint {
  return {
    id: endpoint.id,
    object: "webhook_endpoint",
    api_version: null,
    application: null,
    created: endpoint.created,
    description: null,
    enabled_events: [...endpoint.enabledEvents],
    livemode: false,
    metadata: {},
    status: endpoint.status,
    url: endpoint.url,
  } satisfies Stripe.WebhookEndpoint;
}

export const lineItemObjects = ({ state }: Source, session: SessionRecord): Stripe.LineItem[] =>
  session.lines.map(({ id, price, quantity }) => {
    const priced = mustFind(state.prices[price]);
    const amount = priced.unitAmount * quantity;
    return {
      id,
      object: "item",
      adjustable_quantity: null,
      amount_discount: 0,
      amount_subtotal: amount,
      amount_tax: 0,
      amount_total: amount,
      currency: priced.currency,
      description: state.products[priced.product]?.name ?? null,
      metadata: {},
      price: priceObject(priced),
      quantity,
    } satisfies Stripe.LineItem;
  });

/** Whether a session starts a trial, which is paid only afterwards. */
export const hasTrial = ({ trialDays }: SessionRecord): boolean => trialDays > 0;

/** What is paid at the session's page. */
export const sessionTotal = ({ state }: Source, session: SessionRecord): number =>
  hasTrial(session)
    ? 0
    : session.lines.reduce((sum, { price, quantity }) => sum + mustFind(state.prices[price]).unitAmount * quantity, 0);
