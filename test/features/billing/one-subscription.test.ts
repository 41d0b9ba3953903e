import { expect, it } from "vitest";
import { createTeamCheckout } from "../../../src/features/billing/create-team-checkout.js";
import { reconcileAccount } from "../../../src/features/billing/reconcile.js";
import { teamSubscription } from "../../../src/features/billing/team-subscription.js";
import { Payments, stripeClient } from "../../../src/platform/payments.js";
import {
  type BillingWorld,
  aPayer,
  aSubscriber,
  createBillingWorld,
  customerOf,
  subscriptionOf,
} from "../../support/billing.js";

const stripeOf = ({ stripe }: BillingWorld) => stripeClient(stripe.secretKey, stripe.url);

it("never shows the seats of a second subscription, not even after the end of the team's own", async () => {
  await using world = await createBillingWorld();
  const payer = await aSubscriber(world, { seats: 5 });
  const own = await subscriptionOf(world, payer);
  const items = [{ price: world.stripe.priceId, quantity: 50 }];
  await stripeOf(world).subscriptions.create({ customer: await customerOf(world, payer), items });
  await world.stripe.delivered();
  expect(await payer.owner.did(teamSubscription)).toMatchObject({ id: own, seats: 5 });

  await stripeOf(world).subscriptions.cancel(own);
  await world.stripe.delivered();

  expect(await payer.owner.did(teamSubscription)).toMatchObject({ id: own, seats: 5, status: "canceled" });
});

it("withdraws a checkout whose price has changed, and opens one at the new price", async () => {
  await using world = await createBillingWorld();
  const { owner, teamId } = await aPayer(world, { seats: 5 });
  const old = await owner.did(createTeamCheckout);
  const prices = stripeOf(world).prices;
  const { product } = await prices.retrieve(world.stripe.priceId);
  const dearer = await prices.create({
    product: String(product),
    currency: "usd",
    unit_amount: 900,
    recurring: { interval: "month" },
  });
  const settings = { ...world.stripe, apiBase: world.stripe.url, priceId: dearer.id };
  const payments = new Payments({ ...settings, secretKey: world.stripe.secretKey, webhookSecret: "whsec_x" });
  const services = { ...world.services, billing: { ...world.services.billing, payments } };

  // A server with the previous price reads the account at the same moment.
  await Promise.all([reconcileAccount(world.services, teamId), reconcileAccount(services, teamId)]);

  await expect(world.stripe.pay(old.sessionId)).rejects.toThrow();
  expect((await owner.did(createTeamCheckout)).sessionId).not.toBe(old.sessionId);
});
