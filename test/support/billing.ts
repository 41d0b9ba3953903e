import assert from "node:assert/strict";
import { Stripe } from "stripe";
import { expect } from "vitest";
import { type StandInStripe, startStandInStripe } from "../../src/stand-in/stripe/index.js";
import type { RunningApp } from "../../src/app.js";
import { billingChores } from "../../src/features/billing/chores.js";
import { createTeamCheckout } from "../../src/features/billing/create-team-checkout.js";
import { PaymentProviderError } from "../../src/features/billing/failures.js";
import { type BillingAccount, accountOf, isLive } from "../../src/features/billing/account.js";
import { createTeam } from "../../src/features/teams/create-team.js";
import { stripeClient } from "../../src/platform/billing/stripe-client.js";
import type { Operation } from "../../src/operation/operation.js";
import { type Answer, ask } from "./http.js";
import { listenTo } from "./statements.js";
import { type Actor, type World, type WorldsWishes, createWorld } from "./world.js";

/** A world with a payment provider. */
export interface StripeWorld extends World {
  readonly stripe: StandInStripe;
}

export async function createStripeWorld(wishes: WorldsWishes = {}): Promise<StripeWorld> {
  const stripe = await startStandInStripe();
  const world = await createWorld({ ...wishes, stripe });
  return {
    ...world,
    stripe,
    async [Symbol.asyncDispose]() {
      // The sender stops first: otherwise it would retry events that nobody receives.
      await stripe[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}

/** A world in which the operation works: with a payment provider if it needs one. */
export const worldFor = (operation: Operation): Promise<World & { readonly stripe?: StandInStripe }> =>
  asksProvider(operation) ? createStripeWorld() : createWorld();

/** Whether an operation may ask the payment provider. */
export const asksProvider = ({ permission, failures }: Operation): boolean =>
  permission.startsWith("billing:") || failures.some((failure) => failure === PaymentProviderError);

/** A world with a server that receives the provider's events. */
export interface BillingWorld extends StripeWorld {
  readonly app: RunningApp;
}

/** Where a server receives events. */
const webhookOf = ({ url }: Pick<RunningApp, "url">): string => `${url}/billing/stripe-webhook`;

/** `deaf`: no event arrives, as if every one were lost. */
export async function createBillingWorld({
  deaf = false,
  environment = {},
  ...wishes
}: WorldsWishes & { deaf?: boolean; environment?: Record<string, string> } = {}): Promise<BillingWorld> {
  const world = await createStripeWorld(wishes);
  const app = await world.serve(environment);
  if (!deaf) world.stripe.sendEventsTo(webhookOf(app));
  return { ...world, app };
}

/** A team, its owner, and its customer at the payment provider, if it has one. */
export interface Payer {
  readonly owner: Actor;
  readonly teamId: string;
}

export async function aPayer(world: World, { seats = 10 }: { seats?: number } = {}): Promise<Payer> {
  const owner = await world.user({ plan: "free" });
  const { id } = await owner.did(createTeam, { name: "Team", maxMembers: seats });
  return { owner, teamId: id };
}

/**
 * A team whose owner has paid for its seats. One event tells the service, if it hears any: the six of a purchase, each
 * twice and shuffled, take most of the time, and are for tests of purchases.
 */
export async function aSubscriber(world: BillingWorld, wishes: { seats?: number } = {}): Promise<Payer> {
  const { stripe, app } = world;
  const payer = await aPayer(world, wishes);
  // Events of earlier changes still arrive.
  await stripe.delivered();
  const address = webhookOf(app);
  const hears = stripe.sendNoEventsTo(address);
  const { sessionId } = await payer.owner.did(createTeamCheckout);
  await stripe.pay(sessionId);
  if (hears) {
    const event = eventOf(`evt_${sessionId}`, await customerOf(world, payer));
    assert.equal((await sendEvent(world, event)).status, 200);
    stripe.sendEventsTo(address);
  }
  return payer;
}

/** An event as Stripe would send it. */
export const eventOf = (id: string, customer: string, type = "customer.subscription.updated"): string =>
  JSON.stringify({ id, object: "event", type, data: { object: { object: "subscription", id: "sub_x", customer } } });

interface Sending {
  readonly secret?: string;
  readonly timestamp?: number;
  readonly headers?: Record<string, string>;
}

/** Sends an event with its signature, as Stripe does. */
export function sendEvent(
  { stripe, app }: { readonly stripe: StandInStripe; readonly app: Pick<RunningApp, "url"> },
  payload: string,
  { secret = stripe.webhookSecret, timestamp, headers }: Sending = {},
): Promise<Answer> {
  const signature = Stripe.webhooks.generateTestHeaderString({
    payload,
    secret,
    ...(timestamp !== undefined && { timestamp }),
  });
  return ask(webhookOf(app), {
    headers: { ...headers, "stripe-signature": signature },
    body: payload,
  });
}

/**
 * What teams have at the provider and should not: a second subscription, or other seats than the service knows; anything
 * that is sold beside a subscription, or for fewer seats than the team has; and what is sold to a deleted team.
 */
export async function brokenBilling({ database: { models }, stripe }: StripeWorld): Promise<string[]> {
  const { subscriptions, checkout, invoices } = stripeClient(stripe.secretKey, stripe.url);
  const broken: string[] = [];
  for (const { customerId: customer, ...account } of await models.billingAccount.findMany()) {
    if (customer === null) continue;
    const [{ data: live }, { data: open }, { data: due }] = await Promise.all([
      subscriptions.list({ customer }),
      checkout.sessions.list({ customer, status: "open" }),
      invoices.list({ customer, status: "open" }),
    ]);
    const team = await models.team.findUnique({ where: { id: account.teamId } });
    const known = account.nextSeats ?? account.seats ?? undefined;
    const sold = live.map(({ items }) => items.data[0]?.quantity);
    const size = team && Math.max(team.memberCount, sold[0] ?? 0);
    const offered = open.map(({ metadata }) => Number(metadata?.["seats"]));
    if (sold.length > 1 || (sold.length > 0 && sold[0] !== known))
      broken.push(`a team has ${known} seats, and at Stripe ${sold.join()}`);
    if (sold.length === 0 && isLive(account)) broken.push("a team has a subscription that Stripe does not know");
    if (!team && sold.length + open.length > 0) broken.push("something is sold to a deleted team");
    if (sold.length > 0 && team && team.maxMembers !== size)
      broken.push(`a team of ${size} has ${team.maxMembers} seats`);
    if (open.length > 1 || (sold.length > 0 && open.length > 0)) broken.push("a team could buy a second subscription");
    if (team && offered.some((seats) => seats < team.maxMembers))
      broken.push("a checkout is for fewer seats than its team");
    if (due.length > 0) broken.push("an invoice is not paid");
  }
  return broken;
}

/** The local copy of the team's billing account. */
export const accountNow = ({ database }: World, { teamId }: Payer): Promise<BillingAccount> =>
  accountOf({ database }, teamId);

export async function customerOf(world: World, payer: Payer): Promise<string> {
  return (await accountNow(world, payer)).customerId ?? "";
}

/** The requests that changed something at the provider, as "POST /v1/customers". */
export const changesAsked = ({ stripe }: BillingWorld): string[] =>
  stripe.requests.filter(({ method }) => method !== "GET").map(({ method, path }) => `${method} ${path}`);

/** The id of the team's subscription at the provider, from the local copy. */
export async function subscriptionOf(world: World, payer: Payer): Promise<string> {
  return (await accountNow(world, payer)).subscriptionId ?? "";
}

/** Runs the jobs that forget; returns the names of those that may have more to do. */
export async function forgetBilling({ services }: World): Promise<string[]> {
  const unfinished: string[] = [];
  for (const { name, run } of billingChores(services))
    if (name.startsWith("forget") && (await run())) unfinished.push(name);
  return unfinished;
}

/** Lets the grace periods of failed payments end. */
export async function endGrace({ database }: World): Promise<void> {
  await database.models.billingAccount.updateMany({
    where: { graceUntil: { not: null } },
    data: { graceUntil: new Date(Date.now() - 1_000) },
  });
}

/** The team's member limit, read from its row. */
export async function seatsOf({ database }: World, { teamId }: Payer): Promise<number> {
  return (await database.models.team.findUniqueOrThrow({ where: { id: teamId } })).maxMembers;
}

interface HeldLock {
  /** Resolves when somebody waits for the lock: was refused, and asks again. */
  waitedFor(): Promise<void>;
  release(): Promise<void>;
}

/** A session that asks for the lock of an account. */
export const ASKS_FOR_LOCK = /^UPDATE .*"billing_account".*"locked_until" </;

/** Holds the lock of the team's billing account, as another server would. */
export async function holdLock(world: World, teamId: string): Promise<HeldLock> {
  const set = (until: string) =>
    world.database.pool.query(`UPDATE billing_account SET locked_until = ${until} WHERE team_id = $1`, [teamId]);
  await set("now() + interval '1 minute'");
  return {
    async waitedFor() {
      using ear = listenTo(world);
      let asked = 0;
      await expect.poll(() => (asked += ear.heard(ASKS_FOR_LOCK).length), { interval: 5 }).toBeGreaterThan(1);
    },
    release: async () => void (await set("NULL")),
  };
}
