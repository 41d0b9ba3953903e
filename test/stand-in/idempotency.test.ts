import { expect, it } from "vitest";
import { errorOf, openSession, startWorld, subscribe } from "./world.js";

const DAY_MS = 24 * 3_600_000;

it("gives the same answer to the same request with the same key, and does it once", async () => {
  await using world = await startWorld();
  const { customers } = world.stripe;

  const first = await customers.create(
    { email: "ann@example.com", metadata: { a: "1", b: "2" } },
    { idempotencyKey: "k" },
  );
  const again = await customers.create(
    { metadata: { b: "2", a: "1" }, email: "ann@example.com" },
    { idempotencyKey: "k" },
  );

  expect(again).toEqual(first);
  expect(again.lastResponse.headers["idempotent-replayed"]).toBe("true");
  expect(again.lastResponse.headers["original-request"]).toBe(first.lastResponse.requestId);
  expect(first.lastResponse.headers).not.toHaveProperty("idempotent-replayed");
  expect((await customers.list()).data).toHaveLength(1);
  expect(world.standIn.requests.map(({ replayed }) => replayed)).toEqual([false, true, false]);
});

it("refuses a key that was used with other parameters, or for another endpoint", async () => {
  await using world = await startWorld();
  const { stripe } = world;
  const made = await stripe.customers.create({ email: "ann@example.com" }, { idempotencyKey: "k" });

  const refusals = [
    await errorOf(stripe.customers.create({ email: "bob@example.com" }, { idempotencyKey: "k" })),
    await errorOf(stripe.customers.update(made.id, { email: "ann@example.com" }, { idempotencyKey: "k" })),
  ];

  for (const refusal of refusals) {
    expect(refusal).toMatchObject({ statusCode: 400, rawType: "idempotency_error", type: "StripeIdempotencyError" });
  }
  expect((await stripe.customers.retrieve(made.id)).lastResponse.statusCode).toBe(200);
});

it("refuses a key while its request is running, and returns its answer afterwards", async () => {
  await using world = await startWorld();
  const { customers } = world.stripe;
  world.standIn.fail({ kind: "slow", delayMs: 2_000 });
  const slow = customers.create({ email: "ann@example.com" }, { idempotencyKey: "k" });
  await expect.poll(() => world.standIn.requests.length).toBe(1);

  const meanwhile = await errorOf(customers.create({ email: "ann@example.com" }, { idempotencyKey: "k" }));

  expect(meanwhile).toMatchObject({ statusCode: 409, code: "idempotency_key_in_use", rawType: "idempotency_error" });
  const first = await slow;
  expect((await customers.create({ email: "ann@example.com" }, { idempotencyKey: "k" })).id).toBe(first.id);
});

it("refuses a key of more than 255 characters", async () => {
  await using world = await startWorld();
  const { customers } = world.stripe;

  expect(await errorOf(customers.create({}, { idempotencyKey: "k".repeat(256) }))).toMatchObject({ statusCode: 400 });
  expect((await customers.create({}, { idempotencyKey: "k".repeat(255) })).lastResponse.statusCode).toBe(200);
});

it("forgets a key after a day", async () => {
  await using world = await startWorld();
  const { customers } = world.stripe;
  const first = await customers.create({}, { idempotencyKey: "k" });

  await world.standIn.advance(DAY_MS - 60_000);
  const late = await customers.create({}, { idempotencyKey: "k" });
  await world.standIn.advance(60_000);
  const tooLate = await customers.create({}, { idempotencyKey: "k" });

  expect(late.id).toBe(first.id);
  expect(tooLate.id).not.toBe(first.id);
});

it("keeps no refusal of wrong parameters, so that the key can be used again", async () => {
  await using world = await startWorld();
  const { customers } = world.stripe;
  const wrong = { email: "ann@example.com", colour: "red" };

  const refused = await errorOf(customers.create(wrong, { idempotencyKey: "k" }));

  expect(refused).toMatchObject({ statusCode: 400, code: "parameter_unknown" });
  const made = await customers.create({ email: "ann@example.com" }, { idempotencyKey: "k" });
  expect(made.lastResponse.headers).not.toHaveProperty("idempotent-replayed");
});

it("keeps a not-found answer, even if the object exists by then", async () => {
  await using world = await startWorld();
  const { products, prices } = world.stripe;
  const price = { product: "seat", currency: "usd", unit_amount: 1, recurring: { interval: "month" } } as const;
  const refused = await errorOf(prices.create(price, { idempotencyKey: "k" }));
  await products.create({ id: "seat", name: "Seat" });

  const again = await errorOf(prices.create(price, { idempotencyKey: "k" }));

  expect(refused).toMatchObject({ statusCode: 400, code: "resource_missing", param: "product" });
  expect(again).toMatchObject({
    statusCode: 400,
    code: "resource_missing",
    headers: { "idempotent-replayed": "true" },
  });
});

it("ignores a key on requests other than POST", async () => {
  await using world = await startWorld();
  const { subscription } = await subscribe(world);
  const { subscriptions } = world.stripe;
  await subscriptions.cancel(subscription.id, {}, { idempotencyKey: "k" });

  const again = await errorOf(subscriptions.cancel(subscription.id, {}, { idempotencyKey: "k" }));

  expect(again).toMatchObject({ statusCode: 404, code: "resource_missing" });
});

it("runs one of 20 simultaneous requests with the same key", async () => {
  await using world = await startWorld();
  const { customer } = await openSession(world);
  const body = { customer: customer.id, items: [{ price: world.standIn.priceId }] };

  const made = await Promise.all(
    Array.from({ length: 20 }, () => world.stripe.subscriptions.create(body, { idempotencyKey: "k" })),
  );

  expect(new Set(made.map(({ id }) => id)).size).toBe(1);
  expect((await world.stripe.subscriptions.list({ customer: customer.id })).data).toHaveLength(1);
});
