import { expect, it } from "vitest";
import { cancelTeamSubscription } from "../../../src/features/billing/cancel-team-subscription.js";
import { createTeamCheckout } from "../../../src/features/billing/create-team-checkout.js";
import { teamSubscription } from "../../../src/features/billing/team-subscription.js";
import { upgradeTeam } from "../../../src/features/billing/upgrade-team.js";
import { teamAudit } from "../../../src/features/teams/list-audit.js";
import { aPayer, aSubscriber, changesAsked, createBillingWorld, customerOf, seatsOf } from "../../support/billing.js";
import { CALLERS, manyAtOnce } from "../../support/races.js";
import { aTeam, tally } from "../../support/teams.js";

const HOUR_MS = 3_600_000;
const upgrades = (world: Parameters<typeof changesAsked>[0]) =>
  changesAsked(world).filter((change) => change.startsWith("POST /v1/subscriptions/"));

it("buys more seats, which count as soon as they are paid", async () => {
  await using world = await createBillingWorld();
  const payer = await aSubscriber(world, { seats: 5 });

  const upgraded = await payer.owner.did(upgradeTeam, { maxMembers: 8 });

  expect(upgraded).toMatchObject({ status: "active", seats: 8, pendingUpdate: null, hostedInvoiceUrl: null });
  expect(await seatsOf(world, payer)).toBe(8);
  expect(world.stripe.requests.findLast(({ method }) => method === "POST")?.params).toEqual({
    items: [{ id: expect.stringMatching(/^si_/), quantity: "8" }],
    proration_behavior: "always_invoice",
    payment_behavior: "pending_if_incomplete",
  });
  const { events } = await payer.owner.did(teamAudit, { teamId: payer.teamId, action: "upgradeTeam" });
  expect(events).toMatchObject([{ subject: upgraded.id, detail: "seats: 5 → 8" }]);
});

it.each(["declined", "challenged"] as const)(
  "grants the seats of a %s card when they are paid, not before",
  async (card) => {
    await using world = await createBillingWorld();
    const payer = await aSubscriber(world, { seats: 5 });
    world.stripe.setCard(await customerOf(world, payer), card);

    const pending = await payer.owner.did(upgradeTeam, { maxMembers: 8 });

    expect(pending).toMatchObject({ status: "active", seats: 5, pendingUpdate: { seats: 8 } });
    expect(pending.hostedInvoiceUrl).toMatch(/^http/);
    expect(await seatsOf(world, payer)).toBe(5);
    // The same size gets the same invoice again; another size is refused.
    expect(await payer.owner.did(upgradeTeam, { maxMembers: 8 })).toMatchObject({ pendingUpdate: { seats: 8 } });
    const other = await payer.owner.does(upgradeTeam, { maxMembers: 9 });
    expect(other).toBeRefused("conflict", "upgrade_pending");
    expect(other).toMatchObject({ failure: { message: expect.stringContaining("or confirm the payment") } });
    expect(upgrades(world)).toHaveLength(1);

    await world.stripe.payInvoice(await openInvoice(world, payer));
    await world.stripe.delivered();

    expect(await seatsOf(world, payer)).toBe(8);
    expect(await payer.owner.did(teamSubscription)).toMatchObject({ seats: 8, pendingUpdate: null });
  },
);

it("cancels an upgrade whose payment nobody confirms, so that it can be tried again", async () => {
  await using world = await createBillingWorld();
  const payer = await aSubscriber(world, { seats: 5 });
  const customer = await customerOf(world, payer);
  world.stripe.setCard(customer, "challenged");
  await payer.owner.did(upgradeTeam, { maxMembers: 8 });

  await world.stripe.advance(24 * HOUR_MS);
  await world.stripe.delivered();

  const nothing = { seats: 5, pendingUpdate: null, hostedInvoiceUrl: null };
  expect(await payer.owner.did(teamSubscription)).toMatchObject(nothing);
  expect(await seatsOf(world, payer)).toBe(5);
  world.stripe.setCard(customer, "accepted");
  expect(await payer.owner.did(upgradeTeam, { maxMembers: 9 })).toMatchObject({ ...nothing, seats: 9 });
});

it("answers the present number of seats without a charge, and refuses fewer and too many", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aSubscriber(world, { seats: 5 });

  expect(await owner.did(upgradeTeam, { maxMembers: 5 })).toMatchObject({ seats: 5, pendingUpdate: null });
  expect(await owner.does(upgradeTeam, { maxMembers: 4 })).toBeRefused("bad_request");
  expect(await owner.does(upgradeTeam, { maxMembers: 1_001 })).toBeRefused("bad_request");
  expect(upgrades(world)).toEqual([]);
});

it("refuses everybody but the owner, and a team without a paid subscription", async () => {
  await using world = await createBillingWorld();
  const { owner, admin, member } = await aTeam(world);
  const payer = await aSubscriber(world);

  expect(await admin.does(upgradeTeam, { maxMembers: 50 })).toBeRefused("forbidden", "role_too_small");
  expect(await member.does(upgradeTeam, { maxMembers: 50 })).toBeRefused("forbidden", "role_too_small");
  expect(await owner.does(upgradeTeam, { maxMembers: 50 })).toBeRefused("conflict", "subscription_required");
  expect(await (await world.user()).does(upgradeTeam, { maxMembers: 50 })).toBeRefused("not_found", "no_team");

  world.stripe.setCard(await customerOf(world, payer), "declined");
  await world.stripe.advance(32 * 24 * HOUR_MS);
  await world.stripe.delivered();
  expect(await payer.owner.does(upgradeTeam, { maxMembers: 50 })).toBeRefused("conflict", "subscription_unpaid");
});

it("is possible after the subscription was cancelled, until it ends", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aSubscriber(world, { seats: 5 });
  await owner.did(cancelTeamSubscription);

  expect(await owner.did(upgradeTeam, { maxMembers: 6 })).toMatchObject({ seats: 6, cancelAtPeriodEnd: true });
});

it("refuses a team whose checkout is still open", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aPayer(world, { seats: 5 });
  await owner.did(createTeamCheckout);

  expect(await owner.does(upgradeTeam, { maxMembers: 6 })).toBeRefused("conflict", "subscription_required");
});

it(`charges once when ${CALLERS} request the same upgrade at once`, async () => {
  await using world = await createBillingWorld();
  const payer = await aSubscriber(world, { seats: 5 });

  const verdicts = await manyAtOnce(() => payer.owner.does(upgradeTeam, { maxMembers: 9 }));

  expect(tally(verdicts)).toEqual({ ok: CALLERS });
  expect(upgrades(world)).toHaveLength(1);
  expect(await seatsOf(world, payer)).toBe(9);
});

it("refuses more upgrades than Stripe creates invoices for", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aSubscriber(world, { seats: 5 });

  const verdicts = [];
  for (let seats = 6; seats <= 14; seats++) verdicts.push(await owner.does(upgradeTeam, { maxMembers: seats }));

  expect(tally(verdicts)).toEqual({ ok: 8, too_many_upgrades: 1 });
});

/** The open invoice. */
async function openInvoice(world: Awaited<ReturnType<typeof createBillingWorld>>, payer: { teamId: string }) {
  const { rows } = await world.database.pool.query<{ url: string }>(
    "SELECT hosted_invoice_url AS url FROM billing_account WHERE team_id = $1",
    [payer.teamId],
  );
  return /in_\w+/.exec(rows[0]?.url ?? "")?.[0] ?? "";
}
