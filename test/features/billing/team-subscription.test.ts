import { expect, it } from "vitest";
import { cancelTeamSubscription } from "../../../src/features/billing/cancel-team-subscription.js";
import { createTeamCheckout } from "../../../src/features/billing/create-team-checkout.js";
import { readSubscription } from "../../../src/features/billing/provider-subscription.js";
import { teamSubscription } from "../../../src/features/billing/team-subscription.js";
import { updateMemberRole } from "../../../src/features/teams/members/update-member-role.js";
import { upgradeTeam } from "../../../src/features/billing/upgrade-team.js";
import { inviteMember } from "../../../src/features/teams/invitations/invite-member.js";
import { acceptInvitation } from "../../../src/features/teams/invitations/answer-invitation.js";
import { deleteTeam } from "../../../src/features/teams/delete-team.js";
import { updateTeam } from "../../../src/features/teams/update-team.js";
import {
  aPayer,
  aSubscriber,
  accountNow,
  createBillingWorld,
  customerOf,
  endGrace,
  seatsOf,
  subscriptionOf,
} from "../../support/billing.js";
import { stripeClient } from "../../../src/platform/billing/stripe-client.js";
import { ask } from "../../support/http.js";
import { CALLERS } from "../../support/races.js";
import { aTeam, anInvitee, brokenInvariants, manyOf, tally } from "../../support/teams.js";
import { createWorld } from "../../support/world.js";

const DAY_MS = 24 * 3_600_000;

it("keeps the item of the seats apart from one that the provider's operator adds, at any place", async () => {
  await using world = await createBillingWorld();
  const payer = await aSubscriber(world, { seats: 6 });
  const { prices, subscriptions } = stripeClient(world.stripe.secretKey, world.stripe.url);
  const { itemId } = await accountNow(world, payer);
  const { product } = await prices.retrieve(world.stripe.priceId);
  const other = { product: String(product), currency: "usd", recurring: { interval: "month" } } as const;
  const [special, support] = [
    await prices.create({ ...other, unit_amount: 500 }),
    await prices.create({ ...other, unit_amount: 9_900 }),
  ];
  const id = await subscriptionOf(world, payer);
  const items = [{ id: String(itemId), price: special.id }, { price: support.id }];
  const changed = await subscriptions.update(id, { items, proration_behavior: "none" });
  await world.stripe.delivered();
  expect(await payer.owner.did(teamSubscription)).toMatchObject({ seats: 6, stale: false });

  const reversed = { ...changed, items: { ...changed.items, data: changed.items.data.toReversed() } };
  const read = readSubscription(reversed, { prices: [world.stripe.priceId], knownItemId: itemId });
  expect(read).toMatchObject({ itemId, seats: 6 });

  // The operator has replaced the item: the new one has another id, and one of the configured prices.
  const replaced = readSubscription(reversed, { prices: [special.id], knownItemId: "si_gone" });
  expect(replaced).toMatchObject({ itemId, seats: 6 });
});

it("shows none for a team that has bought nothing, and sends no request", async () => {
  await using world = await createBillingWorld();
  const { member } = await aTeam(world);

  expect(await member.did(teamSubscription)).toEqual({
    id: null,
    status: "none",
    plan: null,
    graceUntil: null,
    seats: null,
    nextSeats: null,
    interval: null,
    memberCount: 3,
    currentPeriodStart: null,
    currentPeriodEnd: null,
    cancelAtPeriodEnd: false,
    endsAt: null,
    pendingUpdate: null,
    hostedInvoiceUrl: null,
    stale: false,
  });
  expect(world.stripe.requests).toEqual([]);
  expect(await (await world.user()).does(teamSubscription)).toBeRefused("not_found", "no_team");
});

it("shows none when there is no payment provider", async () => {
  await using world = await createWorld();
  const { member } = await aTeam(world);

  expect(await member.did(teamSubscription)).toMatchObject({ status: "none", stale: false });
});

it("shows the subscription from the copy, without a request", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aSubscriber(world, { seats: 7 });
  const asked = world.stripe.requests.length;

  const shown = await owner.did(teamSubscription);

  expect(shown).toMatchObject({ status: "active", plan: "team", seats: 7, memberCount: 1, stale: false });
  expect(shown.id).toMatch(/^sub_/);
  expect(Number(shown.currentPeriodEnd) - Number(shown.currentPeriodStart)).toBeGreaterThan(27 * DAY_MS);
  expect(world.stripe.requests.length).toBe(asked);
});

it("finds that a checkout was paid, even without an event", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const { owner } = await aPayer(world);
  const { sessionId } = await owner.did(createTeamCheckout);
  await world.stripe.pay(sessionId);

  expect(await owner.did(teamSubscription)).toMatchObject({ status: "active", stale: false });
});

it("finds that an open invoice was paid, even without an event", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const payer = await aSubscriber(world);
  await payer.owner.did(teamSubscription);
  world.stripe.setCard(await customerOf(world, payer), "declined");
  await world.stripe.advance(32 * DAY_MS);
  await world.database.models.billingAccount.updateMany({ data: { copiedAt: null } });
  const unpaid = await payer.owner.did(teamSubscription);
  expect(unpaid.status).toBe("past_due");

  await world.stripe.payInvoice(/in_\w+/.exec(unpaid.hostedInvoiceUrl ?? "")?.[0] ?? "");

  expect(await payer.owner.did(teamSubscription)).toMatchObject({ status: "active", stale: false });
});

it("says that it may be outdated when it must be refreshed and the provider fails", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const { owner } = await aPayer(world);
  const { sessionId } = await owner.did(createTeamCheckout);
  await world.stripe.pay(sessionId);
  world.stripe.fail({ kind: "500", times: 10 });

  expect(await owner.did(teamSubscription)).toMatchObject({ status: "none", stale: true });
  world.stripe.clearFaults();
  expect(await owner.did(teamSubscription)).toMatchObject({ status: "active", stale: false });
});

it("shows the page of an open invoice only to the owner", async () => {
  await using world = await createBillingWorld();
  const payer = await aSubscriber(world, { seats: 5 });
  const [member, admin] = [await world.user(), await world.user()];
  for (const actor of [member, admin]) await world.seat(actor, payer.teamId);
  await payer.owner.did(updateMemberRole, { teamId: payer.teamId, userId: admin.caller.userId, role: "admin" });
  world.stripe.setCard(await customerOf(world, payer), "declined");
  await payer.owner.did(upgradeTeam, { maxMembers: 8 });

  expect((await payer.owner.did(teamSubscription)).hostedInvoiceUrl).toMatch(/^http/);
  for (const actor of [member, admin]) expect((await actor.did(teamSubscription)).hostedInvoiceUrl).toBeNull();
});

it("raises every member's plan and rate limit from the next request at every server, until it ends", async () => {
  await using world = await createBillingWorld();
  const { url: other } = await world.serve();
  const { owner, teamId } = await aSubscriber(world);
  const member = await world.user({ plan: "free" });
  await world.seat(member, teamId);
  const policies = async () => {
    const asked = [world.app.url, other].flatMap((url) => [owner, member].map(({ key }) => ask(`${url}/me`, { key })));
    return (await Promise.all(asked)).map(({ headers }) => headers.get("ratelimit-policy"));
  };

  expect(new Set(await policies())).toEqual(new Set(['"team";q=1000;w=60']));
  await owner.did(cancelTeamSubscription);
  expect(new Set(await policies())).toEqual(new Set(['"team";q=1000;w=60']));
  await world.stripe.advance(32 * DAY_MS);
  await world.stripe.delivered();
  expect(new Set(await policies())).toEqual(new Set(['"free";q=60;w=60']));
});

it("suspends the plan after the grace period of an unpaid renewal: nobody is removed, and nobody can join", async () => {
  await using world = await createBillingWorld();
  const payer = await aSubscriber(world, { seats: 10 });
  for (const actor of await manyOf(7, () => world.user())) await world.seat(actor, payer.teamId);
  const { teamId, owner } = payer;
  expect(await owner.does(inviteMember, { teamId, email: "one@example.com", role: "member" })).toMatchObject({
    ok: true,
  });

  world.stripe.setCard(await customerOf(world, payer), "declined");
  await world.stripe.advance(32 * DAY_MS);
  await world.stripe.delivered();

  expect(await owner.did(teamSubscription)).toMatchObject({ status: "past_due", plan: "team", memberCount: 8 });
  await endGrace(world);
  expect(await owner.did(teamSubscription)).toMatchObject({ status: "past_due", plan: null, memberCount: 8 });
  const refused = await owner.does(inviteMember, { teamId, email: "two@example.com", role: "member" });
  expect(refused).toBeRefused("conflict", "subscription_required");
  // While it is live, no other subscription can be bought.
  const message = expect.stringContaining("or end the subscription with `cancelTeamSubscription` and buy seats again");
  expect(refused).toMatchObject({ failure: { message } });
});

it("limits a team without a subscription to five members, whatever its maximum", async () => {
  await using world = await createBillingWorld();
  const { teamId, owner } = await aTeam(world, { maxMembers: 20 });
  const invite = (name: string) => owner.does(inviteMember, { teamId, email: `${name}@example.com`, role: "member" });

  const verdicts = [];
  for (const name of ["ann", "bob", "cleo"]) verdicts.push(await invite(name));

  expect(tally(verdicts)).toEqual({ ok: 2, subscription_required: 1 });
  expect(verdicts.at(-1)).toMatchObject({ failure: { message: expect.stringContaining("`createTeamCheckout`") } });
});

it(`lets ${CALLERS} who accept at once join up to the free seats, and all after the payment`, async () => {
  await using world = await createBillingWorld();
  const payer = await aSubscriber(world, { seats: 40 });
  const invitees = await manyOf(CALLERS, () => anInvitee(world, payer));
  const acceptAll = () => Promise.all(invitees.map(({ actor, token }) => actor.does(acceptInvitation, { token })));
  await world.database.pool.query("UPDATE billing_account SET status = 'unpaid'");

  const unpaid = await acceptAll();
  expect(tally(unpaid)).toEqual({ ok: 4, subscription_required: CALLERS - 4 });
  // They are no members yet, and can pay for nothing.
  const message = expect.stringMatching(/^The team has no paid seat left\. Ask the person who invited you: [^`]*$/);
  expect(unpaid.find(({ ok }) => !ok)).toMatchObject({ failure: { message } });
  await world.database.pool.query("UPDATE billing_account SET status = 'active'");
  const paid = await acceptAll();
  expect(paid.filter(({ ok }) => ok)).toHaveLength(CALLERS - 4);
  expect(await brokenInvariants(world)).toEqual([]);
});

it("sets the team's size while it is live; the owner can still rename the team", async () => {
  await using world = await createBillingWorld();
  const payer = await aSubscriber(world, { seats: 7 });
  const { owner, teamId } = payer;

  const grown = await owner.does(updateTeam, { teamId, maxMembers: 9 });
  expect(grown).toBeRefused("conflict", "size_managed_by_billing");
  expect(await owner.does(updateTeam, { teamId, maxMembers: 2 })).toBeRefused("conflict", "size_managed_by_billing");
  expect(await owner.did(updateTeam, { teamId, name: "Renamed", maxMembers: 7 })).toMatchObject({ name: "Renamed" });
  expect(await seatsOf(world, payer)).toBe(7);
});

it("prevents the deletion of its team while the provider says that it is live", async () => {
  await using world = await createBillingWorld();
  const payer = await aSubscriber(world);
  const { owner, teamId } = payer;

  expect(await owner.does(deleteTeam, { teamId })).toBeRefused("conflict", "subscription_active");
  world.stripe.fail({ kind: "500", times: 10 });
  expect(await owner.does(deleteTeam, { teamId })).toBeRefused("payment_provider_error");
  world.stripe.clearFaults();
  await owner.did(cancelTeamSubscription);
  expect(await owner.does(deleteTeam, { teamId })).toBeRefused("conflict", "subscription_active");
  await world.stripe.advance(32 * DAY_MS);
  await owner.did(deleteTeam, { teamId });
  expect(await accountNow(world, payer)).toMatchObject({ status: "canceled" });
});

it("withdraws an open checkout before its team is deleted", async () => {
  await using world = await createBillingWorld();
  const { owner, teamId } = await aPayer(world);
  const { sessionId } = await owner.did(createTeamCheckout);

  await owner.did(deleteTeam, { teamId });

  await expect(world.stripe.pay(sessionId)).rejects.toThrow();
});
