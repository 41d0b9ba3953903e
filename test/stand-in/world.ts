import { type IncomingHttpHeaders, createServer } from "node:http";
import { Stripe } from "stripe";
import { type StandInOptions, type StandInStripe, startStandInStripe } from "../../src/stand-in/stripe/index.js";
import { listen } from "../support/listening.js";

/** A request that was sent to a receiver of events. */
export interface Received {
  readonly body: string;
  readonly headers: IncomingHttpHeaders;
  /** The event, after its signature has been verified; raises an error if that is wrong. */
  event(): Stripe.Event;
}

export interface World extends AsyncDisposable {
  readonly standIn: StandInStripe;
  /** The real SDK, configured as in the service, but without retries. */
  readonly stripe: Stripe;
  /** Everything that was sent to the webhook address, in order of arrival. */
  readonly received: readonly Received[];
  /** Answers events with this status from here on, as soon as it is known. */
  answerEventsBy(status: number | Promise<number>): void;
  readonly webhookUrl: string;
}

const SECRET = "whsec_of_the_test";

/** A stand-in of its own, an SDK that uses it, and a receiver of its events. */
export async function startWorld(options: StandInOptions = {}): Promise<World> {
  const received: Received[] = [];
  let status: number | Promise<number> = 200;
  const receiver = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => void parts.push(part));
    request.on("end", () => {
      const body = Buffer.concat(parts).toString();
      const signature = request.headers["stripe-signature"] ?? "";
      const event = () => Stripe.webhooks.constructEvent(body, signature, SECRET);
      received.push({ body, headers: request.headers, event });
      void Promise.resolve(status).then((known) => response.writeHead(known).end());
    });
  });
  const webhookUrl = `http://127.0.0.1:${await listen(receiver)}/webhook`;
  const standIn = await startStandInStripe({ webhook: { url: webhookUrl, secret: SECRET }, ...options });
  return {
    standIn,
    stripe: clientOf(standIn),
    received,
    answerEventsBy: (given) => void (status = given),
    webhookUrl,
    async [Symbol.asyncDispose]() {
      await standIn[Symbol.asyncDispose]();
      receiver.close();
      receiver.closeAllConnections();
    },
  };
}

export const clientOf = ({ url, secretKey }: StandInStripe, options: Partial<Stripe.StripeConfig> = {}): Stripe =>
  new Stripe(secretKey, {
    host: new URL(url).hostname,
    port: new URL(url).port,
    protocol: "http",
    timeout: 8_000,
    maxNetworkRetries: 0,
    telemetry: false,
    ...options,
  });

/** A customer with a session to buy seats at. */
export async function openSession({ standIn, stripe }: World, quantity = 3) {
  const customer = await stripe.customers.create({ email: "ann@example.com" });
  const session = await stripe.checkout.sessions.create({
    mode: "subscription",
    customer: customer.id,
    line_items: [{ price: standIn.priceId, quantity }],
    success_url: "https://service.example/done?session={CHECKOUT_SESSION_ID}",
    cancel_url: "https://service.example/back",
    client_reference_id: "team-1",
    metadata: { team: "1" },
    subscription_data: { metadata: { team: "1" } },
  });
  return { customer, session };
}

/** A customer who has bought seats. */
export async function subscribe(world: World, quantity = 3) {
  const { customer, session } = await openSession(world, quantity);
  await world.standIn.pay(session.id);
  return { customer, session, subscription: await onlySubscription(world, customer.id) };
}

export async function onlySubscription({ stripe }: World, customer: string): Promise<Stripe.Subscription> {
  const { data } = await stripe.subscriptions.list({ customer, status: "all" });
  const [subscription, ...others] = data;
  if (!subscription || others.length > 0) throw new Error(`There are ${data.length} subscriptions.`);
  return subscription;
}

export function onlyItem({ items }: Stripe.Subscription): Stripe.SubscriptionItem {
  const [item, ...others] = items.data;
  if (!item || others.length > 0) throw new Error(`There are ${items.data.length} items.`);
  return item;
}

export const quantityOf = (subscription: Stripe.Subscription): number | undefined => onlyItem(subscription).quantity;

/** Asks for other seats as the service does. */
export const upgrade = ({ stripe }: World, subscription: Stripe.Subscription, quantity: number) =>
  stripe.subscriptions.update(subscription.id, {
    items: [{ id: onlyItem(subscription).id, quantity }],
    proration_behavior: "always_invoice",
    payment_behavior: "pending_if_incomplete",
    expand: ["latest_invoice"],
  });

export function whole<T extends object>(value: string | T | null): T {
  if (typeof value === "object" && value !== null) return value;
  throw new Error(`${String(value)} is not expanded.`);
}

/** What the SDK raises. */
export async function errorOf(promise: Promise<unknown>): Promise<Stripe.errors.StripeError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Stripe.errors.StripeError) return error;
    throw error;
  }
  throw new Error("Nothing was raised.");
}
