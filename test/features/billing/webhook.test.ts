import { Stripe } from "stripe";
import { describe, expect, it } from "vitest";
import { createTeamCheckout } from "../../../src/features/billing/create-team-checkout.js";
import { teamSubscription } from "../../../src/features/billing/team-subscription.js";
import { upgradeTeam } from "../../../src/features/billing/upgrade-team.js";
import { deleteTeam } from "../../../src/features/teams/delete-team.js";
import { LIMITS } from "../../../src/limits.js";
import { stripeClient } from "../../../src/platform/billing/stripe-client.js";
import {
  ASKS_FOR_LOCK,
  type BillingWorld,
  aPayer,
  aSubscriber,
  accountNow,
  createBillingWorld,
  customerOf,
  eventOf,
  forgetBilling,
  holdLock,
  seatsOf,
  sendEvent,
} from "../../support/billing.js";
import { ask } from "../../support/http.js";
import { withLimits } from "../../support/limits.js";
import { manyAtOnce } from "../../support/races.js";
import { listenTo } from "../../support/statements.js";
import { createWorld } from "../../support/world.js";

const listsAsked = ({ stripe }: BillingWorld): number =>
  stripe.requests.filter(({ method, path }) => method === "GET" && path === "/v1/subscriptions").length;

describe("an event from Stripe", () => {
  it("is accepted only with a valid signature of the last five minutes", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const payload = eventOf("evt_1", "cus_x");
    const now = Math.floor(Date.now() / 1_000);
    const refused = [
      await sendEvent(world, payload, { secret: "whsec_other" }),
      await sendEvent(world, payload, { timestamp: now - 400 }),
      await ask(`${world.app.url}/billing/stripe-webhook`, { body: payload }),
      await ask(`${world.app.url}/billing/stripe-webhook`, {
        headers: { "stripe-signature": "t=1,v1=x" },
        body: payload,
      }),
      await ask(`${world.app.url}/billing/stripe-webhook`, { method: "POST", headers: { "stripe-signature": "" } }),
    ];

    for (const { status, body } of refused) {
      const error = {
        code: "bad_request",
        reason: "invalid_signature",
        message: expect.stringContaining("older"),
      };
      expect([status, body]).toMatchObject([400, { error }]);
    }
    expect((await sendEvent(world, payload)).status).toBe(200);
    expect(world.bugs).toEqual([]);
    // Once a minute: anybody can send one.
    expect(world.log.filter((line) => line.includes("check that STRIPE_WEBHOOK_SECRET is the secret"))).toHaveLength(1);
  });

  it("is refused when it is not an event, even if signed", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const odd = [
      "[]",
      "1",
      "{}",
      "null",
      '{"id":5,"type":{},"data":null}',
      '{"id":"evt_1","type":"x","data":{"object":null}}',
    ];
    for (const payload of [...odd, JSON.stringify({ id: "evt_\0", type: "x", data: { object: {} } })]) {
      const { status, body } = await sendEvent(world, payload);
      expect([status, body]).toMatchObject([400, { error: { code: "bad_request" } }]);
    }
    expect(world.bugs).toEqual([]);
  });

  it("is refused when it is too large, has another method, or has failed too often", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const url = `${world.app.url}/billing/stripe-webhook`;
    const large = JSON.stringify({ id: "evt_1", text: "x".repeat(5_000_000) });

    expect((await sendEvent(world, large)).status).toBe(413);
    expect((await ask(url)).status).toBe(405);
    const wrong = [];
    for (let n = 0; n < 61; n++) wrong.push((await ask(url, { body: {} })).status);
    expect(wrong.slice(-2)).toEqual([400, 429]);
    // Senders with the secret are not limited by those without it.
    expect((await sendEvent(world, eventOf("evt_1", "cus_x"))).status).toBe(200);
  });

  it("counts as failed authentication only if its signature is wrong", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const { failedKeysPerAddress } = LIMITS.budgets;
    const others = [await sendEvent(world, "x".repeat(5_000_000)), await sendEvent(world, "{}")];
    const wrong = await sendEvent(world, "{}", { secret: "whsec_other" });

    expect(others.map(({ status }) => status)).toEqual([413, 400]);
    expect(wrong.headers.get("ratelimit")).toMatch(`r=${failedKeysPerAddress - 1};`);
  });

  it("is refused with what to do if it is a thin one, which Stripe recommends to whoever sets up a webhook by hand", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const related = { id: "sub_1", type: "subscription", url: "/v1/subscriptions/sub_1" };
    const thin = {
      id: "evt_1",
      object: "v2.core.event",
      type: "v1.customer.subscription.updated",
      livemode: false,
      created: new Date().toISOString(),
      related_object: related,
    };

    const answer = await sendEvent(world, JSON.stringify(thin));

    expect([answer.status, answer.headers.get("ratelimit")]).toEqual([400, null]);
    const advice = "It is a thin event: choose snapshots for this webhook, as `npm run billing -- setup` does.";
    expect(JSON.stringify(answer.body)).toContain(advice);
    expect(world.log.filter((line) => line.includes(advice))).toHaveLength(1);
  });

  it("is accepted by servers with the old and with the new secret, while Stripe signs it with both", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const old = world.stripe.webhookSecret;
    const payload = eventOf("evt_1", "cus_x");
    // One time for both: a second may end between them.
    const timestamp = Math.floor(Date.now() / 1_000);
    const signatureBy = (secret: string) => Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp });
    const answers = [];

    for (const secret of [old, "whsec_new"]) {
      const app = await world.serve({ STRIPE_WEBHOOK_SECRET: secret });
      for (const [one, other] of [
        [old, "whsec_new"],
        ["whsec_new", old],
      ] as const) {
        const both = `${signatureBy(one)},${signatureBy(other).split(",")[1]}`;
        answers.push(
          await ask(`${app.url}/billing/stripe-webhook`, { headers: { "stripe-signature": both }, body: payload }),
        );
      }
    }

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });

  it("never causes a server error, whatever its signature or content", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const url = `${world.app.url}/billing/stripe-webhook`;
    const unsigned = ["t=1,v1", "t=1,v1=", "v1=,v1=", "t,v1", "=", ",".repeat(9_000), `t=1${",v1=x".repeat(3_000)}`];
    let count = 0;
    const event = (object: unknown, rest: object = {}) =>
      JSON.stringify({ id: `evt_${count++}`, object: "event", type: "x", data: { object }, ...rest });
    const taken = [
      event({ customer: "\0" }),
      event({ customer: "c".repeat(900_000) }),
      event({ customer: { id: ["cus_x"] } }),
      event({ customer: 7, object: "customer", id: {} }),
      event({ nested: "[" }).replace('"["', `${"[".repeat(10_000)}${"]".repeat(10_000)}`),
      event({ customer: "cus_x" }, { api_version: "1999-01-01", extra: Array(100_000).fill(1) }),
    ];
    const refused = [
      "null",
      "[]",
      "7",
      '""',
      "{}",
      "{",
      "[".repeat(10_000),
      "\u0000",
      '{"id":"evt_1","type":"x","data":{}}',
      JSON.stringify({ id: "evt_1", object: "v2.core.event", type: "x", data: { object: {} } }),
      ...[{ id: 1 }, { id: "e".repeat(256) }, { id: "\0" }, { type: null }, { data: [] }].map((rest) =>
        event({}, rest),
      ),
    ];

    for (const signature of unsigned) {
      const answer = await ask(url, { headers: { "stripe-signature": signature }, body: event({}) });
      expect([signature.slice(0, 20), answer.status]).toEqual([signature.slice(0, 20), 400]);
    }
    for (const [payloads, status] of [
      [taken, 200],
      [refused, 400],
    ] as const) {
      for (const payload of payloads) {
        expect([payload.slice(0, 99), (await sendEvent(world, payload)).status]).toEqual([
          payload.slice(0, 99),
          status,
        ]);
      }
    }
    expect(world.bugs).toEqual([]);
  });

  it("gets 502 when there is no payment provider", async () => {
    await using world = await createWorld();
    const { url } = await world.serve();

    const { status, body } = await ask(`${url}/billing/stripe-webhook`, { body: {} });

    expect([status, body]).toMatchObject([502, { error: { reason: "billing_not_configured" } }]);
  });

  it("reports that a checkout was expired early, so that its team can be deleted", async () => {
    await using world = await createBillingWorld();
    const payer = await aPayer(world);
    const { sessionId } = await payer.owner.did(createTeamCheckout);
    const stripe = stripeClient(world.stripe.secretKey, world.stripe.url);

    await stripe.checkout.sessions.expire(sessionId);
    await world.stripe.delivered();

    expect((await accountNow(world, payer)).checkoutUrl).toBe(null);
    await payer.owner.did(deleteTeam, { teamId: payer.teamId });
  });

  it("may get lost: a team can be deleted even if its checkout was expired early", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const payer = await aPayer(world);
    const { sessionId } = await payer.owner.did(createTeamCheckout);
    await stripeClient(world.stripe.secretKey, world.stripe.url).checkout.sessions.expire(sessionId);

    await payer.owner.did(deleteTeam, { teamId: payer.teamId });
  });

  it("is processed once, however often it comes", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const payer = await aPayer(world);
    await payer.owner.did(createTeamCheckout);
    const payload = eventOf("evt_1", await customerOf(world, payer));
    await sendEvent(world, payload);
    const asked = listsAsked(world);

    const again = await manyAtOnce(() => sendEvent(world, payload));

    expect(new Set(again.map(({ status }) => status))).toEqual(new Set([200]));
    expect(listsAsked(world)).toBe(asked);
    const { rows } = await world.database.pool.query("SELECT id, processed_at IS NOT NULL AS done FROM payment_event");
    expect(rows).toEqual([{ id: "evt_1", done: true }]);
  });

  it("leads to the same state in any order, because the subscription is read again", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const payer = await aPayer(world, { seats: 6 });
    const { sessionId } = await payer.owner.did(createTeamCheckout);
    await world.stripe.pay(sessionId);
    const customer = await customerOf(world, payer);

    // The deletion comes before the creation: the content of events does not matter.
    for (const type of ["deleted", "updated", "created"]) {
      await sendEvent(world, eventOf(`evt_${type}`, customer, `customer.subscription.${type}`));
      expect(await accountNow(world, payer)).toMatchObject({ status: "active", seats: 6 });
    }
  });

  it("leaves every member a seat if the subscription was made smaller at the provider", async () => {
    await using world = await createBillingWorld();
    const payer = await aSubscriber(world, { seats: 6 });
    for (let joined = 0; joined < 3; joined++) await world.seat(await world.user(), payer.teamId);
    const { subscriptions } = stripeClient(world.stripe.secretKey, world.stripe.url);
    const { subscriptionId, itemId } = await accountNow(world, payer);

    const seen: number[] = [];
    for (const quantity of [5, 2, 4]) {
      await subscriptions.update(subscriptionId ?? "", { items: [{ id: itemId ?? "", quantity }] });
      await world.stripe.delivered();
      expect(await payer.owner.did(teamSubscription)).toMatchObject({ seats: quantity, memberCount: 4, stale: false });
      seen.push(await seatsOf(world, payer));
    }

    expect(seen).toEqual([5, 4, 4]);
    expect(world.bugs).toEqual([]);
  });

  it("is ignored when its customer belongs to another service", async () => {
    await using world = await createBillingWorld({ deaf: true });

    expect((await sendEvent(world, eventOf("evt_1", "cus_of_somebody_else"))).status).toBe(200);
    expect((await sendEvent(world, JSON.stringify({ id: "evt_2", type: "x", data: { object: {} } }))).status).toBe(200);
    expect(world.stripe.requests).toEqual([]);
  });

  it("gets 502 while the provider fails, and is processed when it comes again", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const payer = await aPayer(world);
    const { sessionId } = await payer.owner.did(createTeamCheckout);
    await world.stripe.pay(sessionId);
    const payload = eventOf("evt_1", await customerOf(world, payer));
    world.stripe.fail({ kind: "502-json", times: 10 });

    const failed = await sendEvent(world, payload);
    expect([failed.status, failed.body]).toMatchObject([502, { error: { code: "payment_provider_error" } }]);
    expect((await accountNow(world, payer)).status).toBe("none");
    world.stripe.clearFaults();
    expect((await sendEvent(world, eventOf("evt_2", "cus_x"))).status).toBe(200);
    expect((await sendEvent(world, payload)).status).toBe(200);
    expect((await accountNow(world, payer)).status).toBe("active");
    expect(world.bugs).toEqual([]);
  });

  it("gets 503 and when to come again while the database is busy or away", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const payer = await aPayer(world);
    await payer.owner.did(createTeamCheckout);
    const customer = await customerOf(world, payer);
    await world.breakConnections();

    const answers = await manyAtOnce((index) => sendEvent(world, eventOf(`evt_${index}`, customer)));

    for (const { status, headers, body } of answers) {
      expect([status, headers.get("retry-after"), body]).toMatchObject([503, "2", { error: { code: "unavailable" } }]);
    }
    expect(world.bugs).toEqual([]);
  });

  it("shares its refresh with all that come at the same time, so that a burst leaves the database room", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const payer = await aSubscriber(world, { seats: 6 });
    await payer.owner.did(teamSubscription);
    const customer = await customerOf(world, payer);
    using ear = listenTo(world);
    const apps = [await ear.serve(), await ear.serve()];
    const sendTo = (index: number, id: string) =>
      sendEvent({ ...world, app: apps[index % 2] ?? world.app }, eventOf(id, customer));
    // Slower than the database, so that all come while the first is being processed.
    world.stripe.fail({ kind: "slow", times: 100, delayMs: 200 });
    for (const index of [0, 1]) await sendTo(index, `evt_first_${index}`);
    const asked = listsAsked(world);
    ear.heard(/./);

    const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => sendTo(index, `evt_${index}`)));

    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    // Each server reads for its first events, and once more for all others.
    expect(listsAsked(world) - asked).toBeLessThanOrEqual(4);
    // Waiting for the lock costs each server one statement per attempt, not each event.
    const attempts = ear.heard(ASKS_FOR_LOCK).length;
    expect(attempts).toBeLessThan(50);
    expect(world.bugs).toEqual([]);
  });

  it("is processed after an earlier one that was read before the change", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const payer = await aPayer(world);
    const { sessionId } = await payer.owner.did(createTeamCheckout);
    const customer = await customerOf(world, payer);
    world.stripe.fail({ kind: "slow", times: 1_000, delayMs: 400 });
    const early = sendEvent(world, eventOf("evt_early", customer));
    await expect.poll(() => world.stripe.requests.at(-1)?.path, { interval: 5 }).toBe("/v1/subscriptions");
    await world.stripe.pay(sessionId);

    const late = await sendEvent(world, eventOf("evt_late", customer));

    expect((await accountNow(world, payer)).status).toBe("active");
    expect([late.status, (await early).status]).toEqual([200, 200]);
  });

  it("is processed though it shares the refresh of one that found a copy while it waited", async () => {
    await using world = await createBillingWorld({ deaf: true });
    const payer = await aPayer(world);
    const { sessionId } = await payer.owner.did(createTeamCheckout);
    const customer = await customerOf(world, payer);
    using ear = listenTo(world);
    const app = await ear.serve();
    const heard = (pattern: RegExp) => expect.poll(() => ear.heard(pattern).length, { interval: 5 }).toBeGreaterThan(0);
    const { release } = await holdLock(world, payer.teamId);
    const early = sendEvent({ ...world, app }, eventOf("evt_early", customer));
    await heard(ASKS_FOR_LOCK);
    // As if the holder of the lock had just read the subscription.
    await world.database.pool.query("UPDATE billing_account SET mirrored_at = clock_timestamp()");
    await world.stripe.pay(sessionId);
    const late = sendEvent({ ...world, app }, eventOf("evt_late", customer));
    await heard(/^SELECT .*"billing_account".*"customer_id" =/);

    await release();

    expect([(await early).status, (await late).status]).toEqual([200, 200]);
    expect((await accountNow(world, payer)).status).toBe("active");
  });

  it("gets 503 while others work for its team for too long, and is processed when it comes again", async () => {
    const serversPaymentWaits = { ...LIMITS.payments, changeMs: 2_000 };
    await using world = await createBillingWorld({ deaf: true, serversPaymentWaits });
    const payer = await aPayer(world);
    await payer.owner.did(createTeamCheckout);
    const payload = eventOf("evt_1", await customerOf(world, payer));
    const { release } = await holdLock(world, payer.teamId);

    expect((await sendEvent(world, payload)).status).toBe(503);
    await release();

    await expect.poll(async () => (await sendEvent(world, payload)).status).toBe(200);
  });

  it("comes from the stand-in twice and shuffled, and leads to the right state", async () => {
    await using world = await createBillingWorld();
    const payers = await Promise.all([3, 4, 5].map((seats) => aSubscriber(world, { seats })));
    for (const { owner } of payers) await owner.did(upgradeTeam, { maxMembers: 9 });
    await world.stripe.delivered();

    for (const payer of payers) expect(await seatsOf(world, payer)).toBe(9);
    const { rows } = await world.database.pool.query(
      "SELECT count(*)::int AS events, count(processed_at)::int AS processed FROM payment_event",
    );
    expect(rows[0]?.processed).toBe(rows[0]?.events);
    expect(rows[0]?.events).toBeGreaterThan(10);
    expect(world.bugs).toEqual([]);
  });
});

it("deletes events after a month, and requests with an outcome after three", async () => {
  // Without a server, whose own jobs would forget them, too.
  await using world = await createWorld();
  const { billingAccount, billingRequest, paymentEvent } = world.database.models;
  const eventSince = (days: number) => ({ type: "invoice.paid", receivedAt: new Date(Date.now() - days * 86_400_000) });
  await paymentEvent.createMany({
    data: [
      { id: "evt_old", ...eventSince(31) },
      { id: "evt_new", ...eventSince(29) },
    ],
  });
  const [teamId, newId] = [world.services.newId(), () => world.services.newId()];
  await billingAccount.create({ data: { teamId } });
  const asked = { teamId, kind: "expire", request: {} };
  const [old, done] = [{ createdAt: new Date(Date.now() - 91 * 86_400_000) }, { outcome: "done", endedAt: new Date() }];
  await billingRequest.createMany({
    data: [
      { ...asked, ...old, ...done, id: newId(), door: "old" },
      { ...asked, ...old, id: newId(), door: "open" },
      { ...asked, ...done, id: newId(), door: "new" },
    ],
  });

  using _one = withLimits("chores", { rows: 1 });
  expect(await forgetBilling(world)).toEqual(["forget payment events", "forget billing requests"]);
  await billingRequest.create({ data: { ...asked, ...old, ...done, id: newId(), door: "old" } });
  // Of the events, none is left to delete.
  expect(await forgetBilling(world)).toEqual(["forget billing requests"]);
  expect(await forgetBilling(world)).toEqual([]);

  expect((await billingRequest.findMany()).map(({ door }) => door).sort()).toEqual(["new", "open"]);
  expect((await paymentEvent.findMany()).map(({ id }) => id)).toEqual(["evt_new"]);
});
