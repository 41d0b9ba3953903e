import type { Stripe } from "stripe";
import { hasTrial, sessionTotal } from "./objects.js";
import { discountIds, discountOn } from "./promotion.js";
import { type SessionRecord, type Source, mustFind } from "./state.js";

export function sessionObject(source: Source, session: SessionRecord): Stripe.Checkout.Session {
  const total = sessionTotal(source, session);
  const discount = discountOn(session, total);
  const currency = mustFind(source.state.prices[session.lines[0]?.price ?? ""]).currency;
  return {
    ...UNUSED,
    id: session.id,
    object: "checkout.session",
    amount_subtotal: total,
    amount_total: total - discount,
    cancel_url: session.cancelUrl,
    client_reference_id: session.clientReferenceId,
    created: session.created,
    currency,
    customer: session.customer,
    customer_details: customerDetails(source, session),
    allow_promotion_codes: session.takesPromotionCodes ? true : null,
    automatic_tax: {
      enabled: session.isTaxed,
      liability: session.isTaxed ? { type: "self" } : null,
      provider: session.isTaxed ? "stripe" : null,
      status: session.isTaxed ? taxStatusOf(session) : null,
    },
    ...(session.collectsTaxIds && { tax_id_collection: { enabled: true, required: "never" as const } }),
    customer_email: session.customerEmail,
    expires_at: session.expiresAt,
    invoice: session.invoice,
    metadata: { ...session.metadata },
    payment_status: paymentStatusOf(session),
    status: session.status,
    subscription: session.subscription,
    success_url: session.successUrl,
    // An expired session has no URL.
    discounts: discountIds(session).map(() => ({ coupon: null, promotion_code: "promo_standin" })),
    total_details: { amount_discount: discount, amount_shipping: 0, amount_tax: 0 },
    url: session.status === "open" ? `${source.url}/checkout/${session.id}` : null,
  } satisfies Stripe.Checkout.Session;
}

/** The fields with the same value in every session. */
const UNUSED = {
  adaptive_pricing: { enabled: false },
  after_expiration: null,
  allowed_payment_method_types: null,
  billing_address_collection: null,
  client_secret: null,
  collected_information: null,
  consent: null,
  consent_collection: null,
  currency_conversion: null,
  custom_fields: [],
  custom_text: {
    after_submit: null,
    shipping_address: null,
    submit: null,
    terms_of_service_acceptance: null,
  },
  customer_account: null,
  customer_creation: null,
  integration_identifier: null,
  invoice_creation: null,
  livemode: false,
  locale: null,
  managed_payments: null,
  mode: "subscription",
  origin_context: null,
  payment_intent: null,
  payment_link: null,
  payment_method_collection: "always",
  payment_method_configuration_details: null,
  payment_method_options: null,
  payment_method_types: ["card"],
  permissions: null,
  phone_number_collection: { enabled: false },
  recovered_from: null,
  saved_payment_method_options: null,
  setup_intent: null,
  shipping_address_collection: null,
  shipping_cost: null,
  shipping_options: [],
  submit_type: null,
  ui_mode: "hosted_page",
  wallet_options: null,
} satisfies Partial<Stripe.Checkout.Session>;

function customerDetails(
  { state }: Source,
  { customer, customerEmail }: SessionRecord,
): Stripe.Checkout.Session.CustomerDetails {
  const known = customer === null ? undefined : state.customers[customer];
  return {
    address: null,
    business_name: null,
    email: known?.email ?? customerEmail,
    individual_name: null,
    name: known?.name ?? null,
    phone: null,
    tax_exempt: "none",
    tax_ids: known?.taxId === undefined ? null : [{ type: "eu_vat", value: known.taxId }],
  } satisfies Stripe.Checkout.Session.CustomerDetails;
}

const taxStatusOf = ({ status }: SessionRecord) => (status === "complete" ? "complete" : "requires_location_inputs");

function paymentStatusOf(session: SessionRecord): Stripe.Checkout.Session.PaymentStatus {
  if (session.status !== "complete") return "unpaid";
  return hasTrial(session) ? "no_payment_required" : "paid";
}
