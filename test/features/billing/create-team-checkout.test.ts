import { expect, it, vi } from "vitest";
import { NO_CHECKOUT } from "../../../src/features/billing/account.js";
import { createTeamCheckout } from "../../../src/features/billing/create-team-checkout.js";
import { teamSubscription } from "../../../src/features/billing/team-subscription.js";
import { deleteTeam } from "../../../src/features/teams/delete-team.js";
import { updateTeam } from "../../../src/features/teams/update-team.js";
import { lockRow } from "../../../src/operation/lock-row-statement.js";
import type { Database } from "../../../src/platform/database/database.js";
import { stripeClient } from "../../../src/platform/billing/stripe-client.js";
import {
  type Payer,
  type StripeWorld,
  aPayer,
  aSubscriber,
  accountNow,
  changesAsked,
  createBillingWorld,
  customerOf,
} from "../../support/billing.js";
import { ask } from "../../support/http.js";
import { waitingForLocks } from "../../support/locks.js";
import { CALLERS, manyAtOnce } from "../../support/races.js";
import { aTeam } from "../../support/teams.js";
import { createWorld } from "../../support/world.js";

const SESSIONS = "POST /v1/checkout/sessions";

it("opens a checkout for the team's maximum of members, at the server's price", async () => {
  await using world = await createBillingWorld();
  const { owner, teamId } = await aPayer(world, { seats: 7 });

  const checkout = await owner.did(createTeamCheckout);

  expect(checkout.url).toContain(checkout.sessionId);
  expect(checkout.expiresAt.getTime()).toBeGreaterThan(world.stripe.now().getTime());
  const [customer, session] = world.stripe.requests.filter(({ method }) => method === "POST");
  expect(customer?.params).toEqual({ name: "Team", email: owner.email, metadata: { team_id: teamId } });
  expect(session?.params).toMatchObject({
    mode: "subscription",
    line_items: [{ price: world.stripe.priceId, quantity: "7" }],
    client_reference_id: teamId,
    subscription_data: { metadata: { team_id: teamId } },
    success_url: "https://memory.example.com/billing/return?session_id={CHECKOUT_SESSION_ID}",
    cancel_url: "https://memory.example.com/billing/return",
  });
});

it("returns an open checkout for the same seats again, and replaces one for another number", async () => {
  await using world = await createBillingWorld();
  const { owner, teamId } = await aPayer(world, { seats: 7 });

  const first = await owner.did(createTeamCheckout);
  const again = await owner.did(createTeamCheckout);
  await owner.did(updateTeam, { teamId, maxMembers: 9 });
  const other = await owner.did(createTeamCheckout);

  expect(again).toEqual(first);
  expect(other.sessionId).not.toBe(first.sessionId);
  expect(changesAsked(world)).toEqual([
    "POST /v1/customers",
    SESSIONS,
    `${SESSIONS}/${first.sessionId}/expire`,
    SESSIONS,
  ]);
  // A withdrawn checkout cannot be paid.
  await expect(world.stripe.pay(first.sessionId)).rejects.toThrow();
});

it("lets no team grow beyond the seats of a checkout that can still be paid", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const { owner, teamId } = await aPayer(world, { seats: 1 });
  const { sessionId } = await owner.did(createTeamCheckout);

  await owner.did(updateTeam, { teamId, maxMembers: 5 });

  // Otherwise four more people join without paying, and one paid seat gives all five the plan.
  await expect(world.stripe.pay(sessionId)).rejects.toThrow();
  expect(await accountNow(world, { owner, teamId })).toMatchObject({ status: "none", checkoutUrl: null });
  expect((await owner.did(createTeamCheckout)).sessionId).not.toBe(sessionId);
});

it("takes a checkout for open as long as Stripe does, also if the database's clock is ahead", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const payer = await aPayer(world, { seats: 7 });
  const { owner, teamId } = payer;
  const { sessionId } = await owner.did(createTeamCheckout);
  const { models } = world.database;
  await models.billingAccount.updateMany({ data: { checkoutExpiresAt: new Date(Date.now() - 24 * 3_600_000) } });

  expect(await owner.did(teamSubscription)).toMatchObject({ status: "none", stale: false });
  expect((await accountNow(world, payer)).checkoutUrl).toContain(sessionId);
  await owner.did(updateTeam, { teamId, maxMembers: 9 });

  await expect(world.stripe.pay(sessionId)).rejects.toThrow();
});

it("lets a team grow that has an old checkout of another Stripe account, which this one does not know", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const payer = await aPayer(world, { seats: 1 });
  const { owner, teamId } = payer;
  await owner.did(createTeamCheckout);
  const expiredAt = new Date(Date.now() - 2 * 3_600_000);
  const elsewhere = { customerId: "cus_elsewhere", checkoutId: "cs_elsewhere", checkoutExpiresAt: expiredAt };
  await world.database.models.billingAccount.updateMany({ data: elsewhere });

  expect(await owner.did(updateTeam, { teamId, maxMembers: 5 })).toMatchObject({ maxMembers: 5 });
  expect(await accountNow(world, payer)).toMatchObject({ status: "none", checkoutUrl: null });
});

it("opens no checkout for a team that grows at the same moment", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const { owner, teamId } = await aPayer(world, { seats: 1 });
  await owner.did(createTeamCheckout);
  await world.stripe.advance(25 * 3_600_000);
  await owner.did(teamSubscription);

  expect(await openWhileTeamGrows(world, { owner, teamId })).toBeRefused("unavailable");
  expect(changesAsked(world).filter((change) => change === SESSIONS)).toHaveLength(1);
});

it("returns no open checkout for a team that grows at the same moment", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const { owner, teamId } = await aPayer(world, { seats: 1 });
  world.stripe.fail({ kind: "cut-after", times: 2, method: "POST", path: /checkout\/sessions$/ });
  expect(await owner.does(createTeamCheckout)).toBeRefused("payment_provider_error");
  // An hour later the request is given up, but its checkout is open at the provider for a day.
  await world.database.pool.query("UPDATE billing_operation SET created_at = created_at - interval '2 hours'");

  expect(await openWhileTeamGrows(world, { owner, teamId })).toBeRefused("unavailable");
});

/** Lets the team grow to five while its owner opens a checkout, for which the provider answers slowly. */
async function openWhileTeamGrows({ stripe }: StripeWorld, { owner, teamId }: Payer) {
  stripe.fail({ kind: "slow", method: "GET", path: /^\/v1\/customers/, delayMs: 500 });
  const since = stripe.requests.length;
  const opening = owner.does(createTeamCheckout);
  await vi.waitFor(() => expect(stripe.requests.length).toBeGreaterThan(since), { interval: 5, timeout: 60_000 });
  await owner.did(updateTeam, { teamId, maxMembers: 5 });
  return opening;
}

it("lets no team grow whose checkout was paid at the last moment", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const { owner, teamId } = await aPayer(world, { seats: 1 });
  await world.stripe.pay((await owner.did(createTeamCheckout)).sessionId);

  world.travel(24 * 3_600_000 + 60_000);
  expect(await owner.does(updateTeam, { teamId, maxMembers: 5 })).toBeRefused("conflict", "size_managed_by_billing");
});

it("says that nothing was bought when a checkout is withdrawn while it is opened", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const { owner, teamId } = await aPayer(world, { seats: 1 });
  world.stripe.fail({ kind: "slow", method: "POST", path: /checkout\/sessions$/, delayMs: 500 });
  const opening = owner.does(createTeamCheckout);
  await vi.waitFor(() => expect(changesAsked(world)).toContain(SESSIONS), { interval: 5, timeout: 60_000 });

  // A request that makes the team larger: it withdraws the checkout before the first one reads it.
  await world.database.transaction(async (inner) => {
    await lockRow(inner, "team", { id: teamId });
    await vi.waitFor(async () => expect(await waitingForLocks(world)).toBe(1), { interval: 5, timeout: 60_000 });
    await inner.models.billingAccount.update({ where: { teamId }, data: NO_CHECKOUT });
  });

  expect(await opening).toBeRefused("unavailable");
});

it("tells who resizes a team that its seats were just bought", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const { owner, teamId } = await aPayer(world, { seats: 1 });
  await world.stripe.pay((await owner.did(createTeamCheckout)).sessionId);

  expect(await owner.does(updateTeam, { teamId, maxMembers: 5 })).toBeRefused("conflict", "size_managed_by_billing");
});

it("opens another checkout when the open one expires within ten minutes", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aPayer(world);
  const first = await owner.did(createTeamCheckout);

  world.travel(first.expiresAt.getTime() - Date.now() - 11 * 60_000);
  const same = await owner.did(createTeamCheckout);
  world.travel(2 * 60_000);
  const second = await owner.did(createTeamCheckout);

  expect(same.sessionId).toBe(first.sessionId);
  expect(second.sessionId).not.toBe(first.sessionId);
  expect(changesAsked(world).slice(2)).toEqual([`${SESSIONS}/${first.sessionId}/expire`, SESSIONS]);
});

it("keeps nobody from deleting the team after its checkout has expired, even if the provider fails", async () => {
  await using world = await createBillingWorld();
  const { owner, teamId } = await aPayer(world);
  await owner.did(createTeamCheckout);
  world.stripe.fail({ kind: "500", times: 100 });

  expect(await owner.does(deleteTeam, { teamId })).toBeRefused("payment_provider_error");
  world.travel(24 * 3_600_000);
  expect(await owner.did(deleteTeam, { teamId })).toEqual({ id: teamId });
});

it("keeps nobody from deleting the team whose subscription was ended right after its payment", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const payer = await aPayer(world);
  await world.stripe.pay((await payer.owner.did(createTeamCheckout)).sessionId);
  const { subscriptions } = stripeClient(world.stripe.secretKey, world.stripe.url);
  const { data } = await subscriptions.list({ customer: await customerOf(world, payer) });
  await subscriptions.cancel(data[0]?.id ?? "");

  expect(await payer.owner.did(deleteTeam, { teamId: payer.teamId })).toEqual({ id: payer.teamId });
});

it("sells and deletes nothing when a checkout is paid while it is withdrawn, before its subscription exists", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const { owner, teamId } = await aPayer(world, { seats: 7 });
  const { checkout, subscriptions } = stripeClient(world.stripe.secretKey, world.stripe.url);
  /** Pays a checkout right after it was listed as open. Stripe creates its subscription only later. */
  const payDuring = async <Verdict>(sessionId: string, begin: () => Promise<Verdict>) => {
    world.stripe.fail({ kind: "slow", method: "GET", path: /checkout\/sessions$/, delayMs: 500 });
    const since = world.stripe.requests.length;
    const verdict = begin();
    const asked = () => world.stripe.requests.slice(since).map(({ path }) => path);
    await vi.waitFor(() => expect(asked()).toContain("/v1/checkout/sessions"), { interval: 5, timeout: 60_000 });
    await world.stripe.pay(sessionId);
    await subscriptions.cancel(String((await checkout.sessions.retrieve(sessionId)).subscription));
    return verdict;
  };

  const { sessionId: first } = await owner.did(createTeamCheckout);
  await owner.did(updateTeam, { teamId, maxMembers: 6 });
  expect(await payDuring(first, () => owner.does(createTeamCheckout))).toBeRefused("payment_provider_error");
  expect((await checkout.sessions.list({ status: "open" })).data).toEqual([]);
  const { sessionId: second } = await owner.did(createTeamCheckout);
  expect(await payDuring(second, () => owner.does(deleteTeam, { teamId }))).toBeRefused("payment_provider_error");
  expect(await owner.did(deleteTeam, { teamId })).toEqual({ id: teamId });
});

it("leaves no checkout open when its team is deleted before its outcome was known", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const { owner, teamId } = await aPayer(world);
  world.stripe.fail({ kind: "cut-after", times: 2, method: "POST", path: /checkout\/sessions$/ });
  expect(await owner.does(createTeamCheckout)).toBeRefused("payment_provider_error");

  await owner.did(deleteTeam, { teamId });

  const { checkout } = stripeClient(world.stripe.secretKey, world.stripe.url);
  const { data } = await checkout.sessions.list({ limit: 10 });
  expect(data.map(({ status }) => status)).toEqual(["expired"]);
});

it("opens no second checkout while the first cannot be withdrawn", async () => {
  await using world = await createBillingWorld();
  const { owner, teamId } = await aPayer(world, { seats: 7 });
  const { sessionId } = await owner.did(createTeamCheckout);
  await owner.did(updateTeam, { teamId, maxMembers: 6 });
  world.stripe.fail({ kind: "400", times: 1, path: /expire$/ });

  expect(await owner.does(createTeamCheckout)).toBeRefused("payment_provider_error");
  expect(changesAsked(world).filter((change) => change === SESSIONS)).toHaveLength(1);
  expect((await owner.did(createTeamCheckout)).sessionId).not.toBe(sessionId);
});

it("opens another checkout when the first has expired", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aPayer(world);
  const first = await owner.did(createTeamCheckout);

  await world.stripe.advance(25 * 3_600_000);
  const second = await owner.did(createTeamCheckout);

  expect(second.sessionId).not.toBe(first.sessionId);
});

it("accepts return addresses only at the service and at allowed origins", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aPayer(world);
  const successUrl = "https://app.example.com/paid?session={CHECKOUT_SESSION_ID}";

  const refused = [
    "https://evil.example.com/",
    "https://app.example.com.evil.com/",
    "https://app.example.com@evil.com/",
    "https://user:pass@app.example.com/",
    "http://app.example.com/",
    "https://app.example.com\n.evil.com/",
    "//evil.com",
    "javascript:alert(1)",
    "blob:https://app.example.com/x",
    "https://app.example.com\\@evil.com/",
    "https://app.example.com/a\r\nX: y",
    " https://app.example.com/",
    "paid",
  ];
  for (const url of refused) {
    for (const field of ["successUrl", "cancelUrl"]) {
      expect(await owner.does(createTeamCheckout, { [field]: url })).toBeRefused("bad_request");
    }
  }
  expect(world.stripe.requests).toEqual([]);
  await owner.did(createTeamCheckout, { successUrl, cancelUrl: "https://memory.example.com/back" });
  expect(world.stripe.requests.findLast(({ method }) => method === "POST")?.params).toMatchObject({
    success_url: successUrl,
    cancel_url: "https://memory.example.com/back",
  });
});

it("refuses a return address that is too long when it is escaped, before it asks Stripe", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aPayer(world);
  const site = "https://app.example.com/";

  expect(await owner.does(createTeamCheckout, { successUrl: site + "界".repeat(700) })).toBeRefused("bad_request");
  expect(world.stripe.requests).toEqual([]);
  const { url } = await owner.did(createTeamCheckout, { successUrl: site + "a".repeat(2_000 - site.length) });
  expect(url).toMatch(/^http/);
});

it("refuses everybody but the owner of a team", async () => {
  await using world = await createBillingWorld();
  const { admin, member } = await aTeam(world);
  const loner = await world.user();

  expect(await admin.does(createTeamCheckout)).toBeRefused("forbidden", "role_too_small");
  expect(await member.does(createTeamCheckout)).toBeRefused("forbidden", "role_too_small");
  expect(await loner.does(createTeamCheckout)).toBeRefused("not_found", "no_team");
  expect(world.stripe.requests).toEqual([]);
});

it("refuses a team that has a subscription", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aSubscriber(world);

  expect(await owner.does(createTeamCheckout)).toBeRefused("conflict", "already_subscribed");
});

it("refuses a team that has just paid, even before any event", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const payer = await aPayer(world);
  const { sessionId } = await payer.owner.did(createTeamCheckout);
  await world.stripe.pay(sessionId);

  expect(await payer.owner.does(createTeamCheckout)).toBeRefused("conflict", "already_subscribed");
  expect((await accountNow(world, payer)).status).toBe("active");
});

it("refuses clearly when there is no payment provider", async () => {
  await using world = await createWorld();
  const { owner } = await aTeam(world);

  expect(await owner.does(createTeamCheckout)).toBeRefused("payment_provider_error", "billing_not_configured");
});

it.each([undefined, "double-click"])(
  `opens one checkout for ${CALLERS} requests at two servers at once, with key %s`,
  async (key) => {
    await using world = await createBillingWorld();
    const servers = [world.app, await world.serve()];
    const { owner } = await aPayer(world);

    const checkouts = await manyAtOnce((n) =>
      ask(`${servers[n % 2]?.url}/billing/team-checkout`, {
        key: owner.key,
        body: {},
        ...(key === undefined ? {} : { headers: { "idempotency-key": key } }),
      }),
    );

    // With one Idempotency-Key, requests during the first one are refused as in progress.
    const made = checkouts.filter(({ status }) => status === 201);
    expect(made.length).toBeGreaterThan(key === undefined ? CALLERS - 1 : 0);
    expect(checkouts.filter(({ status }) => status !== 201 && status !== 409)).toEqual([]);
    expect(new Set(made.map(({ body }) => (body as { session_id: string }).session_id)).size).toBe(1);
    expect(changesAsked(world)).toEqual(["POST /v1/customers", SESSIONS]);
  },
);

it("lets no team grow beyond a checkout that is opened while it waits for its turn", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const { owner, teamId } = await aPayer(world, { seats: 5 });
  const { url } = await owner.did(createTeamCheckout);
  const accountShows = ({ models }: Pick<Database, "models">, checkoutUrl: string | null) =>
    models.billingAccount.update({ where: { teamId }, data: { checkoutUrl } });
  await accountShows(world.database, null);

  const growing = await world.database.transaction(async (inner) => {
    await lockRow(inner, "team", { id: teamId });
    const verdict = owner.does(updateTeam, { teamId, maxMembers: 8 });
    await vi.waitFor(async () => expect(await waitingForLocks(world)).toBe(1), { interval: 5, timeout: 60_000 });
    await accountShows(inner, url);
    return { verdict };
  });

  expect(await growing.verdict).toBeRefused("unavailable");
});
