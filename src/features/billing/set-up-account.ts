import { createHash } from "node:crypto";
import { Stripe } from "stripe";

const PRODUCT_ID = "memory_graph_team";
/** The events that the service needs: all that may change a team's subscription. */
const EVENTS = [
  "checkout.session.completed",
  "checkout.session.expired",
  "customer.subscription.created",
  "customer.subscription.updated",
  "customer.subscription.deleted",
  "customer.subscription.paused",
  "customer.subscription.resumed",
  "customer.subscription.pending_update_applied",
  "customer.subscription.pending_update_expired",
  "invoice.paid",
  "invoice.payment_failed",
  "invoice.voided",
] as const satisfies Stripe.WebhookEndpointCreateParams.EnabledEvent[];

const WEBHOOK_PATH = "/billing/stripe-webhook";

export interface SetupOptions {
  /** The price of a seat, in the currency's smallest unit; undefined keeps the present one. */
  readonly monthly?: number | undefined;
  readonly yearly?: number | undefined;
  /** Three letters in lower case; undefined keeps the present one. */
  readonly currency?: string | undefined;
  /** The URL at which Stripe reaches the service, without a slash at the end. */
  readonly url: string;
}

export interface AccountSetup {
  readonly monthlyPriceId: string;
  readonly yearlyPriceId: string;
  /** The configuration of the customer portal. */
  readonly portalId: string;
  /** Stripe returns it only when the endpoint is created; otherwise null. */
  readonly webhookSecret: string | null;
  /** The things that were missing or outdated, and have been created or changed. */
  readonly made: readonly string[];
}

/** What a seat costs where an account has no price yet, and nothing else is given. */
export const FIRST_PRICES = { month: 800, year: 8_000, currency: "usd" } as const;

/**
 * Creates what the service needs in a Stripe account, if it is missing. Prices cannot be changed: for another amount, a
 * new price takes over the lookup key of the old one, and teams with the old price keep it.
 * @throws Stripe's errors, whose messages are for the operator.
 */
export async function setUpAccount(stripe: Stripe, options: SetupOptions): Promise<AccountSetup> {
  const made: string[] = [];
  const product = await ensureProduct(stripe, made);
  const { currency } = options;
  const monthly = await ensurePrice(stripe, { product, interval: "month", amount: options.monthly, currency }, made);
  const yearly = await ensurePrice(stripe, { product, interval: "year", amount: options.yearly, currency }, made);
  const portalId = await ensurePortal(stripe, { product, prices: [monthly, yearly] }, made);
  // Last, since Stripe shows the endpoint's secret only once.
  const webhookSecret = await ensureEndpoint(stripe, `${options.url}${WEBHOOK_PATH}`, made);
  return { monthlyPriceId: monthly, yearlyPriceId: yearly, portalId, webhookSecret, made };
}

interface Offer {
  readonly product: string;
  readonly prices: string[];
}

/** How often a creation is tried again while the same one still runs. */
const TRIES_WHILE_BUSY = 5;

/**
 * Creates an object once, even if several commands do so at the same time: those that have seen the same objects send
 * the same idempotency key. Stripe then returns the same object for a day, also after that was deleted or archived, and
 * the same server error. Only then a new one is created.
 * @param seen the ids of the objects of this kind, and of archived ones.
 */
async function createOnce<Params, Made>(
  seen: readonly string[],
  params: Params,
  create: (params: Params, options?: Stripe.RequestOptions) => Promise<Made>,
  isThere: (made: Made) => Promise<boolean>,
): Promise<Made> {
  const idempotencyKey = createHash("sha256")
    .update(JSON.stringify([seen, params]))
    .digest("hex");
  try {
    const made = await create(params, { idempotencyKey, maxNetworkRetries: TRIES_WHILE_BUSY });
    if (await isThere(made)) return made;
  } catch (error) {
    const isReplayed = error instanceof Stripe.errors.StripeError && error.headers?.["idempotent-replayed"] === "true";
    if (!isReplayed) throw error;
  }
  return create(params);
}

const isMissing = (error: unknown): boolean =>
  error instanceof Stripe.errors.StripeInvalidRequestError && error.code === "resource_missing";

const ACTIVE = { active: true, limit: 100 };

const idsOf = (objects: readonly { readonly id: string }[]): string[] => objects.map(({ id }) => id);

/** What owners can change about the customer: with the e-mail address, since a department may pay. */
const UPDATES = ["email", "name", "address", "tax_id"] as const;

/** https://docs.stripe.com/changelog/clover/2025-12-15/customer-portal-billing-cycle-anchor */
const RESTART = "now";

/** Whether a change between month and year in the customer portal begins a new period. */
export const restartsPeriod = ({ features }: Stripe.BillingPortal.Configuration): boolean =>
  features.subscription_update.billing_cycle_anchor === RESTART;

/**
 * What owners can do in the customer portal: everything but change the quantity, since the service must count members
 * first. A change between month and year takes effect at once, with a credit for the rest of the period, and begins a
 * new one: otherwise Stripe would keep the day of the renewal, and charge only that part of a year which is left until
 * the subscription's anniversary.
 */
const portalFeatures = (offer: Offer) =>
  ({
    customer_update: { enabled: true, allowed_updates: [...UPDATES] },
    invoice_history: { enabled: true },
    payment_method_update: { enabled: true },
    subscription_cancel: { enabled: true, mode: "at_period_end" },
    subscription_update: {
      enabled: true,
      default_allowed_updates: ["price"],
      proration_behavior: "always_invoice",
      billing_cycle_anchor: RESTART,
      products: [offer],
    },
  }) satisfies Stripe.BillingPortal.ConfigurationCreateParams.Features;

/** An existing portal is updated after a change of the amounts, or if an earlier release made it. */
async function ensurePortal(stripe: Stripe, offer: Offer, made: string[]): Promise<string> {
  const { configurations } = stripe.billingPortal;
  const { data } = await configurations.list({
    limit: 100,
    expand: ["data.features.subscription_update.products"],
  });
  const known = data.find(({ active, metadata }) => active && metadata?.["made_for"] === PRODUCT_ID);
  const parts = { features: portalFeatures(offer), metadata: { made_for: PRODUCT_ID } };
  if (!known) {
    made.push("customer portal");
    const create = (params: typeof parts, options?: Stripe.RequestOptions) => configurations.create(params, options);
    const isThere = async ({ id }: { id: string }) => idsOf((await configurations.list(ACTIVE)).data).includes(id);
    return (await createOnce(idsOf(data), parts, create, isThere)).id;
  }
  const offered = known.features.subscription_update.products?.flatMap(({ prices }) => prices) ?? [];
  const { allowed_updates: allowed } = known.features.customer_update;
  const isComplete =
    offer.prices.every((price) => offered.includes(price)) &&
    UPDATES.every((update) => allowed.includes(update)) &&
    restartsPeriod(known);
  if (!isComplete) {
    made.push("the customer portal's settings");
    await configurations.update(known.id, parts);
  }
  return known.id;
}

async function ensureProduct(stripe: Stripe, made: string[]): Promise<string> {
  try {
    return (await stripe.products.retrieve(PRODUCT_ID)).id;
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  made.push("product");
  try {
    return (await stripe.products.create({ id: PRODUCT_ID, name: "Memory Graph Team" })).id;
  } catch (error) {
    // Another command created it at the same moment.
    if (!(error instanceof Stripe.errors.StripeError && error.code === "resource_already_exists")) throw error;
    return PRODUCT_ID;
  }
}

interface WantedPrice {
  readonly product: string;
  readonly interval: "month" | "year";
  readonly amount: number | undefined;
  readonly currency: string | undefined;
}

const lookupKeyOf = (interval: "month" | "year"): string => `${PRODUCT_ID}_${interval}ly`;

async function ensurePrice(stripe: Stripe, wanted: WantedPrice, made: string[]): Promise<string> {
  const { product, interval, amount } = wanted;
  const lookupKey = lookupKeyOf(interval);
  const { data } = await stripe.prices.list({ lookup_keys: [lookupKeyOf("month"), lookupKeyOf("year")], limit: 100 });
  const active = data.filter((price) => price.active);
  // Only one price has a lookup key.
  const present = active.find((price) => price.lookup_key === lookupKey);
  // Stripe changes no subscription to a price in another currency.
  const currency = wanted.currency ?? (present ?? active[0])?.currency ?? FIRST_PRICES.currency;
  if (present?.currency === currency && (amount ?? present.unit_amount) === present.unit_amount) return present.id;
  made.push(`price by the ${interval}`);
  const params = {
    product,
    currency,
    recurring: { interval },
    unit_amount: amount ?? present?.unit_amount ?? FIRST_PRICES[interval],
    lookup_key: lookupKey,
    transfer_lookup_key: true,
  };
  const create = (wish: typeof params, options?: Stripe.RequestOptions) => stripe.prices.create(wish, options);
  const isThere = async ({ id }: { id: string }) =>
    idsOf((await stripe.prices.list({ ...ACTIVE, lookup_keys: [lookupKey] })).data).includes(id);
  return (await createOnce(idsOf(data), params, create, isThere)).id;
}

/** The secret of the endpoint if it is created here; null if it exists already. */
async function ensureEndpoint(stripe: Stripe, url: string, made: string[]): Promise<string | null> {
  const { data } = await stripe.webhookEndpoints.list({ limit: 100 });
  const known = data.find((endpoint) => endpoint.url === url);
  if (!known) {
    made.push("webhook endpoint");
    const params = { url, enabled_events: [...EVENTS] };
    const create = (wish: typeof params, options?: Stripe.RequestOptions) =>
      stripe.webhookEndpoints.create(wish, options);
    const isThere = async ({ id }: { id: string }) =>
      idsOf((await stripe.webhookEndpoints.list({ limit: 100 })).data).includes(id);
    return (await createOnce(idsOf(data), params, create, isThere)).secret ?? null;
  }
  if (!receivesAll(known)) {
    made.push("the webhook endpoint's events");
    await stripe.webhookEndpoints.update(known.id, { enabled_events: [...EVENTS], disabled: false });
  }
  return null;
}

const receivesAll = ({ enabled_events: enabled, status }: Stripe.WebhookEndpoint): boolean =>
  status === "enabled" && EVENTS.every((event) => enabled.some((name) => name === event || name === "*"));

/**
 * The addresses of webhooks of such a service to which Stripe sends all events that it needs, at whatever host. Looks at
 * a hundred webhooks.
 * @throws Stripe's errors, whose messages are for the operator.
 */
export async function listEndpoints(stripe: Stripe): Promise<string[]> {
  const { data } = await stripe.webhookEndpoints.list({ limit: 100 });
  const complete = data.filter((endpoint) => endpoint.url.endsWith(WEBHOOK_PATH) && receivesAll(endpoint));
  return complete.map(({ url }) => url);
}
