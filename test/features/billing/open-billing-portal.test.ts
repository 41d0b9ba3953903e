import { expect, it } from "vitest";
import { createTeamCheckout } from "../../../src/features/billing/create-team-checkout.js";
import { openBillingPortal } from "../../../src/features/billing/open-billing-portal.js";
import { resumeTeamSubscription } from "../../../src/features/billing/resume-team-subscription.js";
import { setUpAccount } from "../../../src/features/billing/set-up-account.js";
import { teamSubscription } from "../../../src/features/billing/team-subscription.js";
import { teamAudit } from "../../../src/features/teams/list-audit.js";
import { stripeClient } from "../../../src/platform/billing/stripe-client.js";
import {
  type BillingWorld,
  aPayer,
  aSubscriber,
  createBillingWorld,
  createStripeWorld,
  customerOf,
  subscriptionOf,
} from "../../support/billing.js";
import { ask } from "../../support/http.js";
import { aTeam } from "../../support/teams.js";
import { createWorld } from "../../support/world.js";

/** The parameters of the last request for a portal; the service also asks in the background. */
const portalAsked = ({ stripe }: BillingWorld): unknown =>
  stripe.requests.findLast(({ path }) => path === "/v1/billing_portal/sessions")?.params;

it("links to the customer portal, in which the owner can cancel, and records it", async () => {
  await using world = await createBillingWorld();
  const payer = await aSubscriber(world);
  const { owner, teamId } = payer;

  const { url } = await owner.did(openBillingPortal, { returnUrl: "https://app.example.com/billing" });

  expect(portalAsked(world)).toEqual({
    customer: await customerOf(world, payer),
    return_url: "https://app.example.com/billing",
  });
  const subscription = await subscriptionOf(world, payer);
  const shown = await (await fetch(url)).text();
  expect(shown).toContain("https://app.example.com/billing");
  await fetch(`${url}/cancel/${subscription}`, { method: "POST" });
  await world.stripe.delivered();
  expect(await owner.did(teamSubscription)).toMatchObject({ cancelAtPeriodEnd: true });
  expect(await owner.did(resumeTeamSubscription)).toMatchObject({ cancelAtPeriodEnd: false });
  const { events } = await owner.did(teamAudit, { teamId });
  expect(events.map(({ action }) => action)).toContain("openBillingPortal");
});

it("returns to the service's own page by default, and to no other origin than those allowed", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aSubscriber(world);

  await owner.did(openBillingPortal);
  const returnsTo = "https://memory.example.com/billing/return?portal";
  expect(portalAsked(world)).toMatchObject({ return_url: returnsTo });
  const shown = await (await fetch(returnsTo.replace("https://memory.example.com", world.app.url))).text();
  expect(shown).toContain("Back from the customer portal");
  for (const returnUrl of [
    "https://evil.example.com/",
    "javascript:alert(1)",
    "https://app.example.com@evil.example/",
  ]) {
    expect(await owner.does(openBillingPortal, { returnUrl })).toBeRefused("bad_request");
  }
});

it("shows the portal that the operator has configured", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aSubscriber(world);
  const stripe = stripeClient(world.stripe.secretKey, world.stripe.url);
  const { id } = await stripe.billingPortal.configurations.create({ features: { invoice_history: { enabled: true } } });
  const { url } = await world.serve({ STRIPE_PORTAL_ID: id });

  expect((await ask(`${url}/billing/portal`, { key: owner.key, body: {} })).status).toBe(201);

  expect(portalAsked(world)).toMatchObject({ configuration: id });
});

it("lets the owner switch between month and year in the portal of the setup, and credits the rest", async () => {
  await using world = await createStripeWorld();
  const stripe = stripeClient(world.stripe.secretKey, world.stripe.url);
  const wishes = { monthly: 800, yearly: 8_000, currency: "usd", url: "https://memory.example.com" };
  const { monthlyPriceId, yearlyPriceId, portalId } = await setUpAccount(stripe, wishes);
  const prices = { STRIPE_TEAM_PRICE_ID: monthlyPriceId, STRIPE_YEARLY_PRICE_ID: yearlyPriceId };
  // Endpoints of a host that does not exist: every event would be sent there ten times.
  for (const { id } of (await stripe.webhookEndpoints.list()).data) await stripe.webhookEndpoints.del(id);
  const { url } = await world.serve({ ...prices, STRIPE_PORTAL_ID: portalId });
  world.stripe.sendEventsTo(`${url}/billing/stripe-webhook`);
  const payer = await aPayer(world, { seats: 6 });
  const { key } = payer.owner;
  const checkout = (await ask(`${url}/billing/team-checkout`, { key, body: {} })).body as { session_id: string };
  await world.stripe.pay(checkout.session_id);
  await world.stripe.delivered();
  const subscription = await subscriptionOf(world, payer);
  const portal = (await ask(`${url}/billing/portal`, { key, body: {} })).body as { url: string };
  const seen = async () => (await ask(`${url}/billing/team-subscription`, { key })).body;
  expect(await seen()).toMatchObject({ seats: 6, interval: "month" });

  const change = (price: string) => fetch(`${portal.url}/switch/${subscription}/${price}`, { method: "POST" });
  expect((await change(world.stripe.priceId)).status).toBe(400);
  expect(await (await change(yearlyPriceId)).text()).toContain("Pay by the month");
  await world.stripe.delivered();

  expect(await seen()).toMatchObject({ seats: 6, interval: "year", stale: false });
  const [invoice] = (await stripe.invoices.list({ subscription, limit: 1 })).data;
  expect(invoice).toMatchObject({ status: "paid", billing_reason: "subscription_update" });
  const amounts = invoice?.lines.data.map(({ amount }) => amount) ?? [];
  expect(amounts).toEqual([expect.any(Number), 6 * 8_000]);
  expect(amounts[0]).toBeLessThanOrEqual(0);
  const upgraded = await ask(`${url}/billing/team-upgrade`, { key, body: { max_members: 7 } });
  expect(upgraded.body).toMatchObject({ seats: 7, interval: "year" });
});

it("refuses everybody but the owner, a team that never bought seats, and a provider that fails", async () => {
  await using world = await createBillingWorld();
  const { owner, admin, member } = await aTeam(world);

  expect(await admin.does(openBillingPortal)).toBeRefused("forbidden", "role_too_small");
  expect(await member.does(openBillingPortal)).toBeRefused("forbidden", "role_too_small");
  expect(await owner.does(openBillingPortal)).toBeRefused("conflict", "subscription_required");
  const payer = await aPayer(world);
  await payer.owner.did(createTeamCheckout);
  expect((await payer.owner.did(openBillingPortal)).url).toMatch(/^http/);
  // The retry under the same key gets the first answer again; the owner's next attempt has a key of its own.
  world.stripe.fail({ kind: "500", path: /billing_portal/ });
  const failed = await payer.owner.does(openBillingPortal);
  expect(failed).toMatchObject({ ok: false, failure: { kind: "payment_provider_error", outcome: "undone" } });
  expect((await payer.owner.did(openBillingPortal)).url).toMatch(/^http/);
});

it("says so when there is no payment provider", async () => {
  await using world = await createWorld();
  const { owner } = await aTeam(world);

  expect(await owner.does(openBillingPortal)).toBeRefused("payment_provider_error", "billing_not_configured");
});
