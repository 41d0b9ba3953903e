import { setTimeout as sleep } from "node:timers/promises";
import { Stripe } from "stripe";
import { stripeClient } from "../../src/platform/billing/stripe-client.js";
import { type StandInStripe, startStandInStripe } from "../../src/stand-in/stripe/index.js";
import type { WorldsStripe } from "./world.js";

/** Stripe or its stand-in, with the actions that people take there. */
export interface Provider extends AsyncDisposable {
  readonly settings: WorldsStripe;
  readonly api: Stripe;
  /** Pays on the checkout page with a valid card. */
  pay(checkout: Stripe.Checkout.Session): Promise<void>;
  /** Sets what the bank does with charges to the customer's card from here on. */
  setCard(customer: string, card: keyof typeof CARDS): Promise<void>;
  /** Pays an open invoice with a valid card. */
  payInvoice(invoice: string): Promise<void>;
}

export const PROVIDERS: ReadonlyArray<readonly [name: string, start: () => Promise<Provider>]> = [
  ["the stand-in", startStandIn],
  ...(process.env["STRIPE_TEST_KEY"] ? ([["Stripe's test mode", startStripe]] as const) : []),
];

async function startStandIn(): Promise<Provider> {
  const standIn: StandInStripe = await startStandInStripe();
  return {
    settings: standIn,
    api: stripeClient(standIn.secretKey, standIn.url),
    pay: ({ id }) => standIn.pay(id),
    setCard: async (customer, card) => standIn.setCard(customer, card),
    payInvoice: (invoice) => standIn.payInvoice(invoice),
    [Symbol.asyncDispose]: () => standIn[Symbol.asyncDispose](),
  };
}

const CARDS = {
  accepted: "pm_card_visa",
  challenged: "pm_card_authenticationRequired",
  declined: "pm_card_chargeCustomerFail",
} as const;

/** Stripe's test mode, with the key in STRIPE_TEST_KEY. Stripe cannot reach us: events are fetched and signed here. */
async function startStripe(): Promise<Provider> {
  const secretKey = process.env["STRIPE_TEST_KEY"] ?? "";
  if (!/^(sk|rk)_test_/.test(secretKey)) throw new Error("STRIPE_TEST_KEY must be a key of Stripe's test mode.");
  const api = stripeClient(secretKey, undefined);
  const price = await api.prices.create({
    currency: "usd",
    unit_amount: 800,
    recurring: { interval: "month" },
    product_data: { name: "Memory Graph Team (test)" },
  });
  const setCard = async (customer: string, card: keyof typeof CARDS) => {
    const { id } = await api.paymentMethods.attach(CARDS[card], { customer });
    await api.customers.update(customer, { invoice_settings: { default_payment_method: id } });
  };
  return {
    settings: { url: "https://api.stripe.com", secretKey, webhookSecret: "whsec_of_the_test", priceId: price.id },
    api,
    // Tests cannot use Stripe's checkout page; this creates the same subscription.
    async pay({ id, customer, metadata }) {
      const payer = String(customer);
      await setCard(payer, "accepted");
      const items = [{ price: price.id, quantity: Number(metadata?.["seats"]) }];
      await api.subscriptions.create({ customer: payer, items, metadata: { team_id: metadata?.["team_id"] ?? "" } });
      await api.checkout.sessions.expire(id);
    },
    setCard,
    async payInvoice(invoice) {
      await api.invoices.pay(invoice, { payment_method: CARDS.accepted });
    },
    async [Symbol.asyncDispose]() {
      await api.prices.update(price.id, { active: false });
    },
  };
}

/** Sends every event about the customer to the webhook, each twice and newest first: the worst order allowed. */
export async function deliverEvents({ api, settings }: Provider, url: string, customer: string): Promise<void> {
  // Stripe lists events a moment after the change that caused them.
  if (settings.url === "https://api.stripe.com") await sleep(3_000);
  const { data } = await api.events.list({ limit: 100 });
  const about = data.filter(({ data: { object } }) => JSON.stringify(object).includes(customer));
  for (const event of [...about, ...about]) {
    const payload = JSON.stringify(event);
    const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret: settings.webhookSecret });
    const { status } = await fetch(`${url}/billing/stripe-webhook`, {
      method: "POST",
      headers: { "stripe-signature": signature, "content-type": "application/json" },
      body: payload,
    });
    if (status !== 200) throw new Error(`The webhook answered ${status} to ${event.type}.`);
  }
}
