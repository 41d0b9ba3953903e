import { Ajv } from "ajv";
import { Stripe } from "stripe";
import { beforeAll, expect, it } from "vitest";
import { ADDRESS_MAX } from "../../../src/features/access/email.js";
import { cancelTeamSubscription } from "../../../src/features/billing/cancel-team-subscription.js";
import { createTeamCheckout } from "../../../src/features/billing/create-team-checkout.js";
import { downgradeTeam } from "../../../src/features/billing/downgrade-team.js";
import { openBillingPortal } from "../../../src/features/billing/open-billing-portal.js";
import { reconcileAccount } from "../../../src/features/billing/reconcile.js";
import { RETURN_URL_MAX } from "../../../src/features/billing/return-url.js";
import { resumeTeamSubscription } from "../../../src/features/billing/resume-team-subscription.js";
import { teamInvoices } from "../../../src/features/billing/team-invoices.js";
import { teamUpgradePreview } from "../../../src/features/billing/team-upgrade-preview.js";
import { upgradeTeam } from "../../../src/features/billing/upgrade-team.js";
import { createTeam } from "../../../src/features/teams/create-team.js";
import { transferTeam } from "../../../src/features/teams/transfer-team.js";
import { updateTeam } from "../../../src/features/teams/update-team.js";
import { setUpAccount } from "../../../src/features/billing/set-up-account.js";
import { stripeClient } from "../../../src/platform/billing/stripe-client.js";
import { type StandInRequest, startStandInStripe } from "../../../src/stand-in/stripe/index.js";
import { stripeSchemas } from "../../clients/tools.js";
import { excessesOf, isExpandable } from "../../stand-in/published.js";
import { aPayer, createBillingWorld, customerOf, subscriptionOf } from "../../support/billing.js";
import { examine } from "../../support/doctor.js";
import { createWorld } from "../../support/world.js";

/** Keeps the check of each endpoint: compiling one takes a fifth of a second. */
const ajv = new Ajv({ strict: false, coerceTypes: true });

beforeAll(async () => {
  ajv.addSchema((await stripeSchemas()).requests, "stripe");
}, 400_000);

/** The endpoint, such as "POST /v1/subscriptions/:id". */
const endpointOf = ({ method, path }: Pick<StandInRequest, "method" | "path">): string =>
  `${method} ${path.replace(/\/(?:cus|sub|cs_test|in|upcoming_in|bpc|price|we|memory_graph)_\w+/, "/:id")}`;

/** What is wrong with a request by the SDK's types. Everything was sent as text, so Ajv converts it to other types. */
function problemsOf(endpoint: string, params: object): unknown {
  const name = encodeURIComponent("clients/stripe-requests:Requests");
  const place = encodeURIComponent(endpoint.replaceAll("~", "~0").replaceAll("/", "~1"));
  const check = ajv.getSchema(`stripe#/definitions/${name}/properties/${place}`);
  if (!check) return `The service is not known to ask ${endpoint}.`;
  return check(structuredClone(params)) ? [] : check.errors;
}

/** What is wrong with a request: by the SDK's types, by Stripe's published schema, and in its headers. */
function wrongIn(request: StandInRequest): unknown[] {
  const endpoint = endpointOf(request);
  const { method, params, idempotencyKey: key, stripeVersion } = request;
  const isKeyed = method === "POST" ? key !== undefined && key.length <= 255 : key === undefined;
  const { expand = [] } = params as { expand?: string[] };
  const isOne = endpoint.endsWith("/:id");
  const wrong = [
    ...[problemsOf(endpoint, params)].flat(),
    ...excessesOf(endpoint, params, request.path),
    ...(isKeyed ? [] : [`Idempotency-Key: ${key}`]),
    ...(stripeVersion === Stripe.API_VERSION ? [] : [`Stripe-Version: ${stripeVersion}`]),
    ...expand.filter((path) => !isExpandable(EXPANDED_IN[endpoint] ?? "", isOne ? `data.${path}` : path)),
  ];
  return wrong.map((each) => ({ endpoint, wrong: each }));
}

/** The kind of object, or of the objects in a list, that the service expands. */
const EXPANDED_IN: Readonly<Record<string, string>> = {
  "GET /v1/billing_portal/configurations/:id": "billing_portal.configuration",
  "GET /v1/subscriptions": "subscription",
  "GET /v1/billing_portal/configurations": "billing_portal.configuration",
};

const endpointsIn = (requests: readonly StandInRequest[]) => [...new Set(requests.map(endpointOf))].sort();

it("sends only what Stripe publishes, in every request of every operation", async () => {
  await using world = await createBillingWorld();
  const payer = await aPayer(world, { seats: 5 });
  const { owner, teamId } = payer;
  await owner.did(createTeamCheckout, { successUrl: "https://app.example.com/paid" });
  await reconcileAccount(world.services, teamId);
  await owner.did(updateTeam, { teamId, name: "名".repeat(100), maxMembers: 6 });
  const { sessionId } = await owner.did(createTeamCheckout);
  await world.stripe.pay(sessionId);
  await world.stripe.delivered();
  await owner.did(teamUpgradePreview, { maxMembers: 8 });
  await owner.did(upgradeTeam, { maxMembers: 8 });
  await owner.did(downgradeTeam, { maxMembers: 4 });
  await owner.did(downgradeTeam, { maxMembers: 8 });
  await owner.did(cancelTeamSubscription);
  await owner.did(teamUpgradePreview, { maxMembers: 8 });
  await owner.did(resumeTeamSubscription);
  await world.stripe.cancelInPortal(await subscriptionOf(world, payer));
  await world.stripe.delivered();
  await owner.did(teamUpgradePreview, { maxMembers: 8 });
  await owner.did(resumeTeamSubscription);
  await owner.did(openBillingPortal);
  await owner.did(teamInvoices, { limit: 1, cursor: (await owner.did(teamInvoices, { limit: 1 })).nextCursor });
  const { subscriptions } = stripeClient(world.stripe.secretKey, world.stripe.url);
  const id = await subscriptionOf(world, payer);
  const [item] = (await subscriptions.retrieve(id)).items.data;
  for (const quantity of [9, 8, 9, 8, 9]) {
    await subscriptions.update(id, { items: [{ id: item?.id ?? "", quantity }] });
  }
  const items = [{ price: world.stripe.priceId }];
  await subscriptions.create({ customer: await customerOf(world, payer), items });
  await world.stripe.delivered();
  await owner.did(teamUpgradePreview, { maxMembers: 9 });
  await world.stripe.pause(id);
  await world.stripe.delivered();
  await owner.did(cancelTeamSubscription);
  await owner.did(createTeamCheckout);
  const next = await world.user();
  await world.seat(next, teamId);
  await owner.did(transferTeam, { teamId, userId: next.caller.userId });
  await reconcileAccount(world.services, teamId);

  // Without the requests that the test itself sent.
  const isOwn = (request: StandInRequest) => endpointOf(request) === "POST /v1/subscriptions";
  const sent = world.stripe.requests.filter((request) => !isOwn(request));
  expect(sent.flatMap(wrongIn)).toEqual([]);
  expect(endpointsIn(sent)).toEqual([
    "DELETE /v1/subscriptions/:id",
    "GET /v1/checkout/sessions",
    "GET /v1/checkout/sessions/:id",
    "GET /v1/customers/:id",
    "GET /v1/invoices",
    "GET /v1/invoices/:id/lines",
    "GET /v1/subscriptions",
    "GET /v1/subscriptions/:id",
    "POST /v1/billing_portal/sessions",
    "POST /v1/checkout/sessions",
    "POST /v1/checkout/sessions/:id/expire",
    "POST /v1/customers",
    "POST /v1/customers/:id",
    "POST /v1/invoices/create_preview",
    "POST /v1/subscriptions/:id",
  ]);
});

it("sends only what Stripe publishes to sell with taxes, codes and a trial, and in a portal of its own", async () => {
  await using stripe = await startStandInStripe();
  const api = stripeClient(stripe.secretKey, stripe.url);
  const wishes = { monthly: 900, yearly: 9_000, currency: "usd", url: "https://memory.example.com" };
  const made = await setUpAccount(api, wishes);
  await setUpAccount(api, { ...wishes, monthly: 1_000 });
  const [endpoint] = (await api.webhookEndpoints.list()).data;
  await api.webhookEndpoints.update(endpoint?.id ?? "", { disabled: true });
  await setUpAccount(api, wishes);
  const checkout = { tax: true, promotionCodes: true, trialDays: 30 };
  const settings = { url: stripe.url, secretKey: stripe.secretKey, webhookSecret: stripe.webhookSecret };
  const prices = { priceId: made.monthlyPriceId, yearlyPriceId: made.yearlyPriceId, portalId: made.portalId };
  await using world = await createWorld({ stripe: { ...settings, ...prices }, billing: { checkout } });
  const { owner } = await aPayer(world, { seats: 1_000 });

  await owner.did(createTeamCheckout);
  const { sessionId } = await owner.did(createTeamCheckout, { interval: "year" });
  await stripe.pay(sessionId);
  await owner.did(upgradeTeam, { maxMembers: 1_000 });
  await owner.did(openBillingPortal);
  const { by } = await examine({
    STRIPE_API_BASE: stripe.url,
    STRIPE_SECRET_KEY: stripe.secretKey,
    STRIPE_WEBHOOK_SECRET: stripe.webhookSecret,
    STRIPE_TEAM_PRICE_ID: made.monthlyPriceId,
    STRIPE_YEARLY_PRICE_ID: made.yearlyPriceId,
    STRIPE_PORTAL_ID: made.portalId,
    BILLING_TAX: "yes",
    DATABASE_URL: "postgres://nobody@127.0.0.1:1/none",
  });
  expect(by.get("stripe")?.says).toContain("Stripe Tax is not set up");

  expect(stripe.requests.flatMap(wrongIn)).toEqual([]);
  const sold = stripe.requests.findLast((request) => endpointOf(request) === "POST /v1/checkout/sessions");
  expect(sold?.params).toMatchObject({ automatic_tax: {}, allow_promotion_codes: "true", tax_id_collection: {} });
  expect(endpointsIn(stripe.requests).filter((name) => !/customers|checkout|subscriptions/.test(name))).toEqual([
    "GET /v1/billing_portal/configurations",
    "GET /v1/billing_portal/configurations/:id",
    "GET /v1/prices",
    "GET /v1/prices/:id",
    "GET /v1/products/:id",
    "GET /v1/tax/settings",
    "GET /v1/webhook_endpoints",
    "POST /v1/billing_portal/configurations",
    "POST /v1/billing_portal/configurations/:id",
    "POST /v1/billing_portal/sessions",
    "POST /v1/prices",
    "POST /v1/products",
    "POST /v1/webhook_endpoints",
    "POST /v1/webhook_endpoints/:id",
  ]);
});

it("sends the longest values that it accepts within Stripe's bounds", async () => {
  await using world = await createBillingWorld();
  const email = `${"a".repeat(64)}@${`${"b".repeat(61)}.`.repeat(3)}com`;
  expect(email).toHaveLength(ADDRESS_MAX);
  const owner = await world.user({ email, plan: "free" });
  // Each of these characters takes two UTF-16 units, by which Stripe may count.
  const name = "𝒜".repeat(100);
  await owner.did(createTeam, { name, maxMembers: 1_000 });
  const base = "https://app.example.com/?session={CHECKOUT_SESSION_ID}&back=";
  const address = `${base}${"é".repeat(Math.floor((RETURN_URL_MAX - base.length) / 6))}`;
  const { sessionId } = await owner.did(createTeamCheckout, { successUrl: address, cancelUrl: address });
  await world.stripe.pay(sessionId);
  await world.stripe.delivered();
  await owner.did(openBillingPortal, { returnUrl: address });
  await owner.did(downgradeTeam, { maxMembers: 1 });

  expect(world.stripe.requests.flatMap(wrongIn)).toEqual([]);
  const sentTo = (wanted: string) => world.stripe.requests.find((request) => endpointOf(request) === wanted)?.params;
  expect(sentTo("POST /v1/customers")).toMatchObject({ email, name });
  const { success_url: successUrl, ...sold } = sentTo("POST /v1/checkout/sessions") ?? {};
  expect(String(successUrl).length).toBeGreaterThan(RETURN_URL_MAX - 6);
  expect(sold).toMatchObject({ line_items: [{ quantity: "1000" }] });
});

it("detects a parameter that is unknown, missing or of another type", () => {
  const endpoint = "POST /v1/subscriptions/:id";
  expect(problemsOf(endpoint, { cancel_at_period_end: "true" })).toEqual([]);
  for (const wrong of [
    { cancel_at_end: "true" },
    { cancel_at_period_end: "yes" },
    { items: [{ quantity: "many" }] },
    { proration_behavior: "sometimes" },
  ]) {
    expect(problemsOf(endpoint, wrong)).not.toEqual([]);
  }
  expect(problemsOf("POST /v1/webhook_endpoints", {})).not.toEqual([]);
});

it("detects values that are longer, more numerous or deeper than Stripe publishes", () => {
  expect(excessesOf("POST /v1/customers", { name: "a".repeat(256), metadata: { a: "b" } })).toEqual([]);
  for (const wrong of [
    { name: "a".repeat(257) },
    { description: "a".repeat(5_001) },
    { metadata: { a: "b".repeat(501) } },
    { limit: "101" },
    { expand: ["data.a.b.c.d"] },
  ]) {
    expect(excessesOf("POST /v1/customers", wrong)).toHaveLength(1);
  }
  const session = "GET /v1/checkout/sessions/:id";
  expect(excessesOf(session, {}, `/v1/checkout/sessions/${"a".repeat(66)}`)).toEqual([]);
  expect(excessesOf(session, {}, `/v1/checkout/sessions/${"a".repeat(67)}`)).toHaveLength(1);
  expect(isExpandable("subscription", "data.latest_invoice")).toBe(true);
  expect(isExpandable("subscription", "data.quantity")).toBe(false);
});
