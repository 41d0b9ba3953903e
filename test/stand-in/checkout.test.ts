import type Stripe from "stripe";
import { expect, it } from "vitest";
import { errorOf, onlySubscription, openSession, quantityOf, startWorld, upgrade, whole } from "./world.js";

const HOUR_MS = 3_600_000;

const press = (address: string) => fetch(address, { method: "POST", redirect: "manual" });

it("shows what is bought at which price, and how to pay, decline and go back", async () => {
  await using world = await startWorld();
  const { session } = await openSession(world, 3);

  const page = await (await fetch(session.url ?? "")).text();

  expect(page).toContain("3 × Seat");
  expect(page).toContain("$24.00");
  expect(page).toContain(`<form method="post" action="/checkout/${session.id}/pay">`);
  expect(page).toContain(`<form method="post" action="/checkout/${session.id}/decline">`);
  expect(page).toContain('href="https://service.example/back"');
  expect(page).not.toContain("<script");
});

it.each([
  ["jpy", 800, "¥800"],
  ["huf", 300_000, "HUF 3,000.00"],
  ["isk", 80_000, "ISK 800.00"],
])("shows prices in %s by Stripe's unit of it", async (currency, amount, shown) => {
  await using world = await startWorld();
  const { checkout, prices, products } = world.stripe;
  const { id: product } = await products.create({ name: "Seat" });
  const { id: price } = await prices.create({
    product,
    currency,
    unit_amount: amount,
    recurring: { interval: "month" },
  });
  const { url } = await checkout.sessions.create({
    mode: "subscription",
    line_items: [{ price, quantity: 1 }],
    success_url: "https://service.example/done",
  });

  const page = await (await fetch(url ?? "")).text();

  expect(page.replaceAll("\u00A0", " ")).toContain(`1 × Seat, ${shown} each`);
});

it("creates the subscription when Pay is pressed, and redirects to the session's URL", async () => {
  await using world = await startWorld();
  const { customer, session } = await openSession(world, 3);

  const answer = await press(`${session.url}/pay`);

  expect(answer.status).toBe(303);
  expect(answer.headers.get("location")).toBe(`https://service.example/done?session=${session.id}`);
  const subscription = await onlySubscription(world, customer.id);
  expect(subscription).toMatchObject({ status: "active", metadata: { team: "1" } });
  expect(quantityOf(subscription)).toBe(3);
  const done = await world.stripe.checkout.sessions.retrieve(session.id, { expand: ["invoice"] });
  expect(done).toMatchObject({ status: "complete", payment_status: "paid", subscription: subscription.id, url: null });
  expect(whole(done.invoice)).toMatchObject({ status: "paid", total: 2_400, id: subscription.latest_invoice });
  expect(await (await fetch(session.url ?? "")).text()).toContain("This session is paid.");
});

it("charges nothing during a trial, and more seats do not end it", async () => {
  await using world = await startWorld();
  const open = await world.stripe.checkout.sessions.create({
    mode: "subscription",
    line_items: [{ price: world.standIn.priceId, quantity: 3 }],
    subscription_data: { trial_period_days: 14 },
    success_url: "https://service.example/done",
  });

  await world.standIn.pay(open.id);

  const done = await world.stripe.checkout.sessions.retrieve(open.id, { expand: ["subscription", "invoice"] });
  expect(done).toMatchObject({ payment_status: "no_payment_required", amount_total: 0, invoice: { total: 0 } });
  expect(whole(done.subscription)).toMatchObject({ status: "trialing" });
  const more = await upgrade(world, whole(done.subscription), 4);
  expect([more.status, whole(more.latest_invoice).total]).toEqual(["trialing", 0]);
});

it("creates one subscription for 20 presses at once", async () => {
  await using world = await startWorld();
  const { customer, session } = await openSession(world);

  const answers = await Promise.all(Array.from({ length: 20 }, () => press(`${session.url}/pay`)));

  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 303));
  await onlySubscription(world, customer.id);
});

it("leaves the session open when the card is declined", async () => {
  await using world = await startWorld();
  const { customer, session } = await openSession(world);

  const answer = await press(`${session.url}/decline`);

  expect(answer.status).toBe(402);
  expect(await answer.text()).toContain("Your card was declined.");
  expect((await world.stripe.checkout.sessions.retrieve(session.id)).status).toBe("open");
  expect((await world.stripe.subscriptions.list({ customer: customer.id, status: "all" })).data).toEqual([]);
  expect((await press(`${session.url}/pay`)).status).toBe(303);
});

it("expires a session after a day, or on request; then nothing can be bought there", async () => {
  await using world = await startWorld();
  const [ended, old] = [await openSession(world), await openSession(world)];
  const { sessions } = world.stripe.checkout;

  expect((await sessions.expire(ended.session.id)).status).toBe("expired");
  await world.standIn.advance(24 * HOUR_MS);

  expect((await sessions.retrieve(old.session.id)).status).toBe("expired");
  for (const { session } of [ended, old]) {
    expect(await (await fetch(session.url ?? "")).text()).toContain("This session has expired.");
    expect((await press(`${session.url}/pay`)).status).toBe(400);
    await expect(world.standIn.pay(session.id)).rejects.toThrow("This Session is expired");
    expect(await errorOf(sessions.expire(session.id))).toMatchObject({ statusCode: 400 });
  }
});

it("creates a customer if the session has none yet", async () => {
  await using world = await startWorld();
  const { sessions } = world.stripe.checkout;
  const { id } = await sessions.create({
    mode: "subscription",
    customer_email: "bob@example.com",
    line_items: [{ price: world.standIn.priceId, quantity: 1 }],
    success_url: "https://service.example/done",
  });

  await world.standIn.pay(id);

  const { customer } = await sessions.retrieve(id, { expand: ["customer"] });
  expect(customer).toMatchObject({ object: "customer", email: "bob@example.com" });
});

it("takes promotion codes and VAT ids only where the checkout offers them; a code lowers every invoice", async () => {
  await using world = await startWorld();
  const { sessions } = world.stripe.checkout;
  const session: Stripe.Checkout.SessionCreateParams = {
    mode: "subscription",
    line_items: [{ price: world.standIn.priceId, quantity: 2 }],
    success_url: "https://service.example/done",
  };
  const offered = await sessions.create({
    ...session,
    allow_promotion_codes: true,
    tax_id_collection: { enabled: true },
  });
  const plain = await sessions.create(session);
  const payAt = (url: string | null, code: string) =>
    fetch(`${url}/pay`, { method: "POST", body: new URLSearchParams({ code, tax_id: "DE1" }), redirect: "manual" });

  expect(await (await fetch(offered.url ?? "")).text()).toContain('name="code"');
  expect(await (await fetch(plain.url ?? "")).text()).not.toContain('name="code"');
  const statuses = [
    await payAt(offered.url, "FREE"),
    await payAt(plain.url, "SAVE25"),
    await payAt(offered.url, "SAVE25"),
  ];

  expect(statuses.map(({ status }) => status)).toEqual([400, 400, 303]);
  const paid = await sessions.retrieve(offered.id, { expand: ["invoice", "subscription"] });
  expect(paid).toMatchObject({
    amount_subtotal: 1_600,
    amount_total: 1_200,
    total_details: { amount_discount: 400 },
    customer_details: { tax_ids: [{ type: "eu_vat", value: "DE1" }] },
    subscription: { discounts: ["di_standin"] },
    invoice: { subtotal: 1_600, total: 1_200, amount_paid: 1_200, total_discount_amounts: [{ amount: 400 }] },
  });
  expect((await sessions.retrieve(plain.id)).status).toBe("open");
  const { latest_invoice: more } = await upgrade(world, whole(paid.subscription), 4);
  expect(whole(more)).toMatchObject({ total: 1_200, lines: { data: [{ amount: -1_200 }, { amount: 2_400 }] } });
});

it("answers an unknown address with not found", async () => {
  await using world = await startWorld();

  expect((await fetch(`${world.standIn.url}/checkout/cs_test_0`)).status).toBe(404);
  expect((await fetch(`${world.standIn.url}/invoices/in_0`)).status).toBe(404);
});
