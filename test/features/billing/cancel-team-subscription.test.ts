import { expect, it } from "vitest";
import { cancelTeamSubscription } from "../../../src/features/billing/cancel-team-subscription.js";
import { createTeamCheckout } from "../../../src/features/billing/create-team-checkout.js";
import { upgradeTeam } from "../../../src/features/billing/upgrade-team.js";
import { teamSubscription } from "../../../src/features/billing/team-subscription.js";
import { stripeClient } from "../../../src/platform/billing/stripe-client.js";
import {
  aSubscriber,
  changesAsked,
  createBillingWorld,
  customerOf,
  eventOf,
  sendEvent,
  subscriptionOf,
} from "../../support/billing.js";
import { manyAtOnce } from "../../support/races.js";
import { aTeam } from "../../support/teams.js";

const cancels = (world: Parameters<typeof changesAsked>[0]) =>
  changesAsked(world).filter((change) => change.startsWith("POST /v1/subscriptions/"));

it("ends the subscription with its period; a repetition sends no request", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aSubscriber(world);

  const first = await owner.did(cancelTeamSubscription);
  const second = await owner.did(cancelTeamSubscription);

  expect(first).toMatchObject({ status: "active", plan: "team", cancelAtPeriodEnd: true });
  expect(second).toEqual(first);
  expect(cancels(world)).toHaveLength(1);
  // Who changes their mind may try to buy again.
  const message = expect.stringContaining("`resumeTeamSubscription` takes that back");
  expect(await owner.does(createTeamCheckout)).toMatchObject({ failure: { reason: "already_subscribed", message } });
});

it("ends it after the period, and lets the team buy a new one", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aSubscriber(world);
  await owner.did(cancelTeamSubscription);

  await world.stripe.advance(32 * 24 * 3_600_000);
  await world.stripe.delivered();

  expect(await owner.did(teamSubscription)).toMatchObject({ status: "canceled", plan: null });
  expect(await owner.does(cancelTeamSubscription)).toBeRefused("conflict", "subscription_required");
  // Not even the number of seats that it had.
  for (const maxMembers of [10, 11])
    expect(await owner.does(upgradeTeam, { maxMembers })).toBeRefused("conflict", "subscription_required");
  const { sessionId } = await owner.did(createTeamCheckout);
  await world.stripe.pay(sessionId);
  await world.stripe.delivered();
  expect(await owner.did(teamSubscription)).toMatchObject({ status: "active", plan: "team", cancelAtPeriodEnd: false });
});

it("shows the end that was set at the provider when it has come, though its event was lost", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const payer = await aSubscriber(world);
  const { owner } = payer;
  await owner.did(teamSubscription);
  const { subscriptions } = stripeClient(world.stripe.secretKey, world.stripe.url);
  const endsAt = new Date(Math.floor(Date.now() / 1_000 + 10 * 86_400) * 1_000);
  await subscriptions.update(await subscriptionOf(world, payer), { cancel_at: endsAt.getTime() / 1_000 });
  await sendEvent(world, eventOf("evt_1", await customerOf(world, payer)));
  expect(await owner.did(teamSubscription)).toMatchObject({ status: "active", endsAt });

  await world.stripe.advance(11 * 86_400_000);
  world.travel(11 * 86_400_000);

  expect(await owner.did(teamSubscription)).toMatchObject({ status: "canceled", stale: false });
});

it("refuses everybody but the owner, and a team without a subscription", async () => {
  await using world = await createBillingWorld();
  const { owner, admin, member } = await aTeam(world);

  expect(await admin.does(cancelTeamSubscription)).toBeRefused("forbidden", "role_too_small");
  expect(await member.does(cancelTeamSubscription)).toBeRefused("forbidden", "role_too_small");
  expect(await owner.does(cancelTeamSubscription)).toBeRefused("conflict", "subscription_required");
  expect(await (await world.user()).does(cancelTeamSubscription)).toBeRefused("not_found", "no_team");
});

it("sends one request to the provider, even with many callers at once", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aSubscriber(world);

  const answers = await manyAtOnce(() => owner.did(cancelTeamSubscription));

  expect(new Set(answers.map(({ cancelAtPeriodEnd }) => cancelAtPeriodEnd))).toEqual(new Set([true]));
  expect(cancels(world)).toHaveLength(1);
});
