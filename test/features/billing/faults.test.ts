import { describe, expect, it, vi } from "vitest";
import { cancelTeamSubscription } from "../../../src/features/billing/cancel-team-subscription.js";
import { createTeamCheckout } from "../../../src/features/billing/create-team-checkout.js";
import { downgradeTeam } from "../../../src/features/billing/downgrade-team.js";
import { resumeTeamSubscription } from "../../../src/features/billing/resume-team-subscription.js";
import { teamInvoices } from "../../../src/features/billing/team-invoices.js";
import { teamSubscription } from "../../../src/features/billing/team-subscription.js";
import { upgradeTeam } from "../../../src/features/billing/upgrade-team.js";
import { LIMITS } from "../../../src/limits.js";
import { cursorOf } from "../../../src/operation/page.js";
import { ANSWERED_WITHIN_S } from "../../../src/platform/billing/payments.js";
import { stripeClient } from "../../../src/platform/billing/stripe-client.js";
import type { Fault } from "../../../src/stand-in/stripe/index.js";
import {
  type BillingWorld,
  type Payer,
  aPayer,
  aSubscriber,
  createBillingWorld,
  customerOf,
  seatsOf,
} from "../../support/billing.js";
import { type Answer, ask } from "../../support/http.js";
import { environmentOf } from "../../support/world.js";

/** Long enough for the stand-in's answers on a busy machine. */
const WAITS = { ...LIMITS.payments, requestMs: 1_200, changeMs: 3_000 };
/** The time that an operation takes besides its calls to the provider. */
const AROUND_MS = 3_000;
/** On a busy machine that time grows; this limit only tells an answer from no answer. */
const BOUNDED_MS = 60_000;

/** Each change, its request to the provider, and the condition that is true when it is done. */
const CHANGES = [
  {
    name: "createTeamCheckout",
    path: "/billing/team-checkout",
    request: /^\/v1\/checkout\/sessions$/,
    status: 201,
    body: {},
    begin: aPayer,
    async done(world: BillingWorld, payer: Payer) {
      const { data } = await stripeOf(world).checkout.sessions.list({ customer: await customerOf(world, payer) });
      expect(data.map(({ status }) => status)).toEqual(["open"]);
      const again = await payer.owner.did(createTeamCheckout);
      expect(again.sessionId).toBe(data[0]?.id);
    },
  },
  {
    name: "upgradeTeam",
    path: "/billing/team-upgrade",
    request: /^\/v1\/subscriptions\/sub_/,
    status: 200,
    body: { max_members: 12 },
    begin: aSubscriber,
    async done(world: BillingWorld, payer: Payer) {
      const { data } = await stripeOf(world).subscriptions.list({ customer: await customerOf(world, payer) });
      expect(data.map(({ items }) => items.data.map(({ quantity }) => quantity))).toEqual([[12]]);
      expect(await seatsOf(world, payer)).toBe(12);
      expect(await payer.owner.did(teamSubscription)).toMatchObject({ seats: 12, stale: false });
      // The first checkout, and one for the new number of seats: nobody pays twice.
      const invoices = await stripeOf(world).invoices.list({ customer: await customerOf(world, payer) });
      expect(invoices.data).toHaveLength(2);
      expect(await payer.owner.did(upgradeTeam, { maxMembers: 12 })).toMatchObject({ seats: 12 });
    },
  },
  {
    name: "cancelTeamSubscription",
    path: "/billing/team-cancel",
    request: /^\/v1\/subscriptions\/sub_/,
    status: 200,
    body: {},
    begin: aSubscriber,
    async done(world: BillingWorld, payer: Payer) {
      const { data } = await stripeOf(world).subscriptions.list({ customer: await customerOf(world, payer) });
      expect(data.map((subscription) => subscription.cancel_at_period_end)).toEqual([true]);
      expect(await payer.owner.did(cancelTeamSubscription)).toMatchObject({ cancelAtPeriodEnd: true });
    },
  },
  {
    name: "resumeTeamSubscription",
    path: "/billing/team-resume",
    request: /^\/v1\/subscriptions\/sub_/,
    status: 200,
    body: {},
    begin: aCancelledSubscriber,
    async done(world: BillingWorld, payer: Payer) {
      const { data } = await stripeOf(world).subscriptions.list({ customer: await customerOf(world, payer) });
      expect(data.map((subscription) => subscription.cancel_at_period_end)).toEqual([false]);
      expect(await payer.owner.did(resumeTeamSubscription)).toMatchObject({ cancelAtPeriodEnd: false });
    },
  },
  {
    name: "downgradeTeam",
    path: "/billing/team-downgrade",
    request: /^\/v1\/subscriptions\/sub_/,
    status: 200,
    body: { max_members: 6 },
    begin: aSubscriber,
    async done(world: BillingWorld, payer: Payer) {
      const { data } = await stripeOf(world).subscriptions.list({ customer: await customerOf(world, payer) });
      expect(data.map(({ items }) => items.data.map(({ quantity }) => quantity))).toEqual([[6]]);
      expect(await payer.owner.did(teamSubscription)).toMatchObject({ seats: 10, nextSeats: 6, stale: false });
      expect(await seatsOf(world, payer)).toBe(6);
      const invoices = await stripeOf(world).invoices.list({ customer: await customerOf(world, payer) });
      expect(invoices.data).toHaveLength(1);
      expect(await payer.owner.did(downgradeTeam, { maxMembers: 6 })).toMatchObject({ nextSeats: 6 });
    },
  },
] as const;

async function aCancelledSubscriber(world: BillingWorld, wishes: { seats?: number }): Promise<Payer> {
  const payer = await aSubscriber(world, wishes);
  await payer.owner.did(cancelTeamSubscription);
  return payer;
}

const stripeOf = ({ stripe }: BillingWorld) => stripeClient(stripe.secretKey, stripe.url);

/** Every fault of the provider, repeated more often than the client retries by itself. */
const FAULTS: readonly Fault[] = [
  { kind: "hang", times: 2 },
  { kind: "slow", times: 1, delayMs: 3_600 },
  { kind: "cut-before", times: 2 },
  { kind: "cut-after", times: 2 },
  { kind: "429", times: 2 },
  { kind: "429-lock", times: 60 },
  { kind: "500", times: 2 },
  { kind: "502-html", times: 2 },
  { kind: "502-json", times: 2 },
  { kind: "json-number", times: 2 },
  { kind: "json-null", times: 2 },
  { kind: "hollow", times: 1 },
  { kind: "400", times: 1 },
];

it("documents times that its waits can keep", () => {
  expect(ANSWERED_WITHIN_S.change * 1_000).toBe(LIMITS.payments.changeMs + AROUND_MS);
  expect(ANSWERED_WITHIN_S.read * 1_000).toBeGreaterThan(LIMITS.payments.readMs);
  expect(2 * LIMITS.payments.requestMs).toBeLessThan(LIMITS.payments.changeMs);
});

describe.concurrent.each(CHANGES.map((change) => [change.name, change] as const))("%s", (_name, change) => {
  it.each(FAULTS.map((fault) => [fault.kind, fault] as const))(
    "answers 502 in time when the provider fails with %s, and a retry makes the change once",
    async (_kind, fault) => {
      const isWaited = fault.delayMs || fault.kind === "hang" || fault.kind === "429-lock";
      const serversPaymentWaits = isWaited ? WAITS : LIMITS.payments;
      await using world = await createBillingWorld({ deaf: true, serversPaymentWaits });
      const payer = await change.begin(world, { seats: 10 });
      if (change.begin !== aPayer) await payer.owner.did(teamSubscription);
      const attempt = (headers: Record<string, string> = {}): Promise<Answer> =>
        ask(world.app.url + change.path, { key: payer.owner.key, body: change.body, headers });
      const earlier = world.stripe.requests.length;
      world.stripe.fail({ ...fault, method: "POST", path: change.request });

      const startedAt = performance.now();
      const failed = await attempt();
      const tookMs = performance.now() - startedAt;
      world.stripe.clearFaults();
      const repeated = async () => (await attempt()).status;

      expect([failed.status, failed.body]).toMatchObject([502, { error: { code: "payment_provider_error" } }]);
      expect(JSON.stringify(failed.body)).not.toMatch(/stripe|stand-in/i);
      expect(tookMs).toBeLessThan(BOUNDED_MS);
      // On a busy machine a retry may also be too slow, and is retried.
      await vi.waitFor(async () => expect(await repeated()).toBe(change.status), { timeout: 60_000 });
      await change.done(world, payer);
      // One effect means one idempotency key that was not refused.
      const keys = world.stripe.requests
        .slice(earlier)
        .filter(({ method, path, status }) => method === "POST" && change.request.test(path) && (status ?? 500) < 300)
        .map(({ idempotencyKey }) => idempotencyKey);
      expect(new Set(keys).size).toBe(1);
      expect(world.bugs).toEqual([]);
    },
  );
});

it("says whether a change may still be made, was refused or not done, and when to try again", async () => {
  const said = async (fault: Partial<Fault>, path: string, body?: object, method?: string) => {
    world.stripe.fail({ kind: "502-html", times: 9, ...fault });
    const answer = await ask(world.app.url + path, {
      key: owner.key,
      ...(body && { body }),
      ...(method && { method }),
    });
    world.stripe.clearFaults();
    const { message } = (answer.body as { error: { message: string } }).error;
    return [answer.status, message, answer.headers.get("retry-after")];
  };
  await using world = await createBillingWorld({ deaf: true });
  const { owner, teamId } = await aSubscriber(world, { seats: 10 });
  await owner.did(teamSubscription);
  const mayBe = [502, expect.stringMatching(/moment: the change may still be made.* ask the operator/), "5"];
  const undone = [502, expect.stringMatching(/so this was not done\. Try again .* ask the operator/), "5"];
  const refused = [502, expect.stringMatching(/refused this, and nothing was changed\. .* ask the operator/), null];
  const upgrade = ["/billing/team-upgrade", { max_members: 12 }] as const;

  expect(await said({ kind: "400" }, ...upgrade)).toEqual(refused);
  expect(await said({ method: "GET" }, ...upgrade)).toEqual(undone);
  expect(await said({ method: "POST" }, ...upgrade)).toEqual(mayBe);
  // The change whose outcome is unknown is sent again, and what waits for it is not done.
  expect(await said({}, ...upgrade)).toEqual(mayBe);
  for (const [path, body] of [
    ["/billing/invoices"],
    ["/billing/portal", {}],
    ["/billing/team-upgrade-preview?max_members=14"],
  ] as const) {
    expect(await said({}, path, body)).toEqual(undone);
    expect(await said({ kind: "400" }, path, body)).toEqual(refused);
  }
  expect(await said({}, `/teams/${teamId}`, undefined, "DELETE")).toEqual(undone);
});

it("does not say that a team may still grow or go because its checkout may still be withdrawn", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const { owner, teamId } = await aPayer(world, { seats: 10 });
  await owner.did(createTeamCheckout);
  const team = { key: owner.key, path: `/teams/${teamId}` };
  for (const request of [{ method: "PUT", body: { max_members: 12 } }, { method: "DELETE" }]) {
    world.stripe.fail({ kind: "502-html", method: "POST", times: 2 });
    const { status, body } = await ask(world.app.url + team.path, { key: team.key, ...request });
    world.stripe.clearFaults();

    expect([status, JSON.stringify(body)]).toEqual([502, expect.stringMatching(/so this was not done/)]);
  }
});

it("tells GraphQL when to try again, by both of its ways", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const { owner } = await aSubscriber(world, { seats: 10 });
  const query = "mutation { cancelTeamSubscription { status } }";
  for (const kind of ["502-html", "400"] as const) {
    for (const extensions of [undefined, {}]) {
      world.stripe.fail({ kind, method: "GET", times: 9 });
      const { status, headers, body } = await ask(`${world.app.url}/graphql`, {
        key: owner.key,
        body: { query, extensions },
      });
      world.stripe.clearFaults();

      const { errors } = body as { errors: Array<{ extensions: { retryAfterSeconds?: number } }> };
      const told = [headers.get("retry-after"), errors[0]?.extensions.retryAfterSeconds];
      expect([kind, status, ...told]).toEqual([kind, 200, ...(kind === "400" ? [null, undefined] : ["5", 5])]);
    }
  }
});

it("does not say that nothing was changed when only the reading after a change is refused", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const { owner } = await aSubscriber(world, { seats: 10 });
  await owner.did(teamSubscription);
  // The first reading is before the change.
  world.stripe.fail({ kind: "400", method: "GET", path: /^\/v1\/subscriptions(\?|$)/, after: 1, times: 9 });

  const answer = await ask(`${world.app.url}/billing/team-upgrade`, { key: owner.key, body: { max_members: 12 } });
  world.stripe.clearFaults();

  expect([answer.status, JSON.stringify(answer.body)]).toEqual([502, expect.stringMatching(/may still be made/)]);
  expect(await owner.did(teamSubscription)).toMatchObject({ seats: 12, stale: false });
});

it("does not take a customer that the provider does not know for a wrong page of invoices", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const { owner } = await aSubscriber(world);
  await world.database.pool.query("UPDATE billing_account SET customer_id = 'cus_unknown'");

  expect(await owner.does(teamInvoices)).toBeRefused("payment_provider_error");
  expect(await owner.does(teamInvoices, { cursor: cursorOf("teamInvoices", "in_unknown") })).toBeRefused("bad_request");
});

it.concurrent("waits while another request holds the subscription at Stripe, under one idempotency key", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const payer = await aSubscriber(world, { seats: 10 });
  await payer.owner.did(teamSubscription);
  world.stripe.fail({ kind: "429-lock", times: 3, method: "POST" });

  expect(await payer.owner.did(upgradeTeam, { maxMembers: 12 })).toMatchObject({ seats: 12 });

  const sent = world.stripe.requests.filter(
    ({ path, method }) => method === "POST" && /subscriptions\/sub_/.test(path),
  );
  expect(sent.map(({ status }) => status)).toEqual([429, 429, 429, 200]);
  expect(new Set(sent.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
});

it.concurrent("finishes in the background a change that nobody retries", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const payer = await aSubscriber(world, { seats: 10 });
  await payer.owner.did(teamSubscription);
  world.stripe.fail({ kind: "cut-after", times: 2, method: "POST" });
  expect(await payer.owner.does(upgradeTeam, { maxMembers: 12 })).toBeRefused("payment_provider_error");
  expect(await seatsOf(world, payer)).toBe(10);

  // Simulates that time has passed.
  await world.database.pool.query(
    "UPDATE billing_operation SET created_at = now() - interval '1 minute'; UPDATE billing_account SET checked_at = NULL",
  );

  await vi.waitFor(async () => expect(await seatsOf(world, payer)).toBe(12), { timeout: 60_000 });
});

it.each(["json-number", "json-null", "hollow"] as const)(
  "keeps running when it reads an unexpected answer: %s",
  async (kind) => {
    await using world = await createBillingWorld({ deaf: true });
    const payer = await aSubscriber(world, { seats: 10 });
    world.stripe.fail({ kind, method: "GET", times: 20 });

    expect(await payer.owner.did(teamSubscription)).toMatchObject({ stale: true });
    const failed = await ask(`${world.app.url}/billing/team-cancel`, { key: payer.owner.key, method: "POST" });
    expect([failed.status, failed.body]).toMatchObject([502, { error: { code: "payment_provider_error" } }]);
    world.stripe.clearFaults();
    expect(await payer.owner.did(teamSubscription)).toMatchObject({ status: "active", stale: false });
    expect(world.bugs).toEqual([]);
  },
);

it("lets readers wait at most a few seconds", async () => {
  const paymentWaits = { ...LIMITS.payments, readMs: 1_000 };
  await using world = await createBillingWorld({ deaf: true, paymentWaits });
  const payer = await aSubscriber(world, { seats: 10 });
  world.stripe.fail({ kind: "hang", method: "GET", times: 20 });

  const startedAt = performance.now();
  expect(await payer.owner.did(teamSubscription)).toMatchObject({ status: "none", stale: true });

  expect(performance.now() - startedAt).toBeLessThan(BOUNDED_MS);
});

it("holds no connection to the database while it waits for Stripe", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const payers = [];
  for (let n = 0; n < 12; n++) payers.push(await aPayer(world));
  const { pool } = world.database;
  world.stripe.fail({ kind: "slow", delayMs: 1_500, method: "POST", path: /customers/, times: 12 });

  // More callers than the pool has connections, each of another team.
  const checkouts = payers.map(({ owner }) => owner.did(createTeamCheckout));
  const isAsked = ({ path }: { path: string }) => path === "/v1/customers";
  await vi.waitFor(() => expect(world.stripe.requests.filter(isAsked)).toHaveLength(12), 60_000);

  // Except for moments in which a lock is renewed.
  await vi.waitFor(() => expect([pool.idleCount, pool.waitingCount]).toEqual([pool.totalCount, 0]), 60_000);
  expect(await Promise.all(checkouts)).toHaveLength(12);
});

it("answers 502 with a wrong secret key, and continues with the right one", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const payer = await aPayer(world);
  const wrong = await world.serve({ ...environmentOf(world.stripe), STRIPE_SECRET_KEY: "sk_test_wrong" });
  const attempt = (url: string) => ask(`${url}/billing/team-checkout`, { key: payer.owner.key, body: {} });

  expect((await attempt(wrong.url)).status).toBe(502);
  expect((await attempt(world.app.url)).status).toBe(201);
});

it("sends people to the operator when the secret key is wrong, unless a change was sent", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const [buyer, subscriber] = [await aPayer(world), await aSubscriber(world)];
  const wrong = await world.serve({ ...environmentOf(world.stripe), STRIPE_SECRET_KEY: "sk_test_wrong" });
  const said = async ({ owner }: Payer, path: string, body: object) =>
    JSON.stringify((await ask(wrong.url + path, { key: owner.key, body })).body);

  for (const [path, body] of [
    ["/billing/portal", {}],
    ["/billing/team-upgrade", { max_members: 12 }],
  ] as const) {
    expect(await said(subscriber, path, body)).toMatch(/nothing was changed\. .* ask the operator/);
  }
  expect(await said(buyer, "/billing/team-checkout", {})).toMatch(/may still be made.* ask the operator/);
  expect(
    world.log.filter((line) => line.includes("the payment provider failed. `npm run doctor` says what to do")),
  ).toHaveLength(3);
});

it("makes a change once when a client without an answer retries it with the same Idempotency-Key", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const payer = await aSubscriber(world, { seats: 10 });
  await payer.owner.did(teamSubscription);
  const attempt = () =>
    ask(`${world.app.url}/billing/team-upgrade`, {
      key: payer.owner.key,
      headers: { "idempotency-key": "upgrade" },
      body: { max_members: 12 },
    });

  const first = await attempt();
  // Simulates a server that was killed after the change, but before it stored the answer.
  await world.database.pool.query("DELETE FROM idempotent_result");
  const second = await attempt();

  expect([second.status, second.body]).toEqual([200, first.body]);
  expect(await seatsOf(world, payer)).toBe(12);
});

it("takes an Idempotency-Key for another change when it is a day old, and refuses it before", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const payer = await aSubscriber(world, { seats: 10 });
  const attempt = async (seats: number) => {
    const headers = { "idempotency-key": "upgrade" };
    const body = { max_members: seats };
    return (await ask(`${world.app.url}/billing/team-upgrade`, { key: payer.owner.key, headers, body })).status;
  };
  const age = async (hours: number) => {
    for (const table of ["billing_operation", "idempotent_result"])
      await world.database.pool.query(`UPDATE ${table} SET created_at = now() - interval '${hours} hours'`);
  };

  expect([await attempt(12), await attempt(14)]).toEqual([200, 409]);
  await age(23);
  expect(await attempt(14)).toBe(409);
  await age(25);
  expect(await attempt(14)).toBe(200);
  expect(await seatsOf(world, payer)).toBe(14);
});

it.each([
  ["resends a request for an hour", 59, 12, "done"],
  ["does not resend one that nobody expects any more, and reads its outcome", 61, 10, "abandoned"],
  ["does not resend one that is from the future, as after the database's clock was ahead", -61, 10, "abandoned"],
] as const)("%s", async (_what, minutes, seats, outcome) => {
  await using world = await createBillingWorld({ deaf: true });
  const payer = await aSubscriber(world, { seats: 10 });
  await payer.owner.did(teamSubscription);
  world.stripe.fail({ kind: "cut-before", times: 2, method: "POST" });
  expect(await payer.owner.does(upgradeTeam, { maxMembers: 12 })).toBeRefused("payment_provider_error");
  await world.database.pool.query(
    `UPDATE billing_operation SET created_at = now() - interval '${minutes} minutes' WHERE outcome IS NULL`,
  );

  expect(await payer.owner.did(teamSubscription)).toMatchObject({ seats, stale: false });

  const { rows } = await world.database.pool.query("SELECT outcome FROM billing_operation ORDER BY id DESC LIMIT 1");
  expect(rows).toEqual([{ outcome }]);
});

it("leaves a request of a newer server, which it cannot send, to that server", async () => {
  await using world = await createBillingWorld();
  const { owner, teamId } = await aSubscriber(world, { seats: 10 });
  const { pool } = world.database;
  await pool.query("ALTER TABLE billing_operation DROP CONSTRAINT billing_operation_kind_check");
  await pool.query(
    `INSERT INTO billing_operation (id, team_id, kind, request, door) VALUES (gen_random_uuid(), $1, 'newer', '{}', 'rest')`,
    [teamId],
  );

  expect(await owner.does(upgradeTeam, { maxMembers: 12 })).toBeRefused("unavailable");
  expect(await owner.did(teamSubscription)).toMatchObject({ seats: 10, stale: true });

  expect(world.bugs).toEqual([]);
  await pool.query("UPDATE billing_operation SET outcome = 'done', ended_at = now() WHERE kind = 'newer'");
  expect(await owner.did(upgradeTeam, { maxMembers: 12 })).toMatchObject({ seats: 12 });
});
