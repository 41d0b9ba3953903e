import { invalidRequest } from "../errors.js";
import { expireSession } from "../lifecycle.js";
import {
  COMMON,
  PAGING,
  boolean,
  fields,
  integer,
  list,
  metadata,
  oneOf,
  optional,
  text,
  webAddress,
} from "../params.js";
import type { Scene } from "../scene.js";
import { sessionObject } from "../session-object.js";
import { type SessionRecord, mergeMetadata, newId } from "../state.js";
import { type Route, findNamed, exclusive, listOf, findCustomer, route } from "./route.js";
import { QUANTITY_MAX, recurringPrice } from "./items.js";

/** How long a session is open. */
const OPEN_SECONDS = 24 * 3_600;

const TRIAL_DAYS_MAX = 730;

const ENABLED = fields({ enabled: boolean });

const SESSION = fields({
  ...COMMON,
  mode: oneOf("subscription"),
  customer: optional(text()),
  customer_email: optional(text(800)),
  line_items: list(fields({ price: text(), quantity: optional(integer(1, QUANTITY_MAX)) }), 20),
  success_url: webAddress,
  cancel_url: optional(webAddress),
  client_reference_id: optional(text(200)),
  metadata: optional(metadata),
  subscription_data: optional(
    fields({ metadata: optional(metadata), trial_period_days: optional(integer(1, TRIAL_DAYS_MAX)) }),
  ),
  automatic_tax: optional(ENABLED),
  tax_id_collection: optional(ENABLED),
  customer_update: optional(
    fields({ address: optional(oneOf("auto", "never")), name: optional(oneOf("auto", "never")) }),
  ),
  allow_promotion_codes: optional(boolean),
});

const SESSIONS = fields({
  ...PAGING,
  customer: optional(text()),
  status: optional(oneOf("open", "complete", "expired")),
});

/** Checkout sessions. */
export const checkoutRoutes: readonly Route[] = [
  route("POST", "/v1/checkout/sessions", SESSION, (scene, params) =>
    sessionObject(scene, createSession(scene, params)),
  ),
  route("GET", "/v1/checkout/sessions", SESSIONS, (scene, params) => {
    if (params.customer !== undefined) findCustomer(scene, params.customer);
    const { customer, status } = params;
    const matching = Object.values(scene.state.sessions).filter(
      (session) =>
        (customer === undefined || session.customer === customer) &&
        (status === undefined || session.status === status),
    );
    return listOf("/v1/checkout/sessions", matching, params, (session) => sessionObject(scene, session));
  }),
  route("GET", "/v1/checkout/sessions/:id", fields(COMMON), (scene, _params, id) =>
    sessionObject(scene, findNamed(scene.state.sessions, "checkout.session", id)),
  ),
  route("POST", "/v1/checkout/sessions/:id/expire", fields(COMMON), (scene, _params, id) => {
    const session = findNamed(scene.state.sessions, "checkout.session", id);
    expireSession(scene, session);
    return sessionObject(scene, session);
  }),
];

function createSession(scene: Scene, params: ReturnType<typeof SESSION>): SessionRecord {
  const { customer, customer_email: customerEmail } = params;
  exclusive({ customer, customer_email: customerEmail });
  if (customer !== undefined) findCustomer(scene, customer);
  if (params.line_items.length === 0) throw invalidRequest("There must be a line item.", { param: "line_items" });
  for (const [index, { price }] of params.line_items.entries()) {
    recurringPrice(scene, price, `line_items[${index}][price]`);
  }
  if (customer !== undefined) assertUpdatesCustomer(params);
  const now = scene.now();
  const session: SessionRecord = {
    id: newId("cs_test"),
    created: now,
    expiresAt: now + OPEN_SECONDS,
    customer: customer ?? null,
    customerEmail: customerEmail ?? null,
    lines: params.line_items.map(({ price, quantity = 1 }) => ({ id: newId("li"), price, quantity })),
    successUrl: params.success_url,
    cancelUrl: params.cancel_url ?? null,
    clientReferenceId: params.client_reference_id ?? null,
    metadata: mergeMetadata({}, params.metadata),
    subscriptionMetadata: mergeMetadata({}, params.subscription_data?.metadata),
    trialDays: params.subscription_data?.trial_period_days ?? 0,
    isTaxed: params.automatic_tax?.enabled ?? false,
    collectsTaxIds: params.tax_id_collection?.enabled ?? false,
    takesPromotionCodes: params.allow_promotion_codes ?? false,
    status: "open",
    subscription: null,
    invoice: null,
  };
  scene.state.sessions[session.id] = session;
  return session;
}

/** Taxes need the customer's address, and tax ids the name: the request must allow the checkout to change them. */
function assertUpdatesCustomer(params: ReturnType<typeof SESSION>): void {
  const { automatic_tax: tax, tax_id_collection: taxIds, customer_update: update } = params;
  if (tax?.enabled === true && update?.address !== "auto") {
    const message = "Automatic tax calculation in Checkout requires a valid address on the Customer.";
    throw invalidRequest(message, { param: "automatic_tax", code: "customer_tax_location_invalid" });
  }
  if (taxIds?.enabled === true && update?.name !== "auto") {
    const message = "Tax ID collection requires updating business name on the customer.";
    throw invalidRequest(message, { param: "customer_update[name]" });
  }
}
