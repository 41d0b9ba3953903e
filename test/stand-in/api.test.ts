import { Stripe } from "stripe";
import { expect, it } from "vitest";
import { clientOf, errorOf, openSession, startWorld, subscribe } from "./world.js";

const ask = (url: string, key: string, path: string, init: RequestInit = {}) =>
  fetch(`${url}${path}`, { ...init, headers: { authorization: `Bearer ${key}`, ...init.headers } });

it("refuses every key except its own", async () => {
  await using world = await startWorld();
  const { url, secretKey } = world.standIn;
  const stranger = new Stripe("sk_test_other", { host: "127.0.0.1", port: new URL(url).port, protocol: "http" });

  expect(await errorOf(stranger.customers.create())).toMatchObject({
    statusCode: 401,
    message: "Invalid API Key provided: sk_test_***",
  });
  expect((await fetch(`${url}/v1/prices`)).status).toBe(401);
  const basic = { authorization: `Basic ${Buffer.from(`${secretKey}:`).toString("base64")}` };
  expect((await fetch(`${url}/v1/prices`, { headers: basic })).status).toBe(200);
});

it("answers with the request's id and the requested version, and keeps the request", async () => {
  await using world = await startWorld();
  const { url, secretKey, requests } = world.standIn;

  const answer = await ask(url, secretKey, "/v1/prices?limit=1", { headers: { "stripe-version": "2020-08-27" } });

  expect(answer.headers.get("request-id")).toMatch(/^req_/);
  expect(answer.headers.get("stripe-version")).toBe("2020-08-27");
  await world.stripe.prices.list();
  expect(requests).toMatchObject([
    { method: "GET", path: "/v1/prices", params: { limit: "1" }, stripeVersion: "2020-08-27" },
    { path: "/v1/prices", stripeVersion: Stripe.API_VERSION, status: 200, replayed: false },
  ]);
});

it.each([
  ["GET", "/v1/nothing", "", 404, "invalid_request_error", undefined, undefined],
  ["GET", "/v1/customers/cus_0", "", 404, "invalid_request_error", "resource_missing", "id"],
  ["POST", "/v1/customers", "colour=red", 400, "invalid_request_error", "parameter_unknown", "colour"],
  ["POST", "/v1/customers", "metadata=1", 400, "invalid_request_error", undefined, "metadata"],
  ["POST", "/v1/customers", "metadata[__proto__][a]=b", 400, undefined, undefined, "metadata[__proto__][a]"],
  ["POST", "/v1/customers", "email[a]=b", 400, "invalid_request_error", undefined, "email"],
  ["POST", "/v1/subscriptions", "customer=cus_0", 400, "invalid_request_error", "parameter_missing", "items"],
  [
    "POST",
    "/v1/subscriptions",
    "customer=cus_0&items[0][price]=price_0",
    400,
    "invalid_request_error",
    "resource_missing",
    "customer",
  ],
  ["POST", "/v1/subscriptions", "customer=cus_0&items[0][hue]=1", 400, undefined, "parameter_unknown", "items[0][hue]"],
  ["GET", "/v1/subscriptions?status=sleeping", "", 400, "invalid_request_error", undefined, "status"],
  ["GET", "/v1/subscriptions?limit=1000", "", 400, "invalid_request_error", undefined, "limit"],
  ["GET", "/v1/subscriptions?limit=x", "", 400, "invalid_request_error", "parameter_invalid_integer", "limit"],
  ["GET", "/v1/subscriptions?starting_after=sub_0", "", 400, undefined, "resource_missing", "starting_after"],
  ["POST", "/v1/checkout/sessions", "mode=payment", 400, undefined, undefined, "mode"],
  ["POST", "/v1/checkout/sessions", "", 400, undefined, "parameter_missing", "mode"],
  ["POST", "/v1/webhook_endpoints", "url=there", 400, undefined, "url_invalid", "url"],
])("refuses %s %s %s with %i", async (method, path, body, status, type, code, param) => {
  await using world = await startWorld();
  const { url, secretKey } = world.standIn;

  const answer = await ask(url, secretKey, path, { method, ...(method === "POST" && { body }) });

  expect(answer.status).toBe(status);
  const { error } = (await answer.json()) as { error: Record<string, unknown> };
  expect(error["message"]).toBeTypeOf("string");
  if (type !== undefined) expect(error["type"]).toBe(type);
  expect({ code: error["code"], param: error["param"] }).toEqual({ code, param });
});

it("keeps customers and their changes", async () => {
  await using world = await startWorld();
  const { customers } = world.stripe;
  const made = await customers.create({ email: "ann@example.com", metadata: { team: "1", user: "2" } });

  await customers.update(made.id, { name: "Ann", metadata: { team: "" } });

  expect(await customers.retrieve(made.id)).toMatchObject({
    email: "ann@example.com",
    name: "Ann",
    metadata: { user: "2" },
  });
  await customers.del(made.id);
  expect(await errorOf(customers.update(made.id, { name: "Bob" }))).toMatchObject({ code: "resource_missing" });
});

it("keeps products and prices, and moves a lookup key only if requested", async () => {
  await using world = await startWorld();
  const { products, prices } = world.stripe;
  const product = await products.create({ id: "seat", name: "Seat of a team" });
  const price = { product: product.id, currency: "usd", unit_amount: 1_200, recurring: { interval: "month" } } as const;
  const first = await prices.create({ ...price, lookup_key: "seat_monthly" });

  const refused = await errorOf(prices.create({ ...price, lookup_key: "seat_monthly" }));
  const second = await prices.create({ ...price, lookup_key: "seat_monthly", transfer_lookup_key: true });

  expect(refused).toMatchObject({ statusCode: 400, code: "resource_already_exists", param: "lookup_key" });
  expect(await products.retrieve("seat")).toMatchObject({ id: "seat", name: "Seat of a team" });
  const found = await prices.list({ lookup_keys: ["seat_monthly"], active: true });
  expect(found.data.map(({ id }) => id)).toEqual([second.id]);
  expect((await prices.retrieve(first.id)).lookup_key).toBeNull();
  expect(second.unit_amount_decimal?.toString()).toBe("1200");
});

it("returns lists in pages, newest first", async () => {
  await using world = await startWorld();
  const { customers } = world.stripe;
  const made: string[] = [];
  for (let each = 0; each < 5; each++) made.push((await customers.create()).id);

  const first = await customers.list({ limit: 2 });
  const all = await customers.list({ limit: 2 }).autoPagingToArray({ limit: 100 });

  expect(first).toMatchObject({ has_more: true, data: [{ id: made[4] }, { id: made[3] }] });
  expect(all.map(({ id }) => id)).toEqual(made.toReversed());
});

it("returns whole objects for expanded fields, and refuses fields that cannot be expanded", async () => {
  await using world = await startWorld();
  const { customer, session, subscription } = await subscribe(world);
  const { stripe } = world;

  const list = await stripe.subscriptions.list({
    customer: customer.id,
    expand: ["data.latest_invoice", "data.customer"],
  });
  const one = await stripe.subscriptions.retrieve(subscription.id, { expand: ["items.data.price.product"] });
  const seen = await stripe.checkout.sessions.retrieve(session.id, { expand: ["line_items", "subscription"] });

  expect(list.data[0]).toMatchObject({
    latest_invoice: { object: "invoice", status: "paid" },
    customer: { object: "customer", email: "ann@example.com" },
  });
  expect(one).toMatchObject({ items: { data: [{ price: { product: { object: "product", name: "Seat" } } }] } });
  expect(seen).toMatchObject({ subscription: { id: subscription.id }, line_items: { data: [{ quantity: 3 }] } });
  expect(await errorOf(stripe.subscriptions.retrieve(subscription.id, { expand: ["latest"] }))).toMatchObject({
    statusCode: 400,
    message: "This property cannot be expanded (latest).",
  });
  const tooDeep = stripe.subscriptions.list({ expand: ["data.items.data.price.product"] });
  expect(await errorOf(tooDeep)).toMatchObject({ statusCode: 400, param: "expand" });
});

it("finds sessions by customer and status", async () => {
  await using world = await startWorld();
  const { customer, session } = await subscribe(world);
  const open = await openSession(world);
  const { sessions } = world.stripe.checkout;

  const idsOf = async (query: Stripe.Checkout.SessionListParams) =>
    (await sessions.list(query)).data.map(({ id }) => id);

  expect(await idsOf({})).toEqual([open.session.id, session.id]);
  expect(await idsOf({ status: "open" })).toEqual([open.session.id]);
  expect(await idsOf({ customer: customer.id })).toEqual([session.id]);
});

it("finds invoices by customer, subscription and status", async () => {
  await using world = await startWorld();
  const { customer, subscription } = await subscribe(world);
  const { invoices } = world.stripe;

  const { data } = await invoices.list({ customer: customer.id, subscription: subscription.id, status: "paid" });

  expect(data).toMatchObject([{ id: subscription.latest_invoice, total: 2_400, amount_paid: 2_400 }]);
  expect((await invoices.list({ status: "open" })).data).toEqual([]);
});

it("creates a second subscription for a customer who has one", async () => {
  await using world = await startWorld();
  const { customer } = await subscribe(world);
  const items = [{ price: world.standIn.priceId, quantity: 1 }];

  await world.stripe.subscriptions.create({ customer: customer.id, items, metadata: { team: "1" } });

  const { data } = await world.stripe.subscriptions.list({ customer: customer.id });
  expect(data.map(({ status }) => status)).toEqual(["active", "active"]);
});

it("sees the SDK retry a lost connection, as the service configures it", async () => {
  await using world = await startWorld();
  world.standIn.fail({ kind: "cut-before", times: 1 });

  await clientOf(world.standIn, { maxNetworkRetries: 1 }).customers.create();

  expect(world.standIn.requests.map(({ status }) => status)).toEqual([undefined, 200]);
});
