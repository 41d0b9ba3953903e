import { expect, it, vi } from "vitest";
import { callerOf } from "../../../src/features/access/caller.js";
import { createTeamCheckout } from "../../../src/features/billing/create-team-checkout.js";
import { AccountBusy } from "../../../src/features/billing/failures.js";
import { cancelTeamSubscription } from "../../../src/features/billing/cancel-team-subscription.js";
import { teamInvoices } from "../../../src/features/billing/team-invoices.js";
import { teamSubscription } from "../../../src/features/billing/team-subscription.js";
import { teamUpgradePreview } from "../../../src/features/billing/team-upgrade-preview.js";
import { upgradeTeam } from "../../../src/features/billing/upgrade-team.js";
import type { CheckoutSettings } from "../../../src/platform/billing/billing.js";
import { stripeClient } from "../../../src/platform/billing/stripe-client.js";
import { startStandInStripe } from "../../../src/stand-in/stripe/index.js";
import {
  type StripeWorld,
  aPayer,
  accountNow,
  createStripeWorld,
  customerOf,
  endGrace,
} from "../../support/billing.js";
import { ask } from "../../support/http.js";
import { createWorld } from "../../support/world.js";

const DAY_MS = 24 * 3_600_000;
const offering = (checkout: Partial<CheckoutSettings>) => ({
  billing: { checkout: { tax: false, promotionCodes: false, trialDays: 0, ...checkout } },
});

/** A world that also sells seats by the year. */
async function createYearlyWorld() {
  const stripe = await startStandInStripe();
  const api = stripeClient(stripe.secretKey, stripe.url);
  const { product } = await api.prices.retrieve(stripe.priceId);
  const yearly = { product: String(product), currency: "usd", unit_amount: 8_000 };
  const { id: yearlyPriceId } = await api.prices.create({ ...yearly, recurring: { interval: "year" } });
  const world = await createWorld({ stripe: { ...pick(stripe), yearlyPriceId } });
  const statuses = async () => (await api.checkout.sessions.list({ limit: 10 })).data.map(({ status }) => status);
  return {
    world,
    stripe,
    statuses,
    serve: () => world.serve({ STRIPE_YEARLY_PRICE_ID: yearlyPriceId }),
    async [Symbol.asyncDispose]() {
      await stripe[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}

/** Lets time pass without events, so the copy is read from Stripe again at the next request. */
const pass = async ({ stripe, database }: StripeWorld, milliseconds: number) => {
  await stripe.advance(milliseconds);
  await database.models.billingAccount.updateMany({ data: { copiedAt: null } });
};

const asked = ({ stripe }: Pick<StripeWorld, "stripe">) =>
  stripe.requests.findLast(({ method, path }) => method === "POST" && path === "/v1/checkout/sessions")?.params;

it("sells seats by the year beside those by the month, each checkout in place of the other", async () => {
  await using at = await createYearlyWorld();
  const { world, stripe } = at;
  const { owner } = await aPayer(world, { seats: 5 });

  const monthly = await owner.did(createTeamCheckout);
  const yearly = await owner.did(createTeamCheckout, { interval: "year" });
  const again = await owner.did(createTeamCheckout, { interval: "year" });

  expect(again.sessionId).toBe(yearly.sessionId);
  await expect(stripe.pay(monthly.sessionId)).rejects.toThrow();
  await stripe.pay(yearly.sessionId);
  const shown = await owner.did(teamSubscription);
  expect(shown).toMatchObject({ status: "active", seats: 5, interval: "year" });
  expect(Number(shown.currentPeriodEnd) - Number(shown.currentPeriodStart)).toBeGreaterThan(360 * DAY_MS);
  expect(await owner.did(upgradeTeam, { maxMembers: 6 })).toMatchObject({ seats: 6, interval: "year" });
});

it("opens the checkout of each of two simultaneous requests for different periods", async () => {
  await using at = await createYearlyWorld();
  const { owner } = await aPayer(at.world);

  await Promise.all(["month", "year"].map((interval) => owner.did(createTeamCheckout, { interval })));

  expect((await at.statuses()).toSorted()).toEqual(["expired", "open"]);
});

it("returns no checkout for another period, which has just replaced the one that was opened", async () => {
  await using at = await createYearlyWorld();
  const { database } = at.world;
  const payer = await aPayer(at.world);
  const { owner } = payer;
  const transaction = database.transaction.bind(database) as (...given: readonly unknown[]) => Promise<unknown>;
  const spy = vi.spyOn(database, "transaction").mockImplementation(async (...given) => {
    // It was just opened, and is read next.
    if ((await accountNow(at.world, payer)).checkoutUrl !== null) {
      spy.mockRestore();
      await owner.did(createTeamCheckout, { interval: "year" });
    }
    return transaction(...given);
  });

  const monthly = await owner.does(createTeamCheckout);

  expect(monthly).toMatchObject({ ok: false, failure: new AccountBusy() });
  expect(await at.statuses()).toEqual(["open", "expired"]);
  await owner.did(createTeamCheckout);
  expect(await at.statuses()).toEqual(["open", "expired", "expired"]);
});

it("opens one checkout for two simultaneous requests for different periods under one Idempotency-Key", async () => {
  await using at = await createYearlyWorld();
  const { url } = await at.serve();
  const { owner } = await aPayer(at.world);

  const order = { key: owner.key, headers: { "idempotency-key": "k" } };
  const answers = await Promise.all(
    ["month", "year"].map((interval) => ask(`${url}/billing/team-checkout`, { ...order, body: { interval } })),
  );

  expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409]);
  expect(await at.statuses()).toEqual(["open"]);
});

it("leaves the Idempotency-Key free for another period if the provider refuses the first one", async () => {
  await using at = await createYearlyWorld();
  const { url } = await at.serve();
  const { owner } = await aPayer(at.world);
  at.stripe.fail({ kind: "400", method: "POST", path: /checkout\/sessions$/ });

  const order = { key: owner.key, headers: { "idempotency-key": "k" } };
  const buy = async (interval: string) =>
    (await ask(`${url}/billing/team-checkout`, { ...order, body: { interval } })).status;

  expect([await buy("year"), await buy("month"), await buy("year")]).toEqual([502, 201, 409]);
  expect(await at.statuses()).toEqual(["open"]);
});

it("refuses the year where it is not sold", async () => {
  await using world = await createStripeWorld();
  const { owner } = await aPayer(world);

  expect(await owner.does(createTeamCheckout, { interval: "year" })).toBeRefused("bad_request");
  expect(world.stripe.requests).toEqual([]);
});

it("asks for address and tax id, and shows the tax before and after it is paid", async () => {
  await using world = await createStripeWorld(offering({ tax: true }));
  const { owner } = await aPayer(world, { seats: 5 });
  const { sessionId } = await owner.did(createTeamCheckout);
  expect(asked(world)).toMatchObject({
    automatic_tax: { enabled: "true" },
    tax_id_collection: { enabled: "true" },
    customer_update: { address: "auto", name: "auto" },
  });
  await world.stripe.pay(sessionId);

  const { nextInvoice, tax, proration } = await owner.did(teamUpgradePreview, { maxMembers: 8 });
  await owner.did(upgradeTeam, { maxMembers: 8 });

  expect(nextInvoice).toMatchObject({ amount: 8 * 880, tax: 8 * 80 });
  expect(Math.abs(tax - proration / 11)).toBeLessThan(2);
  const { invoices } = await owner.did(teamInvoices);
  expect(Math.abs(Number(invoices[0]?.amount) - proration)).toBeLessThanOrEqual(2);
  expect(invoices[1]).toMatchObject({ amount: 5 * 880, tax: 5 * 80 });
});

it("shows the next invoice as the provider computes it, which may round its tax once for all lines", async () => {
  await using world = await createStripeWorld(offering({ tax: true }));
  const { owner } = await aPayer(world, { seats: 5 });
  await world.stripe.pay((await owner.did(createTeamCheckout)).sessionId);
  const { prices, subscriptions } = stripeClient(world.stripe.secretKey, world.stripe.url);
  const { product } = await prices.retrieve(world.stripe.priceId);
  const more = { product: String(product), currency: "usd", unit_amount: 805 };
  const { id: price } = await prices.create({ ...more, recurring: { interval: "month" } });
  const { id } = await owner.did(teamSubscription);
  // As an operator may add what else the team has ordered: each line has a tax of 80.5 cents.
  await subscriptions.update(String(id), { items: [{ price }, { price }], proration_behavior: "none" });

  const [tax, total] = [561, 4_000 + 2 * 805 + 561];
  const shown = await owner.did(teamUpgradePreview, { maxMembers: 5 });
  expect(shown).toMatchObject({ proration: 0, nextInvoice: { amount: total, tax } });
  await pass(world, 32 * DAY_MS);
  expect((await owner.did(teamInvoices)).invoices[0]).toMatchObject({ amount: total, tax });
});

it("shows the next invoice to the cent, whatever the tax of what is charged at once is rounded to", async () => {
  await using world = await createStripeWorld(offering({ tax: true }));
  const { owner } = await aPayer(world, { seats: 5 });
  await world.stripe.pay((await owner.did(createTeamCheckout)).sessionId);

  for (let look = 0; look < 10; look++) {
    await pass(world, 0.97 * DAY_MS);
    const { nextInvoice } = await owner.did(teamUpgradePreview, { maxMembers: 8 });
    expect(nextInvoice).toMatchObject({ amount: 8 * 880, tax: 8 * 80 });
  }
});

it("shows the tax that prices include, and does not add it", async () => {
  await using world = await createStripeWorld(offering({ tax: true }));
  const { owner } = await aPayer(world, { seats: 5 });
  const { secretKey, url } = world.stripe;
  await stripeClient(secretKey, url).tax.settings.update({ defaults: { tax_behavior: "inclusive" } });
  await world.stripe.pay((await owner.did(createTeamCheckout)).sessionId);

  const shown = await owner.did(teamUpgradePreview, { maxMembers: 8 });
  await owner.did(upgradeTeam, { maxMembers: 8 });

  expect(shown.nextInvoice).toMatchObject({ amount: 8 * 800, tax: Math.round((8 * 800) / 11) });
  const { invoices } = await owner.did(teamInvoices);
  expect(Math.abs(Number(invoices[0]?.amount) - shown.proration)).toBeLessThanOrEqual(2);
  expect(Math.abs(shown.tax - shown.proration / 11)).toBeLessThan(2);
  expect(invoices[1]).toMatchObject({ amount: 5 * 800, tax: Math.round((5 * 800) / 11) });
});

it("takes promotion codes only where they are switched on", async () => {
  for (const promotionCodes of [true, false]) {
    await using world = await createStripeWorld(offering({ promotionCodes }));
    await (await aPayer(world)).owner.did(createTeamCheckout);
    expect(asked(world)?.["allow_promotion_codes"]).toBe(promotionCodes ? "true" : undefined);
  }
});

it("gives a team's first subscription a trial, which counts as paid and is then charged", async () => {
  await using world = await createStripeWorld(offering({ trialDays: 14 }));
  const { owner } = await aPayer(world, { seats: 5 });
  await world.stripe.pay((await owner.did(createTeamCheckout)).sessionId);

  expect(await owner.did(teamSubscription)).toMatchObject({ status: "trialing", plan: "team", seats: 5 });
  expect((await callerOf(`Bearer ${owner.key}`, world.database)).plan).toBe("team");
  expect(await owner.did(upgradeTeam, { maxMembers: 6 })).toMatchObject({ status: "trialing", seats: 6 });
  expect((await owner.did(teamInvoices)).invoices.map(({ amount }) => amount)).toEqual([0, 0]);
  await pass(world, 15 * DAY_MS);
  expect(await owner.did(teamSubscription)).toMatchObject({ status: "active", plan: "team" });
  expect((await owner.did(teamInvoices)).invoices[0]).toMatchObject({ amount: 6 * 800, status: "paid" });

  await owner.did(cancelTeamSubscription);
  await pass(world, 32 * DAY_MS);
  expect(await owner.did(teamSubscription)).toMatchObject({ status: "canceled" });
  await owner.did(createTeamCheckout);
  expect(asked(world)).toMatchObject({ subscription_data: { metadata: expect.anything() } });
  expect(JSON.stringify(asked(world))).not.toContain("trial");
});

it("asks for the price of seats in a cancelled trial as if it were not cancelled, since nothing is due in it", async () => {
  await using world = await createStripeWorld(offering({ trialDays: 14 }));
  const { owner } = await aPayer(world, { seats: 5 });
  await world.stripe.pay((await owner.did(createTeamCheckout)).sessionId);
  await owner.did(cancelTeamSubscription);

  for (const maxMembers of [5, 8]) {
    const shown = await owner.did(teamUpgradePreview, { maxMembers });
    expect(shown).toMatchObject({ proration: 0, nextInvoice: null });
    const { params } = world.stripe.requests.findLast(({ path }) => path.endsWith("/create_preview")) ?? {};
    expect(params).toMatchObject({ subscription_details: { cancel_at_period_end: "false" } });
  }
});

it("gives no second trial after the customer of the first was deleted at the provider", async () => {
  await using world = await createStripeWorld(offering({ trialDays: 14 }));
  const { owner, teamId } = await aPayer(world, { seats: 5 });
  await world.stripe.pay((await owner.did(createTeamCheckout)).sessionId);
  await owner.did(teamSubscription);
  const { billingAccount } = world.database.models;
  const { customerId } = await billingAccount.findUniqueOrThrow({ where: { teamId } });
  await stripeClient(world.stripe.secretKey, world.stripe.url).customers.del(customerId ?? "");
  await billingAccount.updateMany({ data: { copiedAt: null } });

  expect(await owner.did(teamSubscription)).toMatchObject({ status: "canceled", plan: null, seats: 5 });
  await owner.did(createTeamCheckout);
  expect(JSON.stringify(asked(world))).not.toContain("trial");
});

it("lets the plan fall back when the first charge after a trial fails", async () => {
  await using world = await createStripeWorld(offering({ trialDays: 3 }));
  const { owner, teamId } = await aPayer(world, { seats: 5 });
  await world.stripe.pay((await owner.did(createTeamCheckout)).sessionId);
  await owner.did(teamSubscription);
  const { customerId } = await world.database.models.billingAccount.findUniqueOrThrow({ where: { teamId } });
  world.stripe.setCard(customerId ?? "", "declined");

  await pass(world, 4 * DAY_MS);

  expect(await owner.did(teamSubscription)).toMatchObject({ status: "past_due", plan: "team" });
  await endGrace(world);
  expect(await owner.did(teamSubscription)).toMatchObject({ status: "past_due", plan: null });
});

const pick = ({ url, secretKey, webhookSecret, priceId }: StripeWorld["stripe"]) => ({
  url,
  secretKey,
  webhookSecret,
  priceId,
});

it.each([{ tax: false }, { tax: true }])("shows and charges prices less a promotion (tax: $tax)", async ({ tax }) => {
  await using world = await createStripeWorld(offering({ tax, promotionCodes: true }));
  const { owner } = await aPayer(world, { seats: 5 });
  const { sessionId } = await owner.did(createTeamCheckout);
  await world.stripe.pay(sessionId, { promotionCode: "SAVE25" });
  const priceOf = (seats: number) => Math.round(seats * 600 * (tax ? 1.1 : 1));

  const shown = await owner.did(teamUpgradePreview, { maxMembers: 8 });
  await owner.did(upgradeTeam, { maxMembers: 8 });
  await pass(world, 32 * DAY_MS);

  const amounts = (await owner.did(teamInvoices)).invoices.map(({ amount }) => amount);
  expect(amounts).toEqual([priceOf(8), expect.any(Number), priceOf(5)]);
  expect(shown.nextInvoice?.amount).toBe(priceOf(8));
  // A second between preview and upgrade changes the price by less than a cent.
  expect(Math.abs(shown.proration - Number(amounts[1]))).toBeLessThanOrEqual(2);
  expect(Math.abs(shown.proration - priceOf(3))).toBeLessThanOrEqual(2);
});

it("takes a credit off what is charged, also without a card, and shows it before and after", async () => {
  await using world = await createStripeWorld();
  const payer = await aPayer(world, { seats: 5 });
  const { owner } = payer;
  await world.stripe.pay((await owner.did(createTeamCheckout)).sessionId);
  const customer = await customerOf(world, payer);
  // As after a change from year to month, or by an operator's credit note.
  await stripeClient(world.stripe.secretKey, world.stripe.url).customers.update(customer, { balance: -3_000 });
  world.stripe.setCard(customer, "declined");

  const shown = await owner.did(teamUpgradePreview, { maxMembers: 8 });
  expect(shown).toMatchObject({ credit: 3_000, nextInvoice: { amount: 8 * 800 } });
  expect(await owner.did(upgradeTeam, { maxMembers: 8 })).toMatchObject({ seats: 8, pendingUpdate: null });
  const left = await owner.did(teamUpgradePreview, { maxMembers: 8 });
  expect(Math.abs(left.credit - (shown.credit - shown.proration))).toBeLessThanOrEqual(1);
  world.stripe.setCard(customer, "accepted");
  await pass(world, 32 * DAY_MS);

  const { invoices } = await owner.did(teamInvoices);
  const [renewal, upgrade, first] = invoices.map(({ amount, amountDue }) => [amount, amountDue]);
  expect(first).toEqual([5 * 800, 5 * 800]);
  expect(upgrade).toEqual([shown.credit - left.credit, 0]);
  expect(renewal).toEqual([8 * 800, 8 * 800 - left.credit]);
  expect(await owner.did(teamUpgradePreview, { maxMembers: 8 })).toMatchObject({ credit: 0 });
});

it("gives seats away by a promotion of 100 %, with invoices of nothing, whatever becomes of the card", async () => {
  await using world = await createStripeWorld(offering({ tax: true, promotionCodes: true }));
  const payer = await aPayer(world, { seats: 5 });
  const { owner } = payer;
  await world.stripe.pay((await owner.did(createTeamCheckout)).sessionId, { promotionCode: "SAVE100" });
  expect(await owner.did(teamSubscription)).toMatchObject({ status: "active", plan: "team", seats: 5 });
  world.stripe.setCard(await customerOf(world, payer), "declined");

  const shown = await owner.did(teamUpgradePreview, { maxMembers: 8 });
  expect(shown).toMatchObject({ proration: 0, tax: 0, nextInvoice: { amount: 0, tax: 0 } });
  expect(await owner.did(upgradeTeam, { maxMembers: 8 })).toMatchObject({ seats: 8, pendingUpdate: null });
  await pass(world, 32 * DAY_MS);

  expect(await owner.did(teamSubscription)).toMatchObject({ status: "active", plan: "team", seats: 8 });
  const { invoices } = await owner.did(teamInvoices);
  expect(invoices.map(({ amount, status }) => `${amount} ${status}`)).toEqual(["0 paid", "0 paid", "0 paid"]);
});
