import type { Stripe } from "stripe";
import { expect, it } from "vitest";
import { type World, onlyItem, openSession, startWorld, subscribe, upgrade } from "./world.js";

const DAY_MS = 24 * 3_600_000;

const typesOf = (events: readonly Stripe.Event[]) => events.map(({ type }) => type);

/** The events received during `act`, each once, in the order of creation. */
async function newsOf({ standIn, received }: World, act: () => Promise<unknown>): Promise<readonly Stripe.Event[]> {
  await standIn.delivered();
  const before = received.length;
  await act();
  await standIn.delivered();
  return received.slice(before).map((each) => each.event());
}

it("sends the events of a purchase, signed for a receiver with another clock", async () => {
  await using world = await startWorld({ delivery: "once" });
  await world.standIn.advance(400 * DAY_MS);
  const { session } = await openSession(world);

  const news = await newsOf(world, () => world.standIn.pay(session.id));

  expect(typesOf(news)).toEqual([
    "customer.subscription.created",
    "invoice.created",
    "invoice.finalized",
    "invoice.paid",
    "invoice.payment_succeeded",
    "checkout.session.completed",
  ]);
  const completed = news.at(-1);
  expect(completed?.data.object).toMatchObject({
    id: session.id,
    status: "complete",
    payment_status: "paid",
    metadata: { team: "1" },
    client_reference_id: "team-1",
  });
  // No request caused it; it happened by the stand-in's clock.
  expect(completed?.request).toEqual({ id: null, idempotency_key: null });
  expect((completed?.created ?? 0) * 1_000 - Date.now()).toBeGreaterThan(399 * DAY_MS);
});

it("delivers each event twice and out of order, with the same content", async () => {
  await using world = await startWorld();
  const sessions = await Promise.all(Array.from({ length: 8 }, () => openSession(world)));
  const news = await newsOf(world, () => Promise.all(sessions.map(({ session }) => world.standIn.pay(session.id))));

  const arrived = [...new Set(news.map(({ id }) => id))];
  expect(arrived).toHaveLength(48);
  for (const id of arrived) {
    // Only the number of pending deliveries differs at each delivery.
    const [one, ...others] = news
      .filter((event) => event.id === id)
      .map((event) => ({ ...event, pending_webhooks: 0 }));
    expect(others).toEqual([one]);
  }
  const happened = (await world.stripe.events.list({ limit: 48 })).data.map(({ id }) => id).toReversed();
  expect(arrived.toSorted()).toEqual(happened.toSorted());
  // A larger disorder than several connections at once would cause.
  const moves = arrived.map((id, place) => Math.abs(happened.indexOf(id) - place));
  expect(Math.max(...moves)).toBeGreaterThan(8);
});

it("says which request caused an event", async () => {
  await using world = await startWorld({ delivery: "once" });

  const made: Stripe.Response<Stripe.Customer>[] = [];
  const news = await newsOf(world, async () =>
    made.push(await world.stripe.customers.create({}, { idempotencyKey: "k" })),
  );

  expect(news).toMatchObject([
    { type: "customer.created", request: { id: made[0]?.lastResponse.requestId, idempotency_key: "k" } },
  ]);
});

it("reports a pending update, and the values before it", async () => {
  await using world = await startWorld({ delivery: "once" });
  const { customer, subscription } = await subscribe(world, 3);
  world.standIn.setCard(customer.id, "declined");

  const asked = await newsOf(world, () => upgrade(world, subscription, 5));
  const latest = String((await world.stripe.subscriptions.retrieve(subscription.id)).latest_invoice);
  const paid = await newsOf(world, () => world.standIn.payInvoice(latest));

  expect(typesOf(asked)).toEqual([
    "customer.subscription.updated",
    "invoice.created",
    "invoice.finalized",
    "invoice.payment_failed",
  ]);
  expect(asked[0]?.data.previous_attributes).toEqual({
    latest_invoice: subscription.latest_invoice,
    pending_update: null,
  });
  expect(typesOf(paid)).toEqual([
    "invoice.paid",
    "invoice.payment_succeeded",
    "customer.subscription.updated",
    "customer.subscription.pending_update_applied",
  ]);
  expect(paid[2]?.data.previous_attributes).toMatchObject({
    items: { data: [{ id: onlyItem(subscription).id, quantity: 3 }] },
  });
});

it("reports an update that was not paid in time, and a session that was not used", async () => {
  await using world = await startWorld({ delivery: "once" });
  const { customer, subscription } = await subscribe(world, 3);
  await openSession(world);
  world.standIn.setCard(customer.id, "declined");
  await upgrade(world, subscription, 5);

  const news = await newsOf(world, () => world.standIn.advance(DAY_MS));

  expect(typesOf(news)).toEqual([
    "invoice.voided",
    "customer.subscription.updated",
    "customer.subscription.pending_update_expired",
    "checkout.session.expired",
  ]);
});

it("reports renewals, and the end", async () => {
  await using world = await startWorld({ delivery: "once" });
  const { subscription } = await subscribe(world, 3);
  const { stripe, standIn } = world;

  const renewed = await newsOf(world, () => standIn.advance(31 * DAY_MS));
  await stripe.subscriptions.update(subscription.id, { cancel_at_period_end: true });
  const ended = await newsOf(world, () => standIn.advance(31 * DAY_MS));

  expect(typesOf(renewed)).toEqual([
    "customer.subscription.updated",
    "invoice.created",
    "invoice.finalized",
    "invoice.paid",
    "invoice.payment_succeeded",
  ]);
  expect(typesOf(ended)).toEqual(["customer.subscription.deleted"]);
  expect(ended[0]?.data.object).toMatchObject({ id: subscription.id, status: "canceled" });
});

it("delivers an event again until it is accepted, and gives up after ten attempts", async () => {
  await using world = await startWorld({ delivery: "once" });
  world.answerEventsBy(500);
  await world.stripe.customers.create();
  await expect.poll(() => world.received.length).toBeGreaterThan(2);
  const { data } = await world.stripe.events.list({ type: "customer.created" });
  expect(data).toMatchObject([{ pending_webhooks: 1 }]);
  const refused = world.received.length;
  world.answerEventsBy(200);
  await world.standIn.delivered();
  expect(world.received).toHaveLength(refused + 1);

  world.answerEventsBy(400);
  await world.stripe.customers.create();
  await world.standIn.delivered();

  expect(world.received).toHaveLength(refused + 1 + 10);
});

it("sends an endpoint created through the API only the requested events, signed with its secret", async () => {
  await using world = await startWorld({ delivery: "once" });
  const { stripe, received, webhookUrl } = world;
  const made = await stripe.webhookEndpoints.create({ url: `${webhookUrl}/2`, enabled_events: ["customer.updated"] });
  const customer = await stripe.customers.create();

  await stripe.customers.update(customer.id, { name: "Ann" });
  await world.standIn.delivered();

  expect((await stripe.webhookEndpoints.list()).data[0]?.secret).toBeUndefined();
  const [own, ...others] = received.filter(({ body, headers }) => {
    const signature = headers["stripe-signature"] ?? "";
    try {
      return stripe.webhooks.constructEvent(body, signature, made.secret ?? "");
    } catch {
      return false;
    }
  });
  expect(others).toEqual([]);
  expect(JSON.parse(own?.body ?? "")).toMatchObject({
    type: "customer.updated",
    data: { object: { name: "Ann" }, previous_attributes: { name: null } },
  });
  await stripe.webhookEndpoints.del(made.id);
  await stripe.customers.update(customer.id, { name: "Ann B." });
  await world.standIn.delivered();
  expect(received.map(({ body }) => (JSON.parse(body) as Stripe.Event).type)).toEqual([
    "customer.created",
    "customer.updated",
    "customer.updated",
    "customer.updated",
  ]);
});

it("changes an endpoint, and lists all of them", async () => {
  await using world = await startWorld();
  const { webhookEndpoints } = world.stripe;
  const made = await webhookEndpoints.create({ url: "http://127.0.0.1:9/a", enabled_events: ["*"] });

  await webhookEndpoints.update(made.id, { disabled: true, url: "http://127.0.0.1:9/b" });

  const { data } = await webhookEndpoints.list();
  expect(data).toMatchObject([
    { id: made.id, status: "disabled", url: "http://127.0.0.1:9/b" },
    { url: world.webhookUrl, enabled_events: ["*"] },
  ]);
});

it("signs with the new secret when an address is given another secret", async () => {
  await using world = await startWorld({ delivery: "once" });
  world.standIn.sendEventsTo(world.webhookUrl, "whsec_another");

  await world.stripe.customers.create();
  await world.standIn.delivered();

  expect(world.received).toHaveLength(1);
  expect(() => world.received[0]?.event()).toThrow("No signatures found matching the expected signature");
});

it("stops sending events to an address when told so, also those that already wait", async () => {
  await using world = await startWorld({ delivery: "once" });
  let answer = (_status: number): void => {};
  world.answerEventsBy(new Promise((resolve) => void (answer = resolve)));
  await world.stripe.customers.create();
  await expect.poll(() => world.received.length).toBe(1);
  // Waits until the event before it is answered.
  await world.stripe.customers.create();

  expect(world.standIn.sendNoEventsTo(world.webhookUrl)).toBe(true);
  expect(world.standIn.sendNoEventsTo(world.webhookUrl)).toBe(false);
  await world.stripe.customers.create();
  answer(200);
  await world.standIn.delivered();

  expect(world.received).toHaveLength(1);
});

it("lists events by type", async () => {
  await using world = await startWorld();
  const { session } = await openSession(world);
  await world.standIn.pay(session.id);

  const { data } = await world.stripe.events.list({ type: "checkout.session.completed" });

  expect(data).toMatchObject([{ type: "checkout.session.completed", data: { object: { id: session.id } } }]);
});

it("forgets old events, but none with a pending delivery", async () => {
  await using world = await startWorld({ delivery: "once" });
  for (let each = 0; each < 4; each++) await subscribe(world);

  const news = await newsOf(world, () => world.standIn.advance(4.5 * 365 * DAY_MS));
  await world.stripe.customers.create();

  expect(news.length).toBeGreaterThan(1_050);
  const kept = await world.stripe.events.list({ limit: 100 }).autoPagingToArray({ limit: 10_000 });
  expect(kept).toHaveLength(1_000);
});
