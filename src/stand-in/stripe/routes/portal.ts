import type { Stripe } from "stripe";
import { COMMON, fields, optional, text, webAddress } from "../params.js";
import { type PortalRecord, type Source, newId } from "../state.js";
import { type Route, named, route } from "./route.js";

/** The configuration that every account has once it is saved in the dashboard. */
const CONFIGURATION = "bpc_standin";

const SESSION = fields({ ...COMMON, customer: text(), return_url: optional(webAddress) });

/** Links to the customer portal. */
export const portalRoutes: readonly Route[] = [
  route("POST", "/v1/billing_portal/sessions", SESSION, (scene, params) => {
    const { id: customer } = named(scene.state.customers, "customer", params.customer, "customer");
    const returnUrl = params.return_url ?? null;
    const portal: PortalRecord = { id: newId("bps"), created: scene.now(), customer, returnUrl };
    scene.state.portals[portal.id] = portal;
    return portalObject(scene, portal);
  }),
];

const portalObject = (source: Source, { id, created, customer, returnUrl }: PortalRecord) =>
  ({
    id,
    object: "billing_portal.session",
    configuration: CONFIGURATION,
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
