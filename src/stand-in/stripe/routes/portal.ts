import type { Stripe } from "stripe";
import { COMMON, PAGING, boolean, fields, list, metadata, oneOf, optional, text, webAddress } from "../params.js";
import { type PortalRecord, type PortalSettingsRecord, type Source, mergeMetadata, newId } from "../state.js";
import { type Route, atAddress, listOf, named, route } from "./route.js";

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
  }),
  metadata: optional(metadata),
});

const ADDRESS = "/v1/billing_portal/configurations";

/** Links to the customer portal, and its configurations, which are stored without further effect. */
export const portalRoutes: readonly Route[] = [
  route("POST", "/v1/billing_portal/sessions", SESSION, (scene, params) => {
    const { id: customer } = named(scene.state.customers, "customer", params.customer, "customer");
    const returnUrl = params.return_url ?? null;
    const { configuration } = params;
    const kept = configuration === undefined ? undefined : found(scene, configuration);
    const settings = kept && { settings: kept.id };
    const portal: PortalRecord = { id: newId("bps"), created: scene.now(), customer, returnUrl, ...settings };
    scene.state.portals[portal.id] = portal;
    return portalObject(scene, portal);
  }),
  route("POST", ADDRESS, SETTINGS, (scene, { features, ...given }) => {
    const settings: PortalSettingsRecord = {
      ...{ id: newId("bpc"), created: scene.now(), metadata: mergeMetadata({}, given.metadata) },
      cancels: features.subscription_cancel?.enabled ?? false,
      updates: features.customer_update?.enabled ? features.customer_update.allowed_updates : [],
      showsInvoices: features.invoice_history?.enabled ?? false,
      changesPayment: features.payment_method_update?.enabled ?? false,
    };
    scene.state.portalSettings[settings.id] = settings;
    return settingsObject(settings);
  }),
  route("GET", ADDRESS, fields({ ...PAGING, active: optional(boolean) }), ({ state }, params) =>
    listOf(ADDRESS, params.active === false ? [] : Object.values(state.portalSettings), params, settingsObject),
  ),
  route("GET", `${ADDRESS}/:id`, fields(COMMON), ({ state }, _params, id) =>
    settingsObject(atAddress(state.portalSettings, "billing_portal.configuration", id)),
  ),
];

const found = ({ state }: Source, id: string): PortalSettingsRecord =>
  named(state.portalSettings, "billing_portal.configuration", id, "configuration");

const settingsObject = ({
  id,
  created,
  cancels,
  updates,
  showsInvoices,
  changesPayment,
  ...rest
}: PortalSettingsRecord) =>
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
      subscription_pause: { enabled: false, duration: { type: "indefinite", interval_options: [] } },
      subscription_update: {
        enabled: false,
        billing_cycle_anchor: null,
        default_allowed_updates: [],
        proration_behavior: "none",
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
