import type { Stripe } from "stripe";
import {
  COMMON,
  PAGING,
  type Read,
  boolean,
  fields,
  list,
  metadata,
  oneOf,
  optional,
  text,
  webAddress,
} from "../params.js";
import type { Scene } from "../scene.js";
import {
  type PortalRecord,
  type PortalSettingsRecord,
  type Source,
  type State,
  mustFind,
  mergeMetadata,
  newId,
} from "../state.js";
import { type Route, listOf, findCustomer, findNamed, route } from "./route.js";

/** The configuration that every account has once it is saved in the dashboard. */
const CONFIGURATION = "bpc_standin";

const SESSION = fields({
  ...COMMON,
  customer: text(),
  return_url: optional(webAddress),
  configuration: optional(text()),
});

const FEATURE = fields({ enabled: boolean });

const SETTINGS = fields({
  ...COMMON,
  features: fields({
    customer_update: optional(
      fields({
        enabled: boolean,
        allowed_updates: list(oneOf("address", "email", "name", "phone", "shipping", "tax_id")),
      }),
    ),
    invoice_history: optional(FEATURE),
    payment_method_update: optional(FEATURE),
    subscription_cancel: optional(fields({ enabled: boolean, mode: optional(oneOf("at_period_end")) })),
    subscription_pause: optional(FEATURE),
    subscription_update: optional(
      fields({
        enabled: boolean,
        default_allowed_updates: list(oneOf("price", "quantity")),
        proration_behavior: oneOf("always_invoice"),
        billing_cycle_anchor: optional(oneOf("now", "unchanged")),
        products: list(fields({ product: text(), prices: list(text()) })),
      }),
    ),
  }),
  metadata: optional(metadata),
});

const ADDRESS = "/v1/billing_portal/configurations";

/** Links to the customer portal, and its configurations, which are stored without further effect. */
export const portalRoutes: readonly Route[] = [
  route("POST", "/v1/billing_portal/sessions", SESSION, (scene, params) => {
    const { id: customer } = findCustomer(scene, params.customer);
    const returnUrl = params.return_url ?? null;
    const { configuration } = params;
    const kept = configuration === undefined ? undefined : settingsNamed(scene, configuration);
    const settings = kept && { settings: kept.id };
    const portal: PortalRecord = { id: newId("bps"), created: scene.now(), customer, returnUrl, ...settings };
    scene.state.portals[portal.id] = portal;
    return portalObject(scene, portal);
  }),
  route("POST", ADDRESS, SETTINGS, (scene, given) =>
    store(scene, { id: newId("bpc"), created: scene.now(), metadata: {} }, given),
  ),
  route("POST", `${ADDRESS}/:id`, SETTINGS, (scene, given, id) =>
    store(scene, findNamed(scene.state.portalSettings, "billing_portal.configuration", id), given),
  ),
  route("GET", ADDRESS, fields({ ...PAGING, active: optional(boolean) }), ({ state }, params) =>
    listOf(ADDRESS, params.active === false ? [] : Object.values(state.portalSettings), params, (settings) =>
      settingsObject({ state }, settings),
    ),
  ),
  route("GET", `${ADDRESS}/:id`, fields(COMMON), ({ state }, _params, id) =>
    settingsObject({ state }, findNamed(state.portalSettings, "billing_portal.configuration", id)),
  ),
];

/** Stores all features as given: the service always sends all of them. */
function store(
  scene: Scene,
  { id, created, ...before }: Pick<PortalSettingsRecord, "id" | "created" | "metadata">,
  { features, metadata }: Read<typeof SETTINGS>,
): Stripe.BillingPortal.Configuration {
  const { customer_update: updates, subscription_update: change } = features;
  const settings: PortalSettingsRecord = {
    id,
    created,
    metadata: mergeMetadata(before.metadata, metadata),
    cancels: features.subscription_cancel?.enabled ?? false,
    pauses: features.subscription_pause?.enabled ?? false,
    updates: updates?.enabled ? updates.allowed_updates : [],
    showsInvoices: features.invoice_history?.enabled ?? false,
    changesPayment: features.payment_method_update?.enabled ?? false,
    prices: change?.enabled ? change.products.flatMap(({ prices }) => prices) : [],
    ...(change && { changes: change.default_allowed_updates }),
    anchor: change?.billing_cycle_anchor,
  };
  for (const price of settings.prices) findNamed(scene.state.prices, "price", price, "features[subscription_update]");
  scene.state.portalSettings[id] = settings;
  return settingsObject(scene, settings);
}

/** Stripe lists the prices by product. */
function productsOf({ prices }: State, offered: readonly string[]) {
  const productOf = (price: string) => mustFind(prices[price]).product;
  return [...new Set(offered.map(productOf))].map((product) => ({
    product,
    prices: offered.filter((price) => productOf(price) === product),
    adjustable_quantity: { enabled: false, maximum: null, minimum: 1 },
  }));
}

const settingsNamed = ({ state }: Source, id: string): PortalSettingsRecord =>
  findNamed(state.portalSettings, "billing_portal.configuration", id, "configuration");

const settingsObject = (
  { state }: Pick<Source, "state">,
  {
    id,
    created,
    cancels,
    pauses,
    updates,
    showsInvoices,
    changesPayment,
    prices,
    changes,
    anchor,
    ...rest
  }: PortalSettingsRecord,
) =>
  ({
    id,
    object: "billing_portal.configuration",
    active: true,
    application: null,
    business_profile: { headline: null, privacy_policy_url: null, terms_of_service_url: null },
    created,
    default_return_url: null,
    features: {
      customer_update: { enabled: updates.length > 0, allowed_updates: [...updates] },
      invoice_history: { enabled: showsInvoices },
      payment_method_update: { enabled: changesPayment, payment_method_configuration: null },
      subscription_cancel: {
        enabled: cancels,
        mode: "at_period_end",
        proration_behavior: "none",
        cancellation_reason: { enabled: false, feedback_options: null, options: [] },
      },
      subscription_pause: { enabled: pauses ?? false, duration: { type: "indefinite", interval_options: [] } },
      subscription_update: {
        enabled: prices.length > 0,
        billing_cycle_anchor: anchor ?? null,
        default_allowed_updates: prices.length > 0 ? [...(changes ?? ["price" as const])] : [],
        products: productsOf(state, prices),
        proration_behavior: prices.length > 0 ? "always_invoice" : "none",
        schedule_at_period_end: { conditions: [] },
        trial_update_behavior: "end_trial",
      },
    },
    is_default: false,
    livemode: false,
    login_page: { enabled: false, url: null },
    metadata: rest.metadata,
    name: null,
    updated: created,
  }) satisfies Stripe.BillingPortal.Configuration;

const portalObject = (source: Source, { id, created, customer, returnUrl, settings }: PortalRecord) =>
  ({
    id,
    object: "billing_portal.session",
    configuration: settings ?? CONFIGURATION,
    created,
    customer,
    customer_account: null,
    flow: null,
    livemode: false,
    locale: null,
    on_behalf_of: null,
    return_url: returnUrl,
    url: `${source.url}/portal/${id}`,
  }) satisfies Stripe.BillingPortal.Session;
