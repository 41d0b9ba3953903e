import { describe, expect, it } from "vitest";
import { createTeamCheckout } from "../../../src/features/billing/create-team-checkout.js";
import { teamSubscription } from "../../../src/features/billing/team-subscription.js";
import { deleteTeam } from "../../../src/features/teams/delete-team.js";
import { teamAudit } from "../../../src/features/teams/list-audit.js";
import { LIMITS } from "../../../src/limits.js";
import { stripeClient } from "../../../src/platform/billing/stripe-client.js";
import {
  type BillingWorld,
  aPayer,
  aSubscriber,
  accountNow,
  createBillingWorld,
  customerOf,
  eventOf,
  sendEvent,
} from "../../support/billing.js";
import { CALLERS, manyAtOnce } from "../../support/races.js";

/** A subscriber whose next payments fail. */
async function withDeclinedCard(world: BillingWorld) {
  const payer = await aSubscriber(world);
  await payer.owner.did(teamSubscription);
  const customer = await customerOf(world, payer);
  world.stripe.setCard(customer, "declined");
  return { payer, customer, stripe: stripeClient(world.stripe.secretKey, world.stripe.url) };
}

describe("a subscription that must not exist", () => {
  it("is ended if it is a second one: the older one stays, and an alert is logged", async () => {
    await using world = await createBillingWorld();
    const payer = await aSubscriber(world, { seats: 6 });
    const { id: older } = await payer.owner.did(teamSubscription);
    const stripe = stripeClient(world.stripe.secretKey, world.stripe.url);
    await world.stripe.advance(60_000);

    // The first attempt to end it is refused, so that is recorded only after the second.
    world.stripe.fail({ kind: "400", times: 1, method: "DELETE" });
    const second = await stripe.subscriptions.create({
      customer: await customerOf(world, payer),
      items: [{ price: world.stripe.priceId, quantity: 9 }],
    });
    await world.stripe.delivered();

    expect((await stripe.subscriptions.retrieve(second.id)).status).toBe("canceled");
    expect((await stripe.subscriptions.retrieve(older ?? "")).status).toBe("active");
    expect(await payer.owner.did(teamSubscription)).toMatchObject({ id: older, seats: 6 });
    const alert = { alert: "endSecondSubscription", subscription: second.id, team_id: payer.teamId };
    expect(world.bugs).toMatchObject([alert, alert]);
    const { events } = await payer.owner.did(teamAudit, { teamId: payer.teamId, action: "endSecondSubscription" });
    expect(events).toMatchObject([{ actorId: null, keyId: null, door: "billing", subject: second.id }]);
    // The customer gets a credit for what was not used. The stand-in makes none, so only the requests show it.
    const credited = { invoice_now: "true", prorate: "true" };
    const endings = world.stripe.requests.filter(({ method }) => method === "DELETE").map(({ params }) => params);
    expect(endings).toEqual([credited, credited]);
  });

  it("gets no credit for time that is not paid, and its invoice cannot be paid any more", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const { payer, customer, stripe } = await withDeclinedCard(world);
    const items = [{ price: world.stripe.priceId, quantity: 9 }];
    const { id: second } = await stripe.subscriptions.create({ customer, items });
    const invoicesOf = async () =>
      (await stripe.invoices.list({ subscription: second })).data.map(({ status }) => status);
    expect(await invoicesOf()).toEqual(["open"]);

    expect((await sendEvent(world, eventOf("evt_1", customer))).status).toBe(200);

    expect((await stripe.subscriptions.retrieve(second)).status).toBe("canceled");
    expect(await invoicesOf()).toEqual(["void"]);
    expect(world.stripe.requests.filter(({ method }) => method === "DELETE").map(({ params }) => params)).toEqual([{}]);
    expect(await payer.owner.did(teamSubscription)).toMatchObject({ status: "active", seats: 10 });
  });

  it("leaves no invoice open even if the provider fails while they are voided", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const { customer, stripe } = await withDeclinedCard(world);
    await world.stripe.advance(65 * 24 * 3_600_000);
    const openInvoices = async () => (await stripe.invoices.list({ customer, status: "open" })).data.length;
    expect(await openInvoices()).toBe(2);
    const [subscription] = (await stripe.subscriptions.list({ customer })).data;
    await stripe.subscriptions.cancel(subscription?.id ?? "");

    world.stripe.fail({ kind: "502-json", path: /\/void$/, after: 1, times: 10 });
    expect((await sendEvent(world, eventOf("evt_1", customer))).status).toBe(502);
    expect(await openInvoices()).toBe(1);
    world.stripe.clearFaults();
    expect((await sendEvent(world, eventOf("evt_1", customer))).status).toBe(200);

    expect(await openInvoices()).toBe(0);
  });

  it("keeps a debt that is marked as uncollectible, which voiding would take out of the operator's books", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const { payer, customer, stripe } = await withDeclinedCard(world);
    await world.stripe.advance(32 * 24 * 3_600_000);
    // What Stripe does when its retries end, if it is set to do both.
    const [subscription] = (await stripe.subscriptions.list({ customer })).data;
    await stripe.subscriptions.cancel(subscription?.id ?? "");
    const [renewal, first] = (await stripe.invoices.list({ customer })).data;
    await stripe.invoices.markUncollectible(renewal?.id ?? "");

    expect((await sendEvent(world, eventOf("evt_1", customer))).status).toBe(200);

    expect(await payer.owner.did(teamSubscription)).toMatchObject({
      status: "canceled",
      plan: null,
      hostedInvoiceUrl: null,
    });
    expect((await stripe.invoices.list({ customer })).data).toMatchObject([
      { id: renewal?.id, status: "uncollectible" },
      { id: first?.id, status: "paid" },
    ]);
    expect(world.bugs).toEqual([]);
  });

  it("keeps an uncollectible debt of an earlier period, and leaves no other invoice to pay", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const { customer, stripe } = await withDeclinedCard(world);
    await world.stripe.advance(32 * 24 * 3_600_000);
    const [forgiven] = (await stripe.invoices.list({ customer })).data;
    await stripe.invoices.markUncollectible(forgiven?.id ?? "");
    const [subscription] = (await stripe.subscriptions.list({ customer })).data;
    expect(subscription).toMatchObject({ status: "active" });
    await world.stripe.advance(32 * 24 * 3_600_000);
    await stripe.subscriptions.cancel(subscription?.id ?? "");

    expect((await sendEvent(world, eventOf("evt_1", customer))).status).toBe(200);

    const statuses = (await stripe.invoices.list({ customer })).data.map(({ status }) => status);
    expect(statuses).toEqual(["void", "uncollectible", "paid"]);
  });

  it("is ended once if the answer to its end is lost", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const { customer, stripe } = await withDeclinedCard(world);
    const items = [{ price: world.stripe.priceId, quantity: 9 }];
    const { id: second } = await stripe.subscriptions.create({ customer, items });

    world.stripe.fail({ kind: "cut-after", method: "DELETE" });
    expect((await sendEvent(world, eventOf("evt_1", customer))).status).toBe(200);

    // The client repeated the request, and the provider refused to end what has ended.
    expect(world.stripe.requests.filter(({ method }) => method === "DELETE")).toHaveLength(2);
    expect((await stripe.subscriptions.retrieve(second)).status).toBe("canceled");
    expect((await stripe.invoices.list({ subscription: second })).data.map(({ status }) => status)).toEqual(["void"]);
  });

  it("leaves an invoice that the provider does not void, and tells the operator", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const { payer, customer, stripe } = await withDeclinedCard(world);
    const items = [{ price: world.stripe.priceId, quantity: 9 }];
    const { id: second } = await stripe.subscriptions.create({ customer, items });
    const [invoice] = (await stripe.invoices.list({ subscription: second })).data;

    world.stripe.fail({ kind: "400", path: /\/void$/ });
    expect((await sendEvent(world, eventOf("evt_1", customer))).status).toBe(200);

    expect((await stripe.subscriptions.retrieve(second)).status).toBe("canceled");
    const facts = { team_id: payer.teamId, subscription: second, invoice: invoice?.id };
    expect(world.bugs).toMatchObject([{ alert: "invoiceOfEndedSubscription", ...facts }]);
  });

  it("is ended if its team was deleted", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const payer = await aPayer(world);
    const { sessionId } = await payer.owner.did(createTeamCheckout);
    // Simulates a payment between the last check and the deletion.
    await world.database.pool.query("UPDATE billing_account SET checkout_url = NULL");
    await payer.owner.did(deleteTeam, { teamId: payer.teamId });
    await world.stripe.pay(sessionId);

    const customer = await customerOf(world, payer);
    world.stripe.fail({ kind: "502-json", times: 10 });
    expect((await sendEvent(world, eventOf("evt_1", customer))).status).toBe(502);
    world.stripe.clearFaults();
    expect((await sendEvent(world, eventOf("evt_1", customer))).status).toBe(200);

    const stripe = stripeClient(world.stripe.secretKey, world.stripe.url);
    const { data } = await stripe.subscriptions.list({ customer, status: "all" });
    expect(data.map(({ status }) => status)).toEqual(["canceled"]);
    expect((await accountNow(world, payer)).status).toBe("canceled");
    expect(world.bugs).toMatchObject([{ alert: "endOrphanedSubscription", team_id: payer.teamId }]);
  });

  it("cannot be bought for a deleted team by a checkout that is still open", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const payer = await aPayer(world);
    await payer.owner.did(createTeamCheckout);
    const customer = await customerOf(world, payer);
    await payer.owner.did(deleteTeam, { teamId: payer.teamId });
    const { checkout } = stripeClient(world.stripe.secretKey, world.stripe.url);
    // As if an earlier request reached the provider only now.
    const returns = { success_url: "https://app.example.com/", cancel_url: "https://app.example.com/" };
    const items = { line_items: [{ price: world.stripe.priceId, quantity: 1 }] };
    const { id } = await checkout.sessions.create({ customer, mode: "subscription", ...items, ...returns });

    expect((await sendEvent(world, eventOf("evt_1", customer))).status).toBe(200);

    expect((await checkout.sessions.retrieve(id)).status).toBe("expired");
    expect(world.bugs).toEqual([]);
  });

  it("is never created by many readers after a payment", async () => {
    // One after the other, they may need longer than a reader waits.
    await using world = await createBillingWorld({ paymentWaits: { ...LIMITS.payments, readMs: 60_000 } });
    const payer = await aPayer(world, { seats: 6 });
    const { sessionId } = await payer.owner.did(createTeamCheckout);
    await world.stripe.pay(sessionId);

    const shown = await manyAtOnce(() => payer.owner.did(teamSubscription));
    await world.stripe.delivered();

    expect(shown).toHaveLength(CALLERS);
    expect(new Set(shown.map(({ status, seats }) => `${status} ${seats}`))).toEqual(new Set(["active 6"]));
    expect(world.bugs).toEqual([]);
  });
});

it("shows a subscription as ended whose customer was deleted at the provider, and lets the team buy again or go", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const payers = [await aSubscriber(world), await aSubscriber(world)] as const;
  const { customers } = stripeClient(world.stripe.secretKey, world.stripe.url);
  for (const payer of payers) {
    expect(await payer.owner.did(teamSubscription)).toMatchObject({ plan: "team" });
    const customer = await customerOf(world, payer);
    await customers.del(customer);

    expect((await sendEvent(world, eventOf(`evt_${customer}`, customer))).status).toBe(200);

    expect(await payer.owner.did(teamSubscription)).toMatchObject({ plan: null, stale: false });
  }
  const [buyer, leaver] = payers;
  const { sessionId } = await buyer.owner.did(createTeamCheckout);
  await world.stripe.pay(sessionId);
  expect(await buyer.owner.did(teamSubscription)).toMatchObject({ status: "active", plan: "team" });
  await leaver.owner.did(deleteTeam, { teamId: leaver.teamId });
});
