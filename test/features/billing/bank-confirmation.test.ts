import { expect, it } from "vitest";
import { cancelTeamSubscription } from "../../../src/features/billing/cancel-team-subscription.js";
import { createTeamCheckout } from "../../../src/features/billing/create-team-checkout.js";
import { teamSubscription } from "../../../src/features/billing/team-subscription.js";
import { deleteTeam } from "../../../src/features/teams/delete-team.js";
import { updateTeam } from "../../../src/features/teams/update-team.js";
import { stripeClient } from "../../../src/platform/billing/stripe-client.js";
import { type BillingWorld, aPayer, brokenBilling, createBillingWorld, customerOf } from "../../support/billing.js";

const apiOf = ({ stripe }: BillingWorld) => stripeClient(stripe.secretKey, stripe.url);

/** A team whose owner was asked by the bank, at the checkout's page, to confirm the payment, and has not done so. */
async function aHesitantBuyer(world: BillingWorld) {
  const payer = await aPayer(world, { seats: 5 });
  const { sessionId } = await payer.owner.did(createTeamCheckout);
  await world.stripe.challenge(sessionId);
  await world.stripe.delivered();
  const customer = await customerOf(world, payer);
  const statuses = async () =>
    (await apiOf(world).subscriptions.list({ customer, status: "all" })).data.map(({ status }) => status);
  expect(await statuses()).toEqual(["incomplete"]);
  return { ...payer, sessionId, statuses };
}

it("lets the owner go on with a checkout whose payment the bank wants confirmed, and grants nothing before", async () => {
  await using world = await createBillingWorld();
  const { owner, sessionId, statuses } = await aHesitantBuyer(world);
  expect(await owner.did(teamSubscription)).toMatchObject({ status: "none", plan: null, hostedInvoiceUrl: null });

  const again = await owner.did(createTeamCheckout);

  expect(again.sessionId).toBe(sessionId);
  await world.stripe.pay(sessionId);
  await world.stripe.delivered();
  expect(await owner.did(teamSubscription)).toMatchObject({ status: "active", plan: "team", seats: 5 });
  expect(await statuses()).toEqual(["active"]);
  expect(await brokenBilling(world)).toEqual([]);
});

it("lets the owner buy another number of seats instead, and charges only those", async () => {
  await using world = await createBillingWorld();
  const { owner, teamId, sessionId, statuses } = await aHesitantBuyer(world);

  await owner.did(updateTeam, { teamId, maxMembers: 8 });
  const other = await owner.did(createTeamCheckout);

  expect(other.sessionId).not.toBe(sessionId);
  await expect(world.stripe.pay(sessionId)).rejects.toThrow();
  await world.stripe.pay(other.sessionId);
  await world.stripe.delivered();
  expect(await owner.did(teamSubscription)).toMatchObject({ status: "active", seats: 8 });
  expect(await statuses()).toEqual(["active", "incomplete_expired"]);
  expect(await brokenBilling(world)).toEqual([]);
});

it("lets the owner begin again after the checkout has expired, and delete the team before and after", async () => {
  await using world = await createBillingWorld();
  const [later, never] = [await aHesitantBuyer(world), await aHesitantBuyer(world)];

  expect(await never.owner.does(cancelTeamSubscription)).toBeRefused("conflict", "subscription_required");
  await never.owner.did(deleteTeam, { teamId: never.teamId });
  expect(await never.statuses()).toEqual(["incomplete_expired"]);

  await world.stripe.advance(25 * 3_600_000);
  await world.stripe.delivered();
  expect(await later.statuses()).toEqual(["incomplete_expired"]);
  const { sessionId } = await later.owner.did(createTeamCheckout);
  expect(sessionId).not.toBe(later.sessionId);
  await world.stripe.pay(sessionId);
  await world.stripe.delivered();
  expect(await later.owner.did(teamSubscription)).toMatchObject({ status: "active", seats: 5 });
  expect(await brokenBilling(world)).toEqual([]);
});
