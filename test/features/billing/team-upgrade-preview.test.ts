import { expect, it } from "vitest";
import { cancelTeamSubscription } from "../../../src/features/billing/cancel-team-subscription.js";
import { downgradeTeam } from "../../../src/features/billing/downgrade-team.js";
import { teamInvoices } from "../../../src/features/billing/team-invoices.js";
import { teamSubscription } from "../../../src/features/billing/team-subscription.js";
import { teamUpgradePreview } from "../../../src/features/billing/team-upgrade-preview.js";
import { upgradeTeam } from "../../../src/features/billing/upgrade-team.js";
import { inviteMember } from "../../../src/features/teams/invitations/invite-member.js";
import { stripeClient } from "../../../src/platform/billing/stripe-client.js";
import { aPayer, aSubscriber, createBillingWorld, seatsOf, subscriptionOf } from "../../support/billing.js";
import { aTeam } from "../../support/teams.js";

it("shows the price that the upgrade will have, and changes nothing", async () => {
  await using world = await createBillingWorld();
  const payer = await aSubscriber(world, { seats: 5 });
  const { owner } = payer;

  const shown = await owner.did(teamUpgradePreview, { maxMembers: 8 });

  expect(shown).toMatchObject({ seats: 8, currency: "usd", tax: 0, nextInvoice: { amount: 8 * 800, tax: 0 } });
  expect(await seatsOf(world, payer)).toBe(5);
  expect((await owner.did(teamInvoices)).invoices).toHaveLength(1);
  const { currentPeriodEnd } = await owner.did(upgradeTeam, { maxMembers: 8 });
  expect(shown.nextInvoice?.chargedAt).toEqual(currentPeriodEnd);
  const [charged] = (await owner.did(teamInvoices)).invoices;
  // A second between preview and upgrade changes the price by less than a cent.
  expect(Math.abs(Number(charged?.amount) - shown.proration)).toBeLessThanOrEqual(1);
  expect(shown.proration).toBeGreaterThan(0);
});

it("shows that fewer seats or the current number cost nothing now", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aSubscriber(world, { seats: 5 });

  for (const maxMembers of [5, 3]) {
    const nextInvoice = { amount: maxMembers * 800 };
    expect(await owner.did(teamUpgradePreview, { maxMembers })).toMatchObject({ proration: 0, nextInvoice });
  }
});

it("shows the price of fewer seats than are in use, and says how many are", async () => {
  await using world = await createBillingWorld();
  const { owner, teamId } = await aSubscriber(world, { seats: 5 });
  await world.seat(await world.user(), teamId);
  await owner.did(inviteMember, { teamId, email: "ann@example.com", role: "member" });

  const shown = await owner.did(teamUpgradePreview, { maxMembers: 2 });

  expect(shown).toMatchObject({ seats: 2, seatsInUse: 3, nextInvoice: { amount: 2 * 800 } });
  expect(await owner.does(downgradeTeam, { maxMembers: 2 })).toBeRefused("conflict", "seats_in_use");
  expect(await owner.did(downgradeTeam, { maxMembers: shown.seatsInUse })).toMatchObject({ nextSeats: 3 });
});

it("counts every line of a long preview, and charges pending items only when seats are added", async () => {
  await using world = await createBillingWorld();
  const payer = await aSubscriber(world, { seats: 5 });
  const { owner } = payer;
  const { subscriptions } = stripeClient(world.stripe.secretKey, world.stripe.url);
  const id = await subscriptionOf(world, payer);
  const [item] = (await subscriptions.retrieve(id)).items.data;
  // Each change leaves two lines for the next invoice: 2 × 800 more seats in all.
  for (const quantity of [6, 5, 6, 5, 6, 7])
    await subscriptions.update(id, { items: [{ id: item?.id ?? "", quantity }] });
  await world.stripe.delivered();

  const same = await owner.did(teamUpgradePreview, { maxMembers: 7 });
  const more = await owner.did(teamUpgradePreview, { maxMembers: 8 });

  const waiting = Number(same.nextInvoice?.amount) - 7 * 800;
  expect(Math.abs(waiting - 2 * 800)).toBeLessThanOrEqual(12);
  expect(same.proration).toBe(0);
  expect(Math.abs(more.proration - waiting - 800)).toBeLessThanOrEqual(12);
  expect(more.nextInvoice?.amount).toBe(8 * 800);

  // The provider lists at most a hundred lines at once, and a part of the price would be wrong.
  for (let lines = 12; lines <= 100; lines += 4)
    for (const quantity of [6, 7]) await subscriptions.update(id, { items: [{ id: item?.id ?? "", quantity }] });
  await world.stripe.delivered();
  expect(await owner.does(teamUpgradePreview, { maxMembers: 8 })).toBeRefused("payment_provider_error");
});

it.each(["the service", "the portal"])("shows no next invoice of a subscription cancelled in %s", async (place) => {
  await using world = await createBillingWorld();
  const payer = await aSubscriber(world, { seats: 5 });
  const { owner } = payer;
  if (place === "the service") await owner.did(cancelTeamSubscription);
  else await world.stripe.cancelInPortal(await subscriptionOf(world, payer));
  await world.stripe.delivered();

  for (const maxMembers of [3, 5, 8]) {
    const shown = await owner.did(teamUpgradePreview, { maxMembers });
    expect(shown).toMatchObject({ seats: maxMembers, currency: "usd", nextInvoice: null });
    expect(shown.proration > 0).toBe(maxMembers > 5);
  }
});

it("shows no next invoice of a subscription that was cancelled before the event of it arrives", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const payer = await aSubscriber(world, { seats: 5 });
  await payer.owner.did(teamSubscription);
  await world.stripe.cancelInPortal(await subscriptionOf(world, payer));

  expect(await payer.owner.did(teamUpgradePreview, { maxMembers: 5 })).toMatchObject({ nextInvoice: null });
  expect(await payer.owner.did(teamSubscription)).toMatchObject({ cancelAtPeriodEnd: true });
});

it("shows no next invoice of a cancelled subscription, and refuses what the upgrade refuses", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aSubscriber(world, { seats: 5 });
  await owner.did(cancelTeamSubscription);
  expect(await owner.did(teamUpgradePreview, { maxMembers: 6 })).toMatchObject({ nextInvoice: null });

  await owner.did(downgradeTeam, { maxMembers: 3 });
  expect(await owner.does(teamUpgradePreview, { maxMembers: 6 })).toBeRefused("conflict", "decrease_pending");
  expect(await owner.does(teamUpgradePreview, { maxMembers: 1_001 })).toBeRefused("bad_request");
  const payer = await aPayer(world);
  expect(await payer.owner.does(teamUpgradePreview, { maxMembers: 6 })).toBeRefused(
    "conflict",
    "subscription_required",
  );
  const { admin } = await aTeam(world);
  expect(await admin.does(teamUpgradePreview, { maxMembers: 6 })).toBeRefused("forbidden", "role_too_small");
});
