import type { Stripe } from "stripe";
import { describe, expect, it } from "vitest";
import { cancelTeamSubscription } from "../../../src/features/billing/cancel-team-subscription.js";
import { downgradeTeam } from "../../../src/features/billing/downgrade-team.js";
import { setUpAccount } from "../../../src/features/billing/set-up-account.js";
import { teamSubscription } from "../../../src/features/billing/team-subscription.js";
import { teamUpgradePreview } from "../../../src/features/billing/team-upgrade-preview.js";
import { stripeClient } from "../../../src/platform/billing/stripe-client.js";
import {
  type BillingWorld,
  type Payer,
  aPayer,
  createStripeWorld,
  customerOf,
  seatsOf,
  subscriptionOf,
} from "../../support/billing.js";
import { ask } from "../../support/http.js";
import { runsAllRounds } from "../../support/rounds.js";

const DAY_MS = 24 * 3_600_000;
const PRICES = { month: 800, year: 8_000 };
type Interval = keyof typeof PRICES;
const other = (interval: Interval): Interval => (interval === "month" ? "year" : "month");

/** What Stripe holds of a team. */
interface Held {
  readonly subscription: Stripe.Subscription;
  readonly seats: number | undefined;
  readonly interval: string | undefined;
  readonly invoice: Stripe.Invoice | undefined;
}

interface Portal {
  /** Changes the interval in the customer portal. */
  change(payer: Payer, to: Interval): Promise<void>;
  held(payer: Payer): Promise<Held>;
}

/** A world in which seats are sold by the month and by the year, as `billing -- setup` sets it up. */
async function createWorldOfIntervals(environment: Record<string, string> = {}): Promise<BillingWorld & Portal> {
  const world = await createStripeWorld();
  const stripe = stripeClient(world.stripe.secretKey, world.stripe.url);
  const wishes = { monthly: PRICES.month, yearly: PRICES.year, currency: "usd", url: "https://memory.example.com" };
  const { monthlyPriceId, yearlyPriceId, portalId } = await setUpAccount(stripe, wishes);
  for (const { id } of (await stripe.webhookEndpoints.list()).data) await stripe.webhookEndpoints.del(id);
  const app = await world.serve({
    STRIPE_TEAM_PRICE_ID: monthlyPriceId,
    STRIPE_YEARLY_PRICE_ID: yearlyPriceId,
    STRIPE_PORTAL_ID: portalId,
    ...environment,
  });
  world.stripe.sendEventsTo(`${app.url}/billing/stripe-webhook`);
  return {
    ...world,
    app,
    async change(payer, to) {
      const { url } = await stripe.billingPortal.sessions.create({
        customer: await customerOf(world, payer),
        configuration: portalId,
      });
      const price = to === "year" ? yearlyPriceId : monthlyPriceId;
      const subscription = await subscriptionOf(world, payer);
      const { status } = await fetch(`${url}/switch/${subscription}/${price}`, { method: "POST", redirect: "manual" });
      expect(status).toBe(303);
    },
    async held(payer) {
      const subscription = await stripe.subscriptions.retrieve(await subscriptionOf(world, payer));
      const [item] = subscription.items.data;
      const [invoice] = (await stripe.invoices.list({ subscription: subscription.id, limit: 1 })).data;
      return { subscription, seats: item?.quantity, interval: item?.price.recurring?.interval, invoice };
    },
  };
}

/** A team with eight paid seats. */
async function aSubscriberBy(world: BillingWorld, interval: Interval): Promise<Payer> {
  const payer = await aPayer(world, { seats: 8 });
  const body = { interval };
  const { status, body: opened } = await post(world, payer, "team-checkout", body);
  expect(status).toBe(201);
  await world.stripe.pay((opened as { session_id: string }).session_id);
  await world.stripe.delivered();
  return payer;
}

const post = ({ app }: BillingWorld, { owner }: Payer, path: string, body: object = {}) =>
  ask(`${app.url}/billing/${path}`, { key: owner.key, body });

const get = async ({ app }: BillingWorld, { owner }: Payer, path: string) =>
  (await ask(`${app.url}/billing/${path}`, { key: owner.key })).body as Record<string, unknown>;

const FIELDS = ["status", "plan", "seats", "interval", "stale"];
const SNAKE_FIELDS = ["next_seats", "current_period_end", "cancel_at_period_end", "ends_at"];
const camel = (name: string) => name.replaceAll(/_(\w)/g, (_all, letter: string) => letter.toUpperCase());

/** The subscription as REST shows it, which must be what GraphQL shows. */
async function shown(world: BillingWorld, payer: Payer): Promise<Record<string, unknown>> {
  const rest = await get(world, payer, "team-subscription");
  const names = [...FIELDS, ...SNAKE_FIELDS];
  const query = `{ teamSubscription { ${names.map(camel).join(" ")} } }`;
  const answer = await ask(`${world.app.url}/graphql`, { key: payer.owner.key, body: { query } });
  const seen = (answer.body as { data: { teamSubscription: Record<string, unknown> } }).data.teamSubscription;
  expect(Object.fromEntries(names.map((name) => [name, String(seen[camel(name)]).toLowerCase()]))).toEqual(
    Object.fromEntries(names.map((name) => [name, String(rest[name]).toLowerCase()])),
  );
  return rest;
}

/** What happens between the decrease and the change of the interval. */
const MEANWHILE: readonly {
  readonly name: string;
  /** How many seats the period was paid for, which Stripe credits; 8 by default. */
  readonly credited?: number;
  readonly environment?: Record<string, string>;
  act(world: BillingWorld & Portal, payer: Payer): Promise<void>;
}[] = [
  { name: "nothing", async act() {} },
  {
    name: "a cancellation by the service",
    async act(world, payer) {
      expect((await post(world, payer, "team-cancel")).status).toBe(200);
    },
  },
  {
    name: "a cancellation in the portal",
    async act(world, payer) {
      await world.stripe.cancelInPortal(await subscriptionOf(world, payer));
    },
  },
  { name: "a trial", environment: { BILLING_TRIAL_DAYS: "14" }, async act() {} },
  {
    name: "a renewal whose payment fails",
    credited: 3,
    async act(world, payer) {
      const customer = await customerOf(world, payer);
      world.stripe.setCard(customer, "declined");
      const { subscription } = await world.held(payer);
      const end = Number(subscription.items.data[0]?.current_period_end) * 1_000;
      await world.stripe.advance(end - world.stripe.now().getTime() + DAY_MS);
      await world.stripe.delivered();
      expect(await shown(world, payer)).toMatchObject({ status: "past_due", seats: 3, next_seats: null });
      world.stripe.setCard(customer, "accepted");
    },
  },
];

describe.each(["month", "year"] as const)(
  "a change of the interval from a %s, after fewer seats were chosen",
  (from) => {
    const to = other(from);

    it.each(MEANWHILE)("lets the fewer seats hold at once, after $name", async ({ environment, credited = 8, act }) => {
      await using world = await createWorldOfIntervals(environment);
      const payer = await aSubscriberBy(world, from);
      const { owner } = payer;
      expect((await post(world, payer, "team-downgrade", { max_members: 3 })).body).toMatchObject({ next_seats: 3 });
      // To take the decrease back costs nothing now.
      expect(await get(world, payer, "team-upgrade-preview?max_members=8")).toMatchObject({
        proration: 0,
        next_invoice: { amount: 8 * PRICES[from] },
      });
      await act(world, payer);
      await world.stripe.delivered();

      await world.change(payer, to);
      await world.stripe.delivered();

      const { subscription, seats, interval, invoice } = await world.held(payer);
      expect([seats, interval, subscription.status, subscription.schedule]).toEqual([3, to, "active", null]);
      expect(invoice).toMatchObject({ status: "paid", billing_reason: "subscription_update" });
      const lines = invoice?.lines.data.map(({ amount, quantity }) => [quantity, amount]) ?? [];
      expect(lines).toEqual([
        [credited, expect.any(Number)],
        [3, 3 * PRICES[to]],
      ]);
      const seen = await shown(world, payer);
      expect(seen).toMatchObject({ seats: 3, next_seats: null, interval: to, plan: "team", stale: false });
      const end = Number(subscription.items.data[0]?.current_period_end);
      expect(Date.parse(String(seen["current_period_end"]))).toBe(end * 1_000);
      expect(seen["cancel_at_period_end"]).toBe(subscription.cancel_at !== null);
      expect(await seatsOf(world, payer)).toBe(3);
      const preview = await get(world, payer, "team-upgrade-preview?max_members=3");
      expect(preview).toMatchObject({ proration: 0, credit: Math.max(0, -Number(invoice?.total)) });
      // The decrease can no longer be taken back, and more seats are bought as usual.
      expect(await owner.does(downgradeTeam, { maxMembers: 8 })).toBeRefused("bad_request");
      expect(await get(world, payer, "team-upgrade-preview?max_members=4")).toMatchObject({
        seats: 4,
        next_invoice: (subscription.cancel_at ?? Infinity) > end ? { amount: 4 * PRICES[to] } : null,
      });
      expect((await post(world, payer, "team-upgrade", { max_members: 4 })).body).toMatchObject({
        seats: 4,
        next_seats: null,
        interval: to,
      });
    });
  },
);

/** A change of the seats of the next period, and how many were paid for before it. */
const CHANGES = [
  { name: "a decrease", wanted: 3, before: 8 },
  { name: "a decrease that is taken back", wanted: 8, before: 3 },
] as const;

const FAULTS = ["500", "cut-before", "cut-after"] as const;
/** Each fault at every third request; all rounds try each at every one. */
const STEP = runsAllRounds ? 1 : FAULTS.length;

describe.each(CHANGES)("$name whose connection fails, before the interval changes", ({ wanted, before }) => {
  it.each(FAULTS.map((kind, first) => [first, kind] as const))(
    "shows and gives the seats that are paid, by %i: %s",
    async (first, kind) => {
      await using world = await createWorldOfIntervals();
      const lower = async (payer: Payer) => payer.owner.does(downgradeTeam, { maxMembers: wanted });
      const begin = async () => {
        const payer = await aSubscriberBy(world, "month");
        if (before < 8) await payer.owner.did(downgradeTeam, { maxMembers: before });
        await world.stripe.delivered();
        return payer;
      };
      const usual = await begin();
      const earlier = world.stripe.requests.length;
      await lower(usual);
      const requests = world.stripe.requests.length - earlier;
      expect(requests).toBeGreaterThan(1);
      // After the last one, the requests for the events of the change fail.
      for (let number = first % STEP; number < requests + 2; number += STEP) {
        const payer = await begin();
        world.stripe.fail({ kind, after: number, times: 2 });
        const verdict = await lower(payer);
        if (number < requests) world.stripe.clearFaults();
        await world.change(payer, "year").catch(async () => {
          world.stripe.clearFaults();
          await world.change(payer, "year");
        });
        await world.stripe.delivered();
        world.stripe.clearFaults();
        if (!verdict.ok) expect(verdict).toBeRefused("payment_provider_error");

        await shown(world, payer);
        const seen = await shown(world, payer);
        const { seats, invoice } = await world.held(payer);
        const paid = invoice?.lines.data.at(-1)?.quantity;
        expect([number, seen]).toEqual([
          number,
          expect.objectContaining({ seats: paid, next_seats: null, interval: "year", stale: false }),
        ]);
        expect([number, seats, await seatsOf(world, payer)]).toEqual([number, paid, paid]);
        if (verdict.ok) expect(paid).toBe(wanted);
      }
    },
  );
});

it("shows the day of the next invoice that belongs to its price, also when the event of a change was lost", async () => {
  await using world = await createWorldOfIntervals();
  const payer = await aSubscriberBy(world, "month");
  world.stripe.sendNoEventsTo(`${world.app.url}/billing/stripe-webhook`);
  await world.change(payer, "year");

  const { nextInvoice } = await payer.owner.did(teamUpgradePreview, { maxMembers: 8 });

  const [item] = (await world.held(payer)).subscription.items.data;
  const chargedAt = new Date(Number(item?.current_period_end) * 1_000);
  expect(nextInvoice).toMatchObject({ chargedAt, amount: 8 * PRICES.year });
});

it("shows when and what a subscription costs next that ends only after further periods", async () => {
  await using world = await createWorldOfIntervals();
  const payer = await aSubscriberBy(world, "year");
  await world.stripe.cancelInPortal(await subscriptionOf(world, payer));
  await world.change(payer, "month");
  await world.stripe.delivered();

  const seen = await payer.owner.did(teamSubscription);
  const { nextInvoice } = await payer.owner.did(teamUpgradePreview, { maxMembers: 8 });

  expect(Number(seen.endsAt)).toBeGreaterThan(Number(seen.currentPeriodEnd));
  expect(nextInvoice).toMatchObject({ chargedAt: seen.currentPeriodEnd, amount: expect.any(Number) });
  await world.stripe.advance(33 * DAY_MS);
  await world.stripe.delivered();
  expect((await world.held(payer)).invoice).toMatchObject({ billing_reason: "subscription_cycle", status: "paid" });

  // A cancellation ends it earlier: no period is charged any more.
  const ending = await payer.owner.did(cancelTeamSubscription);
  expect(ending.endsAt).toEqual(ending.currentPeriodEnd);
  expect(Number(ending.endsAt)).toBeLessThan(Number(seen.endsAt));
});
