import { expect, it } from "vitest";
import { cancelTeamSubscription } from "../../../src/features/billing/cancel-team-subscription.js";
import { resumeTeamSubscription } from "../../../src/features/billing/resume-team-subscription.js";
import { teamSubscription } from "../../../src/features/billing/team-subscription.js";
import { stripeClient } from "../../../src/platform/billing/stripe-client.js";
import {
  type BillingWorld,
  aSubscriber,
  changesAsked,
  createBillingWorld,
  customerOf,
  subscriptionOf,
} from "../../support/billing.js";
import { aTeam } from "../../support/teams.js";

const MONTH_MS = 32 * 24 * 3_600_000;
const changes = (world: BillingWorld) =>
  changesAsked(world).filter((change) => change.startsWith("POST /v1/subscriptions/"));
const asked = (world: BillingWorld) => world.stripe.requests.findLast(({ method }) => method === "POST")?.params;

it("takes a cancellation back, so that the subscription is renewed; a repetition sends no request", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aSubscriber(world);
  const { endsAt, currentPeriodEnd } = await owner.did(cancelTeamSubscription);
  expect(endsAt).toEqual(currentPeriodEnd);

  const first = await owner.did(resumeTeamSubscription);
  const second = await owner.did(resumeTeamSubscription);

  expect(first).toMatchObject({ status: "active", cancelAtPeriodEnd: false, endsAt: null });
  expect(second).toEqual(first);
  expect(changes(world)).toHaveLength(2);
  await world.stripe.advance(MONTH_MS);
  await world.stripe.delivered();
  expect(await owner.did(teamSubscription)).toMatchObject({ status: "active", plan: "team" });
});

it("shows a subscription that was cancelled in Stripe's portal as ending, and takes that back too", async () => {
  await using world = await createBillingWorld();
  const payer = await aSubscriber(world);
  const { owner } = payer;

  await world.stripe.cancelInPortal(await subscriptionOf(world, payer));
  await world.stripe.delivered();

  const shown = await owner.did(teamSubscription);
  expect(shown).toMatchObject({ status: "active", cancelAtPeriodEnd: true, endsAt: shown.currentPeriodEnd });
  const before = changes(world).length;
  expect(await owner.did(cancelTeamSubscription)).toEqual(shown);
  expect(changes(world)).toHaveLength(before);
  expect(await owner.did(resumeTeamSubscription)).toMatchObject({ cancelAtPeriodEnd: false, endsAt: null });
  expect(asked(world)).toEqual({ cancel_at: "" });
});

it("ends a subscription that was cancelled in Stripe's portal", async () => {
  await using world = await createBillingWorld();
  const payer = await aSubscriber(world);
  await world.stripe.cancelInPortal(await subscriptionOf(world, payer));

  await world.stripe.advance(MONTH_MS);
  await world.stripe.delivered();

  expect(await payer.owner.did(teamSubscription)).toMatchObject({ status: "canceled", plan: null });
  expect(await payer.owner.does(resumeTeamSubscription)).toBeRefused("conflict", "subscription_required");
});

it("lets the owner move an end that is later than the period to an earlier time", async () => {
  await using world = await createBillingWorld();
  const payer = await aSubscriber(world);
  const { subscriptions } = stripeClient(world.stripe.secretKey, world.stripe.url);
  const { data } = await subscriptions.list({ customer: await customerOf(world, payer) });
  const later = Number(data[0]?.items.data[0]?.current_period_end) + 3_600;
  await subscriptions.update(await subscriptionOf(world, payer), { cancel_at: later });
  await world.stripe.delivered();
  const shown = await payer.owner.did(teamSubscription);
  expect(shown).toMatchObject({ cancelAtPeriodEnd: true, endsAt: new Date(later * 1_000) });

  const { endsAt } = await payer.owner.did(cancelTeamSubscription);

  expect(endsAt).toEqual(shown.currentPeriodEnd);
});

it("finds out that a cancelled time has passed, without an event", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const payer = await aSubscriber(world);
  await payer.owner.did(teamSubscription);
  await world.database.pool.query("UPDATE billing_account SET cancel_at = now() - interval '1 minute'");

  expect(await payer.owner.did(teamSubscription)).toMatchObject({ cancelAtPeriodEnd: false, stale: false });
});

it("refuses everybody but the owner, and a team without a subscription", async () => {
  await using world = await createBillingWorld();
  const { owner, admin, member } = await aTeam(world);

  expect(await admin.does(resumeTeamSubscription)).toBeRefused("forbidden", "role_too_small");
  expect(await member.does(resumeTeamSubscription)).toBeRefused("forbidden", "role_too_small");
  expect(await owner.does(resumeTeamSubscription)).toBeRefused("conflict", "subscription_required");
});
