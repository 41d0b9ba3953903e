import { Ajv } from "ajv";
import type { Stripe } from "stripe";
import { beforeAll, expect, it } from "vitest";
import { setUpAccount } from "../../src/features/billing/set-up-account.js";
import { stripeSchemas } from "../clients/tools.js";
import { missingIn } from "./published.js";
import { onlySubscription, openSession, startWorld, subscribe, upgrade, whole } from "./world.js";

const DAY_MS = 24 * 3_600_000;

type Kind =
  | "customer"
  | "deletedCustomer"
  | "product"
  | "price"
  | "session"
  | "subscription"
  | "invoice"
  | "portal"
  | "portalSettings"
  | "taxSettings"
  | "endpoint"
  | "deletedEndpoint";

let problemsOf: (kind: Kind, answer: unknown) => unknown;

beforeAll(async () => {
  const ajv = new Ajv({ strict: false }).addSchema((await stripeSchemas()).answers, "stripe");
  problemsOf = (kind, answer) => {
    const check = ajv.getSchema(`stripe#/definitions/clients%2Fstripe-answers%3AAnswers/properties/${kind}`);
    if (!check) throw new Error(`There is no schema of ${kind}.`);
    // As sent over the wire: the SDK converts some texts to objects.
    const sent: unknown = JSON.parse(JSON.stringify(answer));
    return check(sent) ? missingIn(sent) : check.errors;
  };
}, 400_000);

it("returns customers, products and prices as the SDK declares", async () => {
  await using world = await startWorld();
  const { customers, prices, products } = world.stripe;
  const { customer } = await subscribe(world);
  const product = await products.create({ name: "Seat" });
  const once = await prices.create({ product: product.id, currency: "usd", unit_amount: 100 });

  for (const answer of [await customers.create(), await customers.retrieve(customer.id)]) {
    expect(problemsOf("customer", answer)).toEqual([]);
  }
  expect(problemsOf("product", product)).toEqual([]);
  const monthly = await prices.retrieve(world.standIn.priceId, { expand: ["product"] });
  for (const answer of [once, monthly, ...(await prices.list()).data]) {
    expect(problemsOf("price", answer)).toEqual([]);
  }
});

it("returns a deleted customer as the SDK declares", async () => {
  await using world = await startWorld();
  const { customers } = world.stripe;
  const { id } = await customers.create();

  for (const answer of [await customers.del(id), await customers.retrieve(id)]) {
    expect(problemsOf("deletedCustomer", answer)).toEqual([]);
  }
});

it("returns the customer portal and the settings of taxes as the SDK declares", async () => {
  await using world = await startWorld();
  const { billingPortal, tax } = world.stripe;
  const wishes = { monthly: 900, yearly: 9_000, currency: "usd", url: "https://memory.example.com" };
  await setUpAccount(world.stripe, wishes);
  const { id: customer } = await world.stripe.customers.create();
  const [settings] = (await billingPortal.configurations.list()).data;

  expect(problemsOf("portalSettings", settings)).toEqual([]);
  expect(problemsOf("portal", await billingPortal.sessions.create({ customer }))).toEqual([]);
  const address = { country: "DE", city: "Berlin" };
  for (const answer of [await tax.settings.retrieve(), await tax.settings.update({ head_office: { address } })]) {
    expect(problemsOf("taxSettings", answer)).toEqual([]);
  }
});

it("returns open, complete and expired sessions as the SDK declares", async () => {
  await using world = await startWorld();
  const { sessions } = world.stripe.checkout;
  const [first, open] = [await subscribe(world), await openSession(world)];
  const expired = await sessions.expire((await openSession(world)).session.id);
  const complete = await sessions.retrieve(first.session.id, { expand: ["line_items", "customer", "subscription"] });

  for (const answer of [open.session, expired, complete, ...(await sessions.list()).data]) {
    expect(problemsOf("session", answer)).toEqual([]);
  }
});

it("returns subscriptions and invoices in every state as the SDK declares", async () => {
  await using world = await startWorld();
  const { stripe, standIn } = world;
  const { customer, subscription } = await subscribe(world);
  const states: Stripe.Subscription[] = [subscription, await upgrade(world, subscription, 4)];
  const read = async () => states.push(await onlySubscription(world, customer.id));
  standIn.setCard(customer.id, "declined");
  states.push(await upgrade(world, subscription, 6));
  await standIn.advance(DAY_MS);
  await read();
  await standIn.advance(31 * DAY_MS);
  await read();
  await standIn.payInvoice(String(states.at(-1)?.latest_invoice));
  states.push(await stripe.subscriptions.update(subscription.id, { cancel_at_period_end: true }));
  await standIn.giveUp(subscription.id);
  await read();
  await standIn.pause(subscription.id);
  await read();
  states.push(await stripe.subscriptions.cancel(subscription.id));
  const items = [{ price: standIn.priceId }];
  states.push(await stripe.subscriptions.create({ customer: customer.id, items, expand: ["customer"] }));

  const statuses = new Set(states.map(({ status }) => status));
  expect([...statuses].sort()).toEqual(["active", "canceled", "incomplete", "past_due", "paused", "unpaid"]);
  for (const state of states) expect(problemsOf("subscription", state)).toEqual([]);
  const { latest_invoice: debt } = await stripe.subscriptions.create({ customer: customer.id, items });
  await stripe.invoices.markUncollectible(String(debt));
  const { data } = await stripe.invoices.list({ limit: 100 });
  expect([...new Set(data.map(({ status }) => status))].sort()).toEqual(["open", "paid", "uncollectible", "void"]);
  for (const invoice of data) expect(problemsOf("invoice", invoice)).toEqual([]);
});

it("returns endpoints as the SDK declares, with and without their secret, and deleted", async () => {
  await using world = await startWorld();
  const { webhookEndpoints } = world.stripe;
  const made = await webhookEndpoints.create({ url: "http://127.0.0.1:9/", enabled_events: ["*"] });

  expect(made.secret).toMatch(/^whsec_/);
  for (const endpoint of [made, ...(await webhookEndpoints.list()).data]) {
    expect(problemsOf("endpoint", endpoint)).toEqual([]);
  }
  expect(problemsOf("deletedEndpoint", await webhookEndpoints.del(made.id))).toEqual([]);
});

const KINDS: Readonly<Record<string, Kind>> = {
  customer: "customer",
  "checkout.session": "session",
  subscription: "subscription",
  invoice: "invoice",
};

it("sends objects in events as the SDK declares", async () => {
  await using world = await startWorld();
  const { customer, subscription } = await subscribe(world);
  world.standIn.setCard(customer.id, "declined");
  await world.standIn.payInvoice(whole((await upgrade(world, subscription, 4)).latest_invoice).id);
  await world.standIn.advance(62 * DAY_MS);
  await world.stripe.subscriptions.cancel(subscription.id);
  await world.standIn.delivered();

  const events = world.received.map((each) => each.event());

  expect(new Set(events.map(({ type }) => type)).size).toBe(11);
  for (const { data } of events) {
    const kind = "object" in data.object ? KINDS[data.object.object] : undefined;
    expect(kind && problemsOf(kind, data.object)).toEqual([]);
  }
});

it("detects an answer with another shape", async () => {
  await using world = await startWorld();
  const { subscription } = await subscribe(world);
  const { customer: _left, ...without } = subscription;

  for (const wrong of [
    without,
    { ...subscription, status: "asleep" },
    { ...subscription, current_period_end: 0 },
    { ...subscription, items: subscription.items.data },
  ]) {
    expect(problemsOf("subscription", wrong)).not.toEqual([]);
  }
});
