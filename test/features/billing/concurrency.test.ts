import { randomUUID } from "node:crypto";
import { describe, expect, it, vi } from "vitest";
import { cancelTeamSubscription } from "../../../src/features/billing/cancel-team-subscription.js";
import { claimDueAccount } from "../../../src/features/billing/claim-due-account-statement.js";
import { createTeamCheckout } from "../../../src/features/billing/create-team-checkout.js";
import { downgradeTeam } from "../../../src/features/billing/downgrade-team.js";
import { reconcileAccount } from "../../../src/features/billing/reconcile.js";
import { resumeTeamSubscription } from "../../../src/features/billing/resume-team-subscription.js";
import { teamSubscription } from "../../../src/features/billing/team-subscription.js";
import { upgradeTeam } from "../../../src/features/billing/upgrade-team.js";
import { deleteTeam } from "../../../src/features/teams/delete-team.js";
import { transferTeam } from "../../../src/features/teams/transfer-team.js";
import { updateTeam } from "../../../src/features/teams/update-team.js";
import { stripeClient } from "../../../src/platform/billing/stripe-client.js";
import {
  type BillingWorld,
  type Payer,
  aPayer,
  aSubscriber,
  accountNow,
  changesAsked,
  createBillingWorld,
  customerOf,
  holdLock,
  seatsOf,
  subscriptionOf,
} from "../../support/billing.js";
import { ask } from "../../support/http.js";
import { waitingForLocks } from "../../support/locks.js";
import { CALLERS, manyAtOnce } from "../../support/races.js";
import { tally } from "../../support/teams.js";
import { type Actor, createWorld } from "../../support/world.js";

/** A little more than the latency of Stripe for most servers. */
const FAR = { kind: "slow", times: 1_000, delayMs: 400 } as const;

const stripeOf = ({ stripe }: BillingWorld) => stripeClient(stripe.secretKey, stripe.url);

describe("with a slow provider", () => {
  it(`gives ${CALLERS} callers at once the same checkout`, async () => {
    await using world = await createBillingWorld({ deaf: true });
    const { owner } = await aPayer(world);
    world.stripe.fail(FAR);

    const checkouts = await manyAtOnce(() => owner.did(createTeamCheckout));

    expect(new Set(checkouts.map(({ sessionId }) => sessionId)).size).toBe(1);
  });

  it(`charges once when ${CALLERS} callers request the same upgrade at once`, async () => {
    await using world = await createBillingWorld({ deaf: true });
    const payer = await aSubscriber(world, { seats: 5 });
    await payer.owner.did(teamSubscription);
    world.stripe.fail(FAR);

    const verdicts = await manyAtOnce(() => payer.owner.does(upgradeTeam, { maxMembers: 9 }));

    expect(tally(verdicts)).toEqual({ ok: CALLERS });
    expect((await stripeOf(world).invoices.list({ customer: await customerOf(world, payer) })).data).toHaveLength(2);
  });

  it("shows a caller all changes before its request, even if others were already waiting", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const payer = await aPayer(world);
    const { sessionId } = await payer.owner.did(createTeamCheckout);
    world.stripe.fail(FAR);
    // Its request has reached the provider, which will answer with the state before the payment.
    const early = payer.owner.did(teamSubscription);
    await expect.poll(() => world.stripe.requests.at(-1)?.path, { interval: 5 }).toBe("/v1/subscriptions");
    await world.stripe.pay(sessionId);

    const late = await payer.owner.did(teamSubscription);

    expect(late.status).toBe("active");
    expect((await early).stale).toBe(false);
  });
});

describe("a change that waits for another one", () => {
  it("charges nothing for a caller who has lost the team meanwhile", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const payer = await aSubscriber(world, { seats: 5 });
    await payer.owner.did(teamSubscription);
    const heir = await world.user();
    await world.seat(heir, payer.teamId);
    const { waitedFor, release } = await holdLock(world, payer.teamId);

    const waiting = payer.owner.does(upgradeTeam, { maxMembers: 9 });
    await waitedFor();
    await payer.owner.did(transferTeam, { teamId: payer.teamId, userId: heir.caller.userId });
    await release();

    expect(await waiting).toBeRefused("forbidden", "role_too_small");
    expect(await seatsOf(world, payer)).toBe(5);
  });

  it("opens the checkout for the team's new size", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const { owner, teamId } = await aPayer(world, { seats: 5 });
    await owner.did(createTeamCheckout);
    const { waitedFor, release } = await holdLock(world, teamId);

    const waiting = owner.did(createTeamCheckout);
    await waitedFor();
    await owner.did(updateTeam, { teamId, maxMembers: 4 });
    await release();

    const session = await stripeOf(world).checkout.sessions.retrieve((await waiting).sessionId);
    expect(session).toMatchObject({ status: "open", metadata: { seats: "4" } });
  });

  it("opens another checkout if the first expires meanwhile", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const { owner, teamId } = await aPayer(world, { seats: 5 });
    const { sessionId } = await owner.did(createTeamCheckout);
    const { waitedFor, release } = await holdLock(world, teamId);

    const waiting = owner.did(createTeamCheckout);
    await waitedFor();
    await world.stripe.advance(25 * 3_600_000);
    // Simulates an event that is processed in between.
    await world.database.pool.query("UPDATE billing_account SET mirrored_at = now()");
    await release();

    expect((await waiting).sessionId).not.toBe(sessionId);
  });

  it("sells nothing to a team that is deleted meanwhile", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const payer = await aPayer(world);
    const { owner, teamId } = payer;
    await owner.did(createTeamCheckout);
    await world.stripe.advance(25 * 3_600_000);
    await world.database.pool.query("UPDATE billing_account SET checkout_url = NULL");
    const { waitedFor, release } = await holdLock(world, teamId);

    const waiting = owner.does(createTeamCheckout);
    await waitedFor();
    await owner.did(deleteTeam, { teamId });
    await release();

    expect(await waiting).toBeRefused("not_found", "no_team");
    const sessions = await stripeOf(world).checkout.sessions.list({ customer: await customerOf(world, payer) });
    expect(sessions.data.map(({ status }) => status)).toEqual(["expired"]);
  });
});

/** Asks while this change of the team waits for its commit, which follows. */
async function askBeforeCommit<T>(
  world: BillingWorld,
  [change, ...values]: readonly [string, ...string[]],
  ask: () => Promise<T>,
): Promise<T> {
  const changing = await world.database.pool.connect();
  await changing.query("BEGIN");
  await changing.query(change, values);
  const waiting = ask();
  await expect.poll(() => waitingForLocks(world)).toBe(1);
  await changing.query("COMMIT");
  changing.release();
  return waiting;
}

it("sells nothing to a team whose deletion is about to be committed", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const { owner, teamId } = await aPayer(world);

  const asked = await askBeforeCommit(world, ["DELETE FROM team WHERE id = $1", teamId], () =>
    owner.does(createTeamCheckout),
  );

  expect(asked).toBeRefused("not_found", "no_team");
  expect(changesAsked(world)).toEqual([]);
});

it.each([
  ["a new checkout", false],
  ["a checkout of which only the provider knows", true],
])("offers %s to no team whose growth is about to be committed", async (_which, isFound) => {
  await using world = await createBillingWorld({ deaf: true });
  const payer = await aPayer(world, { seats: 5 });
  const { owner, teamId } = payer;
  if (isFound) {
    await owner.did(createTeamCheckout);
    await world.database.pool.query("UPDATE billing_account SET checkout_id = NULL, checkout_url = NULL");
  }

  const asked = await askBeforeCommit(world, ["UPDATE team SET max_members = 9 WHERE id = $1", teamId], () =>
    owner.does(createTeamCheckout),
  );

  expect(asked).toBeRefused("unavailable");
  await owner.did(createTeamCheckout);
  const { data } = await stripeOf(world).checkout.sessions.list({ customer: await customerOf(world, payer) });
  const open = data.filter(({ status }) => status === "open");
  expect(open.map(({ metadata }) => metadata?.["seats"])).toEqual(["9"]);
});

it.each([
  ["a new checkout", false],
  ["a checkout of which only the provider knows", true],
])("offers %s to no team whose growth begins after the copy was read", async (_which, isFound) => {
  await using world = await createBillingWorld({ deaf: true });
  const payer = await aPayer(world, { seats: 6 });
  const { owner, teamId } = payer;
  await owner.did(createTeamCheckout);
  await owner.did(updateTeam, { teamId, maxMembers: 5 });
  if (isFound) await openAnother(world, payer, 5);
  world.stripe.fail({ kind: "slow", method: "POST", path: /expire$/, delayMs: 1_000 });

  const opening = owner.does(createTeamCheckout);
  await vi.waitFor(() => expect(changesAsked(world).at(-1)).toMatch(/expire$/), { interval: 5, timeout: 60_000 });
  const asked = await askBeforeCommit(world, ["UPDATE team SET max_members = 9 WHERE id = $1", teamId], () => opening);

  expect(asked).toBeRefused("unavailable");
  expect((await accountNow(world, payer)).checkoutUrl).toBeNull();
});

it("ends a subscription when it is read while the deletion of its team is about to be committed", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const payer = await aSubscriber(world, { seats: 5 });
  const { owner, teamId } = payer;
  await owner.did(teamSubscription);

  await askBeforeCommit(world, ["DELETE FROM team WHERE id = $1", teamId], () =>
    reconcileAccount(world.services, teamId),
  );

  const { status } = await stripeOf(world).subscriptions.retrieve(await subscriptionOf(world, payer));
  expect([status, (await accountNow(world, payer)).status]).toEqual(["canceled", "canceled"]);
});

it("keeps the place of everybody who is joining when a smaller subscription is read", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const payer = await aSubscriber(world, { seats: 5 });
  const { owner, teamId } = payer;
  await owner.did(teamSubscription);
  const { subscriptionId, itemId } = await accountNow(world, payer);
  await stripeOf(world).subscriptions.update(subscriptionId ?? "", { items: [{ id: itemId ?? "", quantity: 2 }] });
  const [ann, bob] = [await world.user(), await world.user()];
  const joining = "INSERT INTO team_member (user_id, team_id, role) VALUES ($2, $1, 'member'), ($3, $1, 'member')";

  await askBeforeCommit(world, [joining, teamId, ann.caller.userId, bob.caller.userId], () =>
    reconcileAccount(world.services, teamId),
  );

  expect((await accountNow(world, payer)).seats).toBe(2);
  const team = await world.database.models.team.findUnique({ where: { id: teamId } });
  expect(team).toMatchObject({ memberCount: 3, maxMembers: 3 });
});

it("deletes no team for which a checkout was opened meanwhile, and does not call that a subscription", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const payer = await aSubscriber(world, { seats: 5 });
  const { owner, teamId } = payer;
  await owner.did(teamSubscription);
  await stripeOf(world).subscriptions.cancel(await subscriptionOf(world, payer));
  await world.database.pool.query("UPDATE billing_account SET mirrored_at = NULL");
  expect(await owner.did(teamSubscription)).toMatchObject({ status: "canceled" });
  const selling = await world.database.pool.connect();
  await selling.query("BEGIN");
  await selling.query("SELECT FROM team WHERE id = $1 FOR UPDATE", [teamId]);

  const waiting = owner.does(deleteTeam, { teamId });
  await expect.poll(() => waitingForLocks(world)).toBe(1);
  await selling.query(
    "UPDATE billing_account SET checkout_url = 'https://example.com', checkout_expires_at = now() + interval '1 hour'",
  );
  await selling.query("COMMIT");
  selling.release();

  expect(await waiting).toBeRefused("unavailable");
  await owner.did(deleteTeam, { teamId });
});

/** Opens a second checkout, as if the first could not be withdrawn. */
const openAnother = async (world: BillingWorld, payer: Payer, seats: number) =>
  stripeOf(world).checkout.sessions.create({
    mode: "subscription",
    customer: await customerOf(world, payer),
    line_items: [{ price: world.stripe.priceId, quantity: seats }],
    success_url: "https://app.example.com/",
    metadata: { seats: String(seats), price: world.stripe.priceId },
  });

it("withdraws every other open checkout when one of them is paid meanwhile", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const payer = await aPayer(world, { seats: 5 });
  const { sessionId: older } = await payer.owner.did(createTeamCheckout);
  const stripe = stripeOf(world);
  const { id: newer } = await openAnother(world, payer, 6);
  await payer.owner.did(updateTeam, { teamId: payer.teamId, maxMembers: 4 });
  const [first, second] = (await stripe.checkout.sessions.list({ status: "open" })).data.map(({ id }) => id);
  expect([first, second].sort()).toEqual([older, newer].sort());

  // The list of subscriptions is read before the payment, and the first checkout withdrawn after it.
  world.stripe.fail({ kind: "slow", method: "GET", path: /^\/v1\/subscriptions$/, delayMs: 500 });
  const since = world.stripe.requests.length;
  const waiting = payer.owner.does(createTeamCheckout);
  const asked = () => world.stripe.requests.slice(since).some(({ path }) => path === "/v1/subscriptions");
  await vi.waitFor(() => expect(asked()).toBe(true), { interval: 5, timeout: 60_000 });
  await world.stripe.pay(first ?? "");

  expect(await waiting).toBeRefused("conflict", "already_subscribed");
  expect((await stripe.checkout.sessions.retrieve(second ?? "")).status).toBe("expired");
});

describe("an Idempotency-Key that a client uses twice", () => {
  it("makes each change of one GraphQL request", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const payer = await aSubscriber(world, { seats: 5 });
    await payer.owner.did(teamSubscription);
    const query =
      "mutation { a: upgradeTeam(input: {maxMembers: 12}) { seats } b: upgradeTeam(input: {maxMembers: 15}) { seats } }";

    const { body } = await ask(`${world.app.url}/graphql`, {
      key: payer.owner.key,
      headers: { "idempotency-key": "k" },
      body: { query },
    });

    expect(body).toEqual({ data: { a: { seats: 12 }, b: { seats: 15 } } });
  });

  it("is refused for another request, even if the first answer was lost", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const payer = await aSubscriber(world, { seats: 5 });
    await payer.owner.did(teamSubscription);
    const upgrade = (seats: number) =>
      ask(`${world.app.url}/billing/team-upgrade`, {
        key: payer.owner.key,
        headers: { "idempotency-key": "k" },
        body: { max_members: seats },
      });
    await upgrade(12);
    await world.database.pool.query("DELETE FROM idempotent_result");

    const other = await upgrade(15);

    expect([other.status, other.body]).toMatchObject([409, { error: { reason: "idempotency_key_reused" } }]);
    expect(await seatsOf(world, payer)).toBe(12);
  });

  it.each([
    {
      path: "team-upgrade",
      body: { max_members: 8 },
      change: (owner: Actor) => owner.did(upgradeTeam, { maxMembers: 9 }),
    },
    {
      path: "team-downgrade",
      body: { max_members: 3 },
      change: (owner: Actor) => owner.did(downgradeTeam, { maxMembers: 5 }),
    },
    { path: "team-cancel", change: (owner: Actor) => owner.did(resumeTeamSubscription) },
    { path: "team-resume", isCancelled: true, change: (owner: Actor) => owner.did(cancelTeamSubscription) },
  ])("changes nothing by $path after another change, though the first answer was lost", async (wish) => {
    const { path, body = {}, isCancelled, change } = wish;
    await using world = await createBillingWorld({ deaf: true });
    const { owner } = await aSubscriber(world, { seats: 5 });
    if (isCancelled) await owner.did(cancelTeamSubscription);
    const attempt = async () => {
      const headers = { "idempotency-key": "k" };
      return (await ask(`${world.app.url}/billing/${path}`, { key: owner.key, headers, body })).status;
    };
    expect(await attempt()).toBe(200);
    await world.database.pool.query("DELETE FROM idempotent_result");
    const changed = await change(owner);

    expect(await attempt()).toBe(200);

    expect(await owner.did(teamSubscription)).toEqual(changed);
  });
});

it("reads the effect of a request for which Stripe replays a server error", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const payer = await aSubscriber(world, { seats: 5 });
  await payer.owner.did(teamSubscription);
  world.stripe.fail({ kind: "500", method: "POST", times: 2 });
  expect(await payer.owner.does(upgradeTeam, { maxMembers: 12 })).toBeRefused("payment_provider_error");
  world.stripe.clearFaults();
  // Simulates that the request had its effect.
  const stripe = stripeOf(world);
  const { subscriptionId, itemId } = await accountNow(world, payer);
  await stripe.subscriptions.update(subscriptionId ?? "", { items: [{ id: itemId ?? "", quantity: 12 }] });

  expect(await payer.owner.did(teamSubscription)).toMatchObject({ seats: 12, stale: false });
});

it("creates another customer if the provider does not know the team's any more", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const payer = await aPayer(world);
  await payer.owner.did(createTeamCheckout);
  await world.database.pool.query("UPDATE billing_account SET customer_id = 'cus_gone', checkout_url = NULL");

  const { sessionId } = await payer.owner.did(createTeamCheckout);
  await world.stripe.pay(sessionId);

  expect(await payer.owner.did(teamSubscription)).toMatchObject({ status: "active" });
  expect(world.bugs).toMatchObject([{ alert: "customerIsGone", customer: "cus_gone" }]);
});

it("creates no other customer while the subscription of the unknown one may charge", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const payer = await aSubscriber(world);
  await payer.owner.did(teamSubscription);
  await world.database.pool.query("UPDATE billing_account SET customer_id = 'cus_gone', mirrored_at = now()");
  const before = changesAsked(world);

  expect(await payer.owner.does(createTeamCheckout)).toBeRefused("payment_provider_error");

  expect(changesAsked(world)).toEqual(before);
  expect(await customerOf(world, payer)).toBe("cus_gone");
});

describe("the page after a checkout", () => {
  it("shows nothing for an unknown checkout, and sends no request for it", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const pageOf = (query: string) => ask(`${world.app.url}/billing/return${query}`);

    for (const id of ["%00", "nothing", "cs_unknown", `cs_${"x".repeat(300)}`, "cs_x%27--"]) {
      const { status, body } = await pageOf(`?session_id=${id}`);
      expect([status, String(body)]).toEqual([404, expect.stringContaining("No such checkout")]);
    }
    expect((await pageOf("")).body).toContain("Nothing was bought");
    expect((await pageOf("?session_id=a&session_id=b")).body).toContain("Nothing was bought");
    expect(world.stripe.requests).toEqual([]);
    expect(world.bugs).toEqual([]);
  });

  it("asks the provider until it is paid, with a limit for each client", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const { owner } = await aPayer(world);
    const { sessionId } = await owner.did(createTeamCheckout);
    const look = () => ask(`${world.app.url}/billing/return?session_id=${sessionId}`);

    expect((await look()).body).toContain("Not paid yet");
    await world.stripe.pay(sessionId);
    expect((await look()).body).toContain("10 seats");
    const asked = world.stripe.requests.length;
    const statuses = [];
    for (let n = 0; n < 30; n++) statuses.push((await look()).status);

    expect(world.stripe.requests.length).toBe(asked);
    expect(statuses.slice(-3)).toEqual([200, 429, 429]);
  });
});

describe.concurrent("the chore that reconciles accounts", () => {
  it.each([
    ["a period that is over", "period_end = now() - interval '2 hours', checked_at = now() - interval '2 minutes'"],
    [
      "an upgrade that waited too long",
      "pending_until = now() - interval '2 hours', checked_at = now() - interval '2 minutes'",
    ],
    [
      "an end that was set and has come",
      "cancel_at = now() - interval '2 hours', checked_at = now() - interval '2 minutes'",
    ],
    ["an account that is in doubt", "mirrored_at = NULL, checked_at = now() - interval '20 seconds'"],
    ["a subscription once a day", "checked_at = now() - interval '25 hours'"],
  ])("looks at %s", async (_what, change) => {
    await using world = await createBillingWorld({ deaf: true });
    const payer = await aSubscriber(world, { seats: 5 });
    await payer.owner.did(teamSubscription);
    await world.database.pool.query(`UPDATE billing_account SET seats = 99, ${change}`);

    await vi.waitFor(async () => expect((await accountNow(world, payer)).seats).toBe(5), { timeout: 60_000 });
  });

  it("reconciles within a minute an account whose event could not be processed, once", async (test) => {
    await using world = await createBillingWorld({ deaf: true });
    const payer = await aSubscriber(world, { seats: 5 });
    await payer.owner.did(teamSubscription);
    await world.database.pool.query(
      `INSERT INTO payment_event (id, type, customer_id, received_at)
       SELECT 'evt_1', 'x', customer_id, now() - interval '20 seconds' FROM billing_account
       UNION ALL SELECT 'evt_later', 'x', customer_id, now() + interval '50 seconds' FROM billing_account
       UNION ALL VALUES ('evt_of_another', 'x', 'cus_x', now() - interval '2 minutes');
       UPDATE billing_account SET seats = 99, checked_at = now() - interval '35 seconds'`,
    );

    await vi.waitFor(async () => expect((await accountNow(world, payer)).seats).toBe(5), { timeout: 60_000 });
    const processed = () => world.database.models.paymentEvent.findMany({ where: { processedAt: { not: null } } });
    await test.expect.poll(processed).toMatchObject([{ id: "evt_1" }]);
  });

  it("ends within minutes a subscription whose team was deleted", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const payer = await aSubscriber(world);
    await payer.owner.did(teamSubscription);
    await world.database.pool.query(
      "DELETE FROM team; UPDATE billing_account SET checked_at = now() - interval '2 minutes'",
    );

    await vi.waitFor(async () => expect((await accountNow(world, payer)).status).toBe("canceled"), { timeout: 60_000 });
  });

  it("leaves an up-to-date account alone", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const [idle, due] = [await aSubscriber(world, { seats: 5 }), await aSubscriber(world, { seats: 5 })];
    for (const { owner } of [idle, due]) await owner.did(teamSubscription);
    const checkedAt = new Date(Date.now() - 23 * 3_600_000);
    const { billingAccount } = world.database.models;
    await billingAccount.update({ where: { teamId: idle.teamId }, data: { checkedAt } });
    // Checked later than the other, so it is looked at later.
    await world.database.pool.query(
      `UPDATE billing_account SET seats = 99, mirrored_at = NULL, checked_at = now() - interval '20 seconds'
       WHERE team_id = $1`,
      [due.teamId],
    );

    await vi.waitFor(async () => expect((await accountNow(world, due)).seats).toBe(5), { timeout: 60_000 });

    expect(await billingAccount.findUnique({ where: { teamId: idle.teamId } })).toMatchObject({ checkedAt });
  });
});

it("reconciles no account that another server has locked or is claiming, but the next one", async () => {
  await using world = await createWorld();
  const { billingAccount } = world.database.models;
  const [locked, claimed, free] = Array.from({ length: 3 }, () => world.services.newId());
  for (const [index, teamId] of [locked, claimed, free].entries()) {
    const checkedAt = new Date(Date.now() - 100_000 + index);
    await billingAccount.create({ data: { teamId: teamId ?? "", customerId: `cus_${index}`, checkedAt } });
  }
  await billingAccount.updateMany({
    where: { teamId: locked ?? "" },
    data: { lockedUntil: new Date(Date.now() + 60_000) },
  });
  const claiming = await world.database.pool.connect();
  await claiming.query("BEGIN");
  await claiming.query("SELECT FROM billing_account WHERE team_id = $1 FOR UPDATE", [claimed]);

  expect(await world.database.run(claimDueAccount, {})).toMatchObject([{ teamId: free, customerId: "cus_2" }]);
  await claiming.query("COMMIT");
  claiming.release();
});

it("reconciles what is due although it was put off while the database's clock was ahead, and nothing else", async () => {
  await using world = await createWorld();
  const { billingAccount, billingRequest, paymentEvent } = world.database.models;
  const [then, lately] = [new Date(Date.now() + 3_600_000), new Date(Date.now() - 100_000)];
  const live = { status: "active", subscriptionId: "sub_1" };
  const accounts = [
    { customerId: "cus_checked", ...live, checkedAt: then },
    { customerId: "cus_locked", ...live, lockedBy: randomUUID(), lockedUntil: then },
    { customerId: "cus_asked", checkedAt: lately },
    { customerId: "cus_told", checkedAt: lately },
    { customerId: "cus_idle", checkedAt: then },
  ].map((account) => ({ ...account, teamId: world.services.newId(), copiedAt: lately }));
  await billingAccount.createMany({ data: accounts });
  const { teamId = "" } = accounts.find(({ customerId }) => customerId === "cus_asked") ?? {};
  const request = { id: world.services.newId(), teamId, kind: "customer", request: {}, door: "rest" };
  await billingRequest.create({ data: { ...request, createdAt: then } });
  await paymentEvent.create({ data: { id: "evt_1", type: "x", customerId: "cus_told", receivedAt: then } });

  const claimed = [];
  for (const _account of accounts) claimed.push(...(await world.database.run(claimDueAccount, {})));

  const customers = claimed.map(({ customerId }) => customerId);
  // Those first whose last check is unknown.
  expect(customers.slice(0, 2).sort()).toEqual(["cus_checked", "cus_locked"]);
  expect(customers.slice(2).sort()).toEqual(["cus_asked", "cus_told"]);
});
