import { Stripe } from "stripe";
import { expect, it } from "vitest";
import type { Fault } from "../../src/stand-in/stripe/index.js";
import { type World, clientOf, errorOf, startWorld } from "./world.js";

const create = ({ stripe }: World) => stripe.customers.create({ email: "ann@example.com" }, { idempotencyKey: "k" });
const madeIn = async ({ stripe }: World) => (await stripe.customers.list()).data.length;

it("hang: never answers, and has done nothing", async () => {
  await using world = await startWorld();
  world.standIn.fail({ kind: "hang" });
  const hasty = clientOf(world.standIn, { timeout: 200 });

  expect(await errorOf(hasty.customers.create())).toBeInstanceOf(Stripe.errors.StripeConnectionError);

  expect(await madeIn(world)).toBe(0);
});

it("slow: answers late, but makes the change at once", async () => {
  await using world = await startWorld();
  world.standIn.fail({ kind: "slow", delayMs: 250 });
  const start = performance.now();
  const slow = create(world);
  await expect.poll(() => world.standIn.requests.length).toBe(1);

  expect(await madeIn(world)).toBe(1);
  await slow;
  expect(performance.now() - start).toBeGreaterThan(240);
});

// The SDK retries once when a connection is closed, even if retries are switched off.
it("cut-before: closes the connection without the change", async () => {
  await using world = await startWorld();
  world.standIn.fail({ kind: "cut-before", times: 2 });

  expect(await errorOf(create(world))).toBeInstanceOf(Stripe.errors.StripeConnectionError);

  expect(world.standIn.requests.map(({ status }) => status)).toEqual([undefined, undefined]);
  expect(await madeIn(world)).toBe(0);
});

it("cut-after: closes the connection after the change, which the same key shows", async () => {
  await using world = await startWorld();
  world.standIn.fail({ kind: "cut-after", times: 2 });

  expect(await errorOf(create(world))).toBeInstanceOf(Stripe.errors.StripeConnectionError);

  expect(await madeIn(world)).toBe(1);
  const again = await create(world);
  expect(again.lastResponse.headers["idempotent-replayed"]).toBe("true");
  expect(await madeIn(world)).toBe(1);
});

it("500: is kept under the key, so a retry does not help", async () => {
  await using world = await startWorld();
  world.standIn.fail({ kind: "500" });

  const first = await errorOf(create(world));
  const again = await errorOf(create(world));

  expect(first).toMatchObject({ statusCode: 500, rawType: "api_error" });
  expect(again).toMatchObject({ statusCode: 500, headers: { "idempotent-replayed": "true" } });
  expect(await madeIn(world)).toBe(0);
  await world.stripe.customers.create({}, { idempotencyKey: "another" });
  expect(await madeIn(world)).toBe(1);
});

const REFUSALS: readonly [Fault["kind"], object][] = [
  ["429", { statusCode: 429, type: "StripeRateLimitError", code: "rate_limit" }],
  ["429-lock", { statusCode: 429, type: "StripeRateLimitError", code: "lock_timeout" }],
  ["400", { statusCode: 400, type: "StripeInvalidRequestError" }],
];

it.each(REFUSALS)("%s: refuses, and keeps nothing under the key", async (kind, shape) => {
  await using world = await startWorld();
  world.standIn.fail({ kind });

  expect(await errorOf(create(world))).toMatchObject(shape);

  expect(await madeIn(world)).toBe(0);
  expect((await create(world)).email).toBe("ann@example.com");
});

it("502-html: is not JSON", async () => {
  await using world = await startWorld();
  world.standIn.fail({ kind: "502-html" });

  expect(await errorOf(create(world))).toBeInstanceOf(Stripe.errors.StripeAPIError);
});

it("502-json: is JSON without an error, which the SDK takes as a result", async () => {
  await using world = await startWorld();
  world.standIn.fail({ kind: "502-json" });

  const answer = await create(world);

  expect(answer.lastResponse.statusCode).toBe(502);
  expect(answer.object).toBeUndefined();
  expect(await madeIn(world)).toBe(0);
});

it("fails only matching requests, the given number of times or until it is told to stop", async () => {
  await using world = await startWorld();
  const { stripe, standIn } = world;
  standIn.fail({ kind: "400", method: "POST", path: /^\/v1\/products$/, times: 2 });

  await stripe.customers.create();
  expect(await errorOf(stripe.products.create({ name: "Seat" }))).toMatchObject({ statusCode: 400 });
  expect(await errorOf(stripe.products.create({ name: "Seat" }))).toMatchObject({ statusCode: 400 });
  await stripe.products.create({ name: "Seat" });
  standIn.fail({ kind: "429", times: 100 });
  standIn.clearFaults();
  await stripe.products.create({ name: "Seat" });
});
