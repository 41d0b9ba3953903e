import type { Stripe } from "stripe";
import { expect, it } from "vitest";
import { setUpAccount } from "../../src/features/billing/index.js";
import { errorOf, onlyItem, onlySubscription, quantityOf, startWorld, subscribe, upgrade, whole } from "./world.js";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

it("charges more seats at once for the rest of the period", async () => {
  await using world = await startWorld();
  const { subscription } = await subscribe(world, 3);
  await world.standIn.advance(15 * DAY_MS);

  const upgraded = await upgrade(world, subscription, 5);

  expect(quantityOf(upgraded)).toBe(5);
  expect(upgraded.pending_update).toBeNull();
  const invoice = whole(upgraded.latest_invoice);
  expect(invoice).toMatchObject({ status: "paid", billing_reason: "subscription_update", amount_remaining: 0 });
  // Two seats of 800 cents for about half a month.
  expect(invoice.total).toBeGreaterThan(700);
  expect(invoice.total).toBeLessThan(900);
  expect(invoice.parent?.subscription_details?.subscription).toBe(subscription.id);
});

it("keeps more seats pending when the card is declined, and grants them when the invoice is paid", async () => {
  await using world = await startWorld();
  const { customer, subscription } = await subscribe(world, 3);
  world.standIn.setCard(customer.id, "declined");

  const waiting = await upgrade(world, subscription, 5);

  const invoice = whole(waiting.latest_invoice);
  expect(waiting.status).toBe("active");
  expect(quantityOf(waiting)).toBe(3);
  expect(waiting.pending_update?.subscription_items).toMatchObject([{ id: onlyItem(subscription).id, quantity: 5 }]);
  expect((waiting.pending_update?.expires_at ?? 0) * 1_000 - world.standIn.now().getTime()).toBeCloseTo(
    23 * HOUR_MS,
    -4,
  );
  expect(invoice).toMatchObject({ status: "open", attempt_count: 1, amount_remaining: invoice.total });
  const page = await (await fetch(invoice.hosted_invoice_url ?? "")).text();
  expect(page).toContain(`action="/invoices/${invoice.id}/pay"`);

  await fetch(`${invoice.hosted_invoice_url}/pay`, { method: "POST" });

  const paid = await world.stripe.subscriptions.retrieve(subscription.id);
  expect(quantityOf(paid)).toBe(5);
  expect(paid.pending_update).toBeNull();
  expect((await world.stripe.invoices.retrieve(invoice.id)).status).toBe("paid");
});

it("drops a pending update after 23 hours without payment, and voids its invoice", async () => {
  await using world = await startWorld();
  const { customer, subscription } = await subscribe(world, 3);
  world.standIn.setCard(customer.id, "declined");
  const invoice = whole((await upgrade(world, subscription, 5)).latest_invoice);

  await world.standIn.advance(23 * HOUR_MS - 60_000);
  expect((await onlySubscription(world, customer.id)).pending_update).not.toBeNull();
  await world.standIn.advance(120_000);

  const expired = await onlySubscription(world, customer.id);
  expect(expired.pending_update).toBeNull();
  expect(quantityOf(expired)).toBe(3);
  expect((await world.stripe.invoices.retrieve(invoice.id)).status).toBe("void");
  await expect(world.standIn.payInvoice(invoice.id)).rejects.toThrow("is void");
});

it("drops a pending update at the end of the period, which is then renewed as it was", async () => {
  await using world = await startWorld();
  const { customer, subscription } = await subscribe(world, 3);
  const { current_period_end: end } = onlyItem(subscription);
  await world.standIn.advance(end * 1_000 - world.standIn.now().getTime() - 2 * HOUR_MS);
  world.standIn.setCard(customer.id, "declined");

  const waiting = await upgrade(world, subscription, 5);
  world.standIn.setCard(customer.id, "accepted");
  await world.standIn.advance(3 * HOUR_MS);

  expect(waiting.pending_update?.expires_at).toBe(end);
  const invoice = whole(waiting.latest_invoice);
  expect((await world.stripe.invoices.retrieve(invoice.id)).status).toBe("void");
  const renewed = await onlySubscription(world, customer.id);
  expect([renewed.pending_update, quantityOf(renewed), renewed.status]).toEqual([null, 3, "active"]);
});

it("gives the credit that a voided invoice used up back to the customer", async () => {
  await using world = await startWorld();
  const { customer, subscription } = await subscribe(world, 3);
  const { customers } = world.stripe;
  await customers.update(customer.id, { balance: -500 });
  world.standIn.setCard(customer.id, "challenged");

  const invoice = whole((await upgrade(world, subscription, 5)).latest_invoice);

  expect(invoice).toMatchObject({ status: "open", amount_due: invoice.total - 500, starting_balance: -500 });
  expect(await customers.retrieve(customer.id)).toMatchObject({ balance: 0 });
  await world.standIn.advance(DAY_MS);
  expect(await customers.retrieve(customer.id)).toMatchObject({ balance: -500 });
});

it("drops a pending update when its invoice is voided", async () => {
  await using world = await startWorld();
  const { customer, subscription } = await subscribe(world, 3);
  world.standIn.setCard(customer.id, "declined");
  const invoice = whole((await upgrade(world, subscription, 5)).latest_invoice);

  expect((await world.stripe.invoices.voidInvoice(invoice.id)).status).toBe("void");

  expect((await onlySubscription(world, customer.id)).pending_update).toBeNull();
});

it("replaces a pending update by a later one", async () => {
  await using world = await startWorld();
  const { customer, subscription } = await subscribe(world, 3);
  world.standIn.setCard(customer.id, "declined");
  const first = whole((await upgrade(world, subscription, 5)).latest_invoice);

  const second = await upgrade(world, subscription, 7);

  expect((await world.stripe.invoices.retrieve(first.id)).status).toBe("void");
  expect(second.pending_update?.subscription_items).toMatchObject([{ quantity: 7 }]);
  await world.standIn.payInvoice(whole(second.latest_invoice).id);
  expect(quantityOf(await onlySubscription(world, customer.id))).toBe(7);
});

it("drops a pending update when a later one takes its end back", async () => {
  await using world = await startWorld();
  const { customer, subscription } = await subscribe(world, 3);
  const { subscriptions } = world.stripe;
  world.standIn.setCard(customer.id, "declined");
  const waiting = await subscriptions.update(subscription.id, {
    items: [{ id: onlyItem(subscription).id, quantity: 5 }],
    proration_behavior: "always_invoice",
    payment_behavior: "pending_if_incomplete",
    cancel_at_period_end: true,
    metadata: { seats: "5" },
  });

  const after = await subscriptions.update(subscription.id, { cancel_at_period_end: false });

  expect(waiting).toMatchObject({ cancel_at_period_end: false, metadata: { team: "1" } });
  expect(waiting.pending_update).toMatchObject({ cancel_at_period_end: true, metadata: { team: "1", seats: "5" } });
  expect(after).toMatchObject({ cancel_at_period_end: false, pending_update: null });
});

it("refuses pending updates of fields for which Stripe refuses them", async () => {
  await using world = await startWorld();
  const { subscription } = await subscribe(world);
  const behavior = { payment_behavior: "pending_if_incomplete", proration_behavior: "always_invoice" } as const;
  const cancelAt = onlyItem(subscription).current_period_end;

  const refused = await errorOf(
    world.stripe.subscriptions.update(subscription.id, { ...behavior, cancel_at: cancelAt }),
  );
  const taken = await world.stripe.subscriptions.update(subscription.id, {
    ...behavior,
    metadata: { team: "2" },
    cancel_at_period_end: true,
  });

  expect(refused).toMatchObject({ statusCode: 400, param: "cancel_at" });
  expect(taken).toMatchObject({ metadata: { team: "2" }, cancel_at_period_end: true });
});

it("grants more seats before payment if not told to wait, and is past due until they are paid", async () => {
  await using world = await startWorld();
  const { customer, subscription } = await subscribe(world, 3);
  world.standIn.setCard(customer.id, "declined");

  const upgraded = await world.stripe.subscriptions.update(subscription.id, {
    items: [{ id: onlyItem(subscription).id, quantity: 5 }],
    proration_behavior: "always_invoice",
  });

  expect(upgraded.status).toBe("past_due");
  expect(quantityOf(upgraded)).toBe(5);
  await world.standIn.payInvoice(String(upgraded.latest_invoice));
  expect((await onlySubscription(world, customer.id)).status).toBe("active");
});

it("adds an item if the update names none", async () => {
  await using world = await startWorld();
  const { subscription } = await subscribe(world, 3);

  const { items } = await world.stripe.subscriptions.update(subscription.id, {
    items: [{ price: world.standIn.priceId, quantity: 5 }],
  });

  expect(items.data.map(({ quantity }) => quantity)).toEqual([3, 5]);
});

it("charges prorations with the next invoice unless told to charge at once", async () => {
  await using world = await startWorld();
  const { customer, subscription } = await subscribe(world, 3);
  const items = [{ id: onlyItem(subscription).id, quantity: 4 }];

  const changed = await world.stripe.subscriptions.update(subscription.id, { items });
  await world.standIn.advance(31 * DAY_MS);

  expect(changed.latest_invoice).toBe(subscription.latest_invoice);
  const renewed = await onlySubscription(world, customer.id);
  const { lines } = await world.stripe.invoices.retrieve(String(renewed.latest_invoice));
  expect(lines.data.map(({ amount }) => amount)).toEqual([-2_400, 3_200, 3_200]);
  await world.standIn.advance(31 * DAY_MS);
  const { latest_invoice: next } = await onlySubscription(world, customer.id);
  expect((await world.stripe.invoices.retrieve(String(next))).total).toBe(3_200);
});

it("credits what the period was debited for, and not what was changed without a proration", async () => {
  await using world = await startWorld();
  const { customer, subscription } = await subscribe(world, 3);
  const change = async (quantity: number, proration_behavior: "none" | "always_invoice") => {
    const items = [{ id: onlyItem(subscription).id, quantity }];
    const params = { items, proration_behavior, expand: ["latest_invoice"] };
    const { latest_invoice: invoice } = await world.stripe.subscriptions.update(subscription.id, params);
    return whole(invoice).lines.data.map((line) => line.quantity);
  };

  await change(1, "none");
  expect(await change(2, "always_invoice")).toEqual([3, 2]);
  expect(await change(4, "always_invoice")).toEqual([2, 4]);
  await change(1, "none");
  await world.standIn.advance(31 * DAY_MS);
  expect(quantityOf(await onlySubscription(world, customer.id))).toBe(1);
  expect(await change(2, "always_invoice")).toEqual([1, 2]);
});

it("charges nothing at once for an update that changes no item", async () => {
  await using world = await startWorld();
  const { subscription } = await subscribe(world, 3);

  const same = await upgrade(world, subscription, 3);

  expect(whole(same.latest_invoice).id).toBe(subscription.latest_invoice);
});

it("renews on the last day of a shorter month, and then again on the day it began", async () => {
  await using world = await startWorld();
  const now = world.standIn.now();
  await world.standIn.advance(Date.UTC(now.getUTCFullYear() + 1, 0, 31) - now.getTime());
  const { customer } = await subscribe(world);
  const ends = [];

  for (let month = 0; month < 3; month++) {
    const end = onlyItem(await onlySubscription(world, customer.id)).current_period_end * 1_000;
    ends.push(new Date(end + DAY_MS).getUTCDate());
    await world.standIn.advance(end - world.standIn.now().getTime());
  }

  // Each is the last day of its month.
  expect(ends).toEqual([1, 1, 1]);
});

it("passes with the real time, too", async () => {
  await using world = await startWorld();
  const { subscription } = await subscribe(world);
  const first = onlyItem(subscription);
  await world.standIn.advance(first.current_period_end * 1_000 - world.standIn.now().getTime() - 500);

  await expect
    .poll(async () => onlyItem(await world.stripe.subscriptions.retrieve(subscription.id)).current_period_start)
    .toBe(first.current_period_end);
});

it("renews and charges each month, counted from the day it began", async () => {
  await using world = await startWorld();
  const { customer, subscription } = await subscribe(world, 3);
  const first = onlyItem(subscription);

  await world.standIn.advance((first.current_period_end - first.current_period_start) * 1_000 + 60_000);

  const renewed = await onlySubscription(world, customer.id);
  expect(onlyItem(renewed).current_period_start).toBe(first.current_period_end);
  expect(renewed.latest_invoice).not.toBe(subscription.latest_invoice);
  expect(await world.stripe.invoices.retrieve(String(renewed.latest_invoice))).toMatchObject({
    status: "paid",
    billing_reason: "subscription_cycle",
    total: 2_400,
  });
});

it("is past due while a renewal is not paid", async () => {
  await using world = await startWorld();
  const { customer } = await subscribe(world, 3);
  world.standIn.setCard(customer.id, "declined");
  await world.standIn.advance(31 * DAY_MS);
  const due = await onlySubscription(world, customer.id);

  await world.standIn.payInvoice(String(due.latest_invoice));

  expect(due.status).toBe("past_due");
  expect((await onlySubscription(world, customer.id)).status).toBe("active");
});

it("ends at the end of the period if told to", async () => {
  await using world = await startWorld();
  const { customer, subscription } = await subscribe(world, 3);

  const ending = await world.stripe.subscriptions.update(subscription.id, { cancel_at_period_end: true });
  await world.standIn.advance(31 * DAY_MS);

  const end = onlyItem(subscription).current_period_end;
  expect(ending).toMatchObject({ status: "active", cancel_at_period_end: true, cancel_at: end });
  const { canceled_at } = ending;
  expect(canceled_at).toBeLessThan(end);
  expect(await onlySubscription(world, customer.id)).toMatchObject({ status: "canceled", ended_at: end, canceled_at });
  expect((await world.stripe.subscriptions.list({ customer: customer.id })).data).toEqual([]);
});

it("ends at once when it is canceled, and can then be neither changed nor canceled", async () => {
  await using world = await startWorld();
  const { subscription } = await subscribe(world, 3);
  const { subscriptions } = world.stripe;

  const canceled = await subscriptions.cancel(subscription.id, { invoice_now: false, prorate: false });

  expect(canceled).toMatchObject({ status: "canceled", latest_invoice: subscription.latest_invoice });
  expect(await errorOf(subscriptions.cancel(subscription.id))).toMatchObject({ statusCode: 404 });
  const items = [{ id: onlyItem(subscription).id, quantity: 9 }];
  expect(await errorOf(subscriptions.update(subscription.id, { items }))).toMatchObject({
    statusCode: 400,
    code: "invalid_canceled_subscription_fields",
  });
});

it("voids the invoice that a pending update waits for when it is canceled", async () => {
  await using world = await startWorld();
  const { customer, subscription } = await subscribe(world, 3);
  world.standIn.setCard(customer.id, "declined");
  const { id } = whole((await upgrade(world, subscription, 5)).latest_invoice);

  await world.stripe.subscriptions.cancel(subscription.id);

  expect((await world.stripe.invoices.retrieve(id)).status).toBe("void");
});

it("stays past due until its latest invoice is paid", async () => {
  await using world = await startWorld();
  const { customer, subscription } = await subscribe(world, 3);
  world.standIn.setCard(customer.id, "declined");
  const unpaid: string[] = [];
  for (let month = 0; month < 2; month++) {
    await world.standIn.advance(31 * DAY_MS);
    unpaid.push(String((await onlySubscription(world, customer.id)).latest_invoice));
  }
  const statuses = [];
  for (const invoice of unpaid) {
    await world.standIn.payInvoice(invoice);
    statuses.push((await world.stripe.subscriptions.retrieve(subscription.id)).status);
  }

  expect(statuses).toEqual(["past_due", "active"]);
});

it("is incomplete while its first invoice is not paid, and expires after 23 hours", async () => {
  await using world = await startWorld();
  const { stripe, standIn } = world;
  const customer = await stripe.customers.create();
  standIn.setCard(customer.id, "declined");
  const make = () => stripe.subscriptions.create({ customer: customer.id, items: [{ price: standIn.priceId }] });
  const [paid, unpaid] = [await make(), await make()];

  const early = stripe.subscriptions.update(unpaid.id, { cancel_at_period_end: true });
  expect(await errorOf(early)).toMatchObject({ statusCode: 400 });
  await standIn.payInvoice(String(paid.latest_invoice));
  await standIn.advance(DAY_MS);

  expect([paid.status, unpaid.status]).toEqual(["incomplete", "incomplete"]);
  expect((await stripe.subscriptions.retrieve(paid.id)).status).toBe("active");
  expect((await stripe.subscriptions.retrieve(unpaid.id)).status).toBe("incomplete_expired");
  expect((await stripe.invoices.retrieve(String(unpaid.latest_invoice))).status).toBe("void");
});

it("voids no invoice that is paid", async () => {
  await using world = await startWorld();
  const { customer, subscription } = await subscribe(world, 3);
  world.standIn.setCard(customer.id, "declined");
  const { id } = whole((await upgrade(world, subscription, 5)).latest_invoice);
  await world.standIn.payInvoice(id);

  expect(await world.stripe.invoices.retrieve(id)).toMatchObject({ status: "paid", attempt_count: 2 });
  expect(await errorOf(world.stripe.invoices.voidInvoice(id))).toMatchObject({ statusCode: 400 });
});

it("lets an open invoice be declined and voided on its page, which then shows the outcome", async () => {
  await using world = await startWorld();
  const { customer, subscription } = await subscribe(world, 3);
  world.standIn.setCard(customer.id, "declined");
  const { hosted_invoice_url: page } = whole((await upgrade(world, subscription, 5)).latest_invoice);

  const declined = await fetch(`${page}/decline`, { method: "POST" });
  const voided = await fetch(`${page}/void`, { method: "POST" });

  expect(declined.status).toBe(402);
  expect(await declined.text()).toContain("Your card was declined.");
  expect(await voided.text()).toContain("This invoice is void.");
  expect((await onlySubscription(world, customer.id)).pending_update).toBeNull();
  expect((await fetch(`${page}/pay`, { method: "POST" })).status).toBe(400);
});

it("begins another period when the interval changes in the portal, and settles a failed payment", async () => {
  await using world = await startWorld();
  const { standIn, stripe } = world;
  const wishes = { monthly: 800, yearly: 8_000, currency: "usd", url: "https://memory.example.com" };
  const { monthlyPriceId, yearlyPriceId, portalId } = await setUpAccount(stripe, wishes);
  const { id: customer } = await stripe.customers.create();
  const { id } = await stripe.subscriptions.create({ customer, items: [{ price: monthlyPriceId, quantity: 3 }] });
  standIn.setCard(customer, "declined");
  await standIn.advance(32 * DAY_MS);
  const failed = await stripe.subscriptions.retrieve(id);
  standIn.setCard(customer, "accepted");

  const { url } = await stripe.billingPortal.sessions.create({ customer, configuration: portalId });
  await fetch(`${url}/switch/${id}/${yearlyPriceId}`, { method: "POST" });

  const changed = await stripe.subscriptions.retrieve(id);
  expect([failed.status, changed.status]).toEqual(["past_due", "active"]);
  expect(changed.billing_cycle_anchor).toBe(onlyItem(changed).current_period_start);
  expect(changed.billing_cycle_anchor).toBeGreaterThan(failed.billing_cycle_anchor);
});

it("previews no invoice when nothing will be invoiced", async () => {
  await using world = await startWorld();
  const { subscription } = await subscribe(world, 3);
  const { invoices, subscriptions } = world.stripe;
  const preview = (details: Stripe.InvoiceCreatePreviewParams.SubscriptionDetails) =>
    invoices.createPreview({ subscription: subscription.id, subscription_details: details });

  for (const cancelled of [{ cancel_at_period_end: true }, { cancel_at: onlyItem(subscription).current_period_end }]) {
    await subscriptions.update(subscription.id, cancelled);
    expect(await errorOf(preview({}))).toMatchObject({ statusCode: 404, code: "invoice_upcoming_none" });
    const more = await preview({ items: [{ id: onlyItem(subscription).id, quantity: 5 }] });
    expect(more.lines.data.map(({ amount }) => Math.sign(amount))).toEqual([-1, 1]);
    expect(await preview({ cancel_at_period_end: false })).toMatchObject({ total: 3 * 800 });
    expect(await preview({ cancel_at: "" })).toMatchObject({ total: 3 * 800 });
  }
});
