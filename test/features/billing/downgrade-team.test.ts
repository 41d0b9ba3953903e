import { expect, it } from "vitest";
import { cancelTeamSubscription } from "../../../src/features/billing/cancel-team-subscription.js";
import { downgradeTeam } from "../../../src/features/billing/downgrade-team.js";
import { teamInvoices } from "../../../src/features/billing/team-invoices.js";
import { teamSubscription } from "../../../src/features/billing/team-subscription.js";
import { upgradeTeam } from "../../../src/features/billing/upgrade-team.js";
import { inviteMember } from "../../../src/features/teams/invitations/invite-member.js";
import { acceptInvitation } from "../../../src/features/teams/invitations/answer-invitation.js";
import { aSubscriber, changesAsked, createBillingWorld, customerOf, seatsOf } from "../../support/billing.js";
import { aTeam, anInvitee, letExpire, manyOf, tally } from "../../support/teams.js";

const MONTH_MS = 32 * 24 * 3_600_000;

it("charges fewer seats from the next period on, and keeps the paid ones until then", async () => {
  await using world = await createBillingWorld();
  const payer = await aSubscriber(world, { seats: 8 });
  const { owner } = payer;

  const lowered = await owner.did(downgradeTeam, { maxMembers: 4 });
  const again = await owner.did(downgradeTeam, { maxMembers: 4 });

  expect(lowered).toMatchObject({ status: "active", plan: "team", seats: 8, nextSeats: 4 });
  expect(again).toEqual(lowered);
  expect(changesAsked(world).filter((change) => change.startsWith("POST /v1/subscriptions/"))).toHaveLength(1);
  expect((await owner.did(teamInvoices)).invoices).toHaveLength(1);
  expect(await seatsOf(world, payer)).toBe(4);

  await world.stripe.advance(MONTH_MS);
  await world.stripe.delivered();

  expect(await owner.did(teamSubscription)).toMatchObject({ seats: 4, nextSeats: null });
  expect((await owner.did(teamInvoices)).invoices[0]).toMatchObject({ amount: 4 * 800, status: "paid" });
});

it("takes the decrease back without a charge, after which more seats can be bought", async () => {
  await using world = await createBillingWorld();
  const payer = await aSubscriber(world, { seats: 8 });
  const { owner } = payer;
  await owner.did(downgradeTeam, { maxMembers: 4 });
  expect(await owner.does(upgradeTeam, { maxMembers: 9 })).toBeRefused("conflict", "decrease_pending");

  const back = await owner.did(downgradeTeam, { maxMembers: 8 });

  expect(back).toMatchObject({ seats: 8, nextSeats: null });
  expect(await seatsOf(world, payer)).toBe(8);
  expect((await owner.did(teamInvoices)).invoices).toHaveLength(1);
  expect(await owner.did(upgradeTeam, { maxMembers: 9 })).toMatchObject({ seats: 9, nextSeats: null });
});

it.each([
  { wanted: 8, before: 2, why: "nobody has paid for more seats" },
  { wanted: 2, before: 8, why: "more are paid for" },
])("is undone if it arrives only after the renewal, when $why", async ({ wanted, before }) => {
  await using world = await createBillingWorld();
  const payer = await aSubscriber(world, { seats: 8 });
  const { owner } = payer;
  if (before < 8) await owner.did(downgradeTeam, { maxMembers: before });
  world.stripe.fail({ kind: "cut-before", times: 2, method: "POST", path: /subscriptions\/sub_/ });
  expect(await owner.does(downgradeTeam, { maxMembers: wanted })).toBeRefused("payment_provider_error");
  await world.stripe.advance(MONTH_MS);
  await world.stripe.delivered();
  const change = { method: "POST", path: /subscriptions\/sub_/ };
  // The provider does it, but its answers get lost; then it does not undo it at once.
  world.stripe.fail({ kind: "cut-after", times: 2, ...change });
  world.stripe.fail({ kind: "slow", delayMs: 1, ...change });
  world.stripe.fail({ kind: "cut-before", times: 2, ...change });

  await owner.does(teamSubscription);
  await owner.does(teamSubscription);
  await owner.does(teamSubscription);

  expect((await owner.did(teamInvoices)).invoices[0]).toMatchObject({ amount: before * 800, status: "paid" });
  expect(await owner.did(teamSubscription)).toMatchObject({ seats: before, nextSeats: null, stale: false });
  expect(await seatsOf(world, payer)).toBe(before);
});

it("leaves a seat for every member and pending invitation, and lets nobody join beyond the new number", async () => {
  await using world = await createBillingWorld();
  const payer = await aSubscriber(world, { seats: 8 });
  const { owner, teamId } = payer;
  await world.seat(await world.user(), teamId);
  await owner.did(inviteMember, { teamId, email: "ann@example.com", role: "member" });

  const { id } = await owner.did(inviteMember, { teamId, email: "bob@example.com", role: "member" });
  await letExpire(world, id);

  expect(await owner.does(downgradeTeam, { maxMembers: 2 })).toBeRefused("conflict", "seats_in_use");
  expect(await seatsOf(world, payer)).toBe(8);
  await owner.did(downgradeTeam, { maxMembers: 3 });
  const further = { teamId, email: "bob@example.com", role: "member" };
  expect(await owner.does(inviteMember, further)).toBeRefused("conflict", "team_full");
});

it("keeps a seat for everybody who joins while it is asked for", async () => {
  await using world = await createBillingWorld();
  const payer = await aSubscriber(world, { seats: 8 });
  const invitees = await manyOf(4, () => anInvitee(world, payer));

  const verdicts = await Promise.all([
    payer.owner.does(downgradeTeam, { maxMembers: 5 }),
    payer.owner.does(downgradeTeam, { maxMembers: 4 }),
    ...invitees.map(({ actor, token }) => actor.does(acceptInvitation, { token })),
  ]);

  expect(tally(verdicts)).toEqual({ ok: 5, seats_in_use: 1 });
  expect(await payer.owner.did(teamSubscription)).toMatchObject({ memberCount: 5, nextSeats: 5 });
});

it.each([
  ["at once", { kind: "400", times: 1 }],
  ["by the error of an earlier attempt", { kind: "500", times: 2 }],
] as const)("gives the team its size back when the provider refuses %s", async (_how, fault) => {
  await using world = await createBillingWorld();
  const payer = await aSubscriber(world, { seats: 8 });
  world.stripe.fail({ ...fault, path: /subscriptions\/sub_/ });

  expect(await payer.owner.does(downgradeTeam, { maxMembers: 4 })).toBeRefused("payment_provider_error");

  expect(await seatsOf(world, payer)).toBe(8);
  expect(await payer.owner.did(teamSubscription)).toMatchObject({ seats: 8, nextSeats: null });
});

it("refuses more seats than now, a team that has not paid, and everybody but the owner", async () => {
  await using world = await createBillingWorld();
  const payer = await aSubscriber(world, { seats: 5 });
  const { owner, admin, member } = await aTeam(world);

  expect(await payer.owner.does(downgradeTeam, { maxMembers: 6 })).toBeRefused("bad_request");
  expect(await payer.owner.does(downgradeTeam, { maxMembers: 0 })).toBeRefused("bad_request");
  expect(await admin.does(downgradeTeam, { maxMembers: 4 })).toBeRefused("forbidden", "role_too_small");
  expect(await member.does(downgradeTeam, { maxMembers: 4 })).toBeRefused("forbidden", "role_too_small");
  expect(await owner.does(downgradeTeam, { maxMembers: 4 })).toBeRefused("conflict", "subscription_required");
  world.stripe.setCard(await customerOf(world, payer), "declined");
  await payer.owner.did(upgradeTeam, { maxMembers: 7 });
  expect(await payer.owner.does(downgradeTeam, { maxMembers: 4 })).toBeRefused("conflict", "upgrade_pending");
  await world.stripe.advance(MONTH_MS);
  await world.stripe.delivered();
  expect(await payer.owner.does(downgradeTeam, { maxMembers: 4 })).toBeRefused("conflict", "subscription_unpaid");
});

it("is possible after the subscription was cancelled, and ends with it", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aSubscriber(world, { seats: 5 });
  await owner.did(cancelTeamSubscription);

  expect(await owner.did(downgradeTeam, { maxMembers: 3 })).toMatchObject({ nextSeats: 3, cancelAtPeriodEnd: true });
  await world.stripe.advance(MONTH_MS);
  await world.stripe.delivered();
  const ended = { status: "canceled", seats: 5, nextSeats: null };
  expect(await owner.did(teamSubscription)).toMatchObject(ended);
});
