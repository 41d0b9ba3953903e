import { expect, it } from "vitest";
import { createTeamCheckout } from "../../../src/features/billing/create-team-checkout.js";
import { reconcileAccount } from "../../../src/features/billing/reconcile.js";
import { teamSubscription } from "../../../src/features/billing/team-subscription.js";
import { Payments } from "../../../src/platform/billing/payments.js";
import { stripeClient } from "../../../src/platform/billing/stripe-client.js";
import {
  type BillingWorld,
  aPayer,
  aSubscriber,
  createBillingWorld,
  customerOf,
  holdLock,
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

it("keeps the older of two subscriptions that it sees for the first time", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const payer = await aSubscriber(world, { seats: 5 });
  await world.stripe.advance(60_000);
  const items = [{ price: world.stripe.priceId, quantity: 50 }];
  await stripeOf(world).subscriptions.create({ customer: await customerOf(world, payer), items });

  expect(await payer.owner.did(teamSubscription)).toMatchObject({ status: "active", seats: 5 });
});

it("withdraws a checkout whose price has changed, and opens one at the new price", async () => {
  await using world = await createBillingWorld({ deaf: true });
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

  const { waitedFor, release } = await holdLock(world, teamId);
  const waiting = reconcileAccount(services, teamId);
  await waitedFor();
  // Simulates a server with the previous price that reads the account in between.
  await world.database.pool.query("UPDATE billing_account SET mirrored_at = now()");
  await release();
  await waiting;

  await expect(world.stripe.pay(old.sessionId)).rejects.toThrow();
  expect((await owner.did(createTeamCheckout)).sessionId).not.toBe(old.sessionId);
});
