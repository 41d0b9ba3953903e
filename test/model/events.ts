import { createHmac, randomUUID } from "node:crypto";
import type fc from "fast-check";
import { AccountBusy } from "../../src/features/billing/failures.js";
import { reconcileAccount } from "../../src/features/billing/reconcile.js";
import { TeamNotFound } from "../../src/operation/standing.js";
import { eventOf, sendEvent as sendEventTo } from "../support/billing.js";
import { ask } from "../support/http.js";
import { Draw } from "./draw.js";
import type { Model, Team } from "./model.js";
import type { Real } from "./real.js";
import { Disagreement } from "./agree.js";
import { maxMembersOf } from "./billing-moves.js";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** After this time things are deleted permanently, which other tests cover. */
const TRAVELLED_MAX_MS = 60 * DAY_MS;
/** Enough time to send some more requests before something ends. */
const JUST_BEFORE_MS = 15_000;

/** Something that happens without a request to the service. */
abstract class Event implements fc.AsyncCommand<Model, Real> {
  protected told = "";

  constructor(protected readonly numbers: readonly number[]) {}

  abstract check(model: Readonly<Model>): boolean;
  abstract happen(model: Model, real: Real, draw: Draw): Promise<void>;

  run = (model: Model, real: Real): Promise<void> => this.happen(model, real, new Draw(this.numbers));
  toString = (): string => this.told || this.constructor.name;
}

export class TimePasses extends Event {
  check = ({ travelledMs }: Readonly<Model>): boolean => travelledMs < TRAVELLED_MAX_MS;

  async happen(model: Model, real: Real, draw: Draw): Promise<void> {
    const now = model.now();
    const [next = now + DAY_MS, ...later] = model.ends();
    // Skip what ends soon after it, too: it would end while answers are compared.
    const last = later.reduce((last, end) => (end - last < JUST_BEFORE_MS ? end : last), next);
    const [untilNext, untilLast] = [next, last].map((end) => Math.round(end - now)) as [number, number];
    const time = draw.one([untilLast + 1, untilNext - JUST_BEFORE_MS, HOUR_MS, DAY_MS, 3 * DAY_MS]);
    if (time <= 0) return;
    this.told = `${(time / HOUR_MS).toFixed(4)} hours pass`;
    await real.letTimePass(time);
    model.travelledMs += time;
  }
}

const waitsToBePaid = ({ billing, deleted }: Team) => !deleted && billing.checkout !== null;

/** What the payment of this checkout changes. */
function buy(team: Team, seats: number): void {
  const { billing } = team;
  const bought = { checkout: null, status: "active", seats, nextSeats: null, ending: false, upgrades: 0 } as const;
  Object.assign(billing, { ...bought, invoices: billing.invoices + 1 });
  team.maxMembers = maxMembersOf(team);
}

export class CheckoutPaid extends Event {
  check = ({ teams }: Readonly<Model>): boolean => teams.some(waitsToBePaid);

  async happen(model: Model, { world }: Real, draw: Draw): Promise<void> {
    const team = draw.one(model.teams.filter(waitsToBePaid));
    const checkout = team?.billing.checkout;
    if (!team || !checkout) return;
    this.told = `the checkout of ${model.readable(team.id)} for ${checkout.seats} seats is paid`;
    await world.stripe.pay(checkout.sessionId);
    await world.stripe.delivered();
    buy(team, checkout.seats);
  }
}

export class MonthPasses extends Event {
  // A checkout ends by the provider's clock, but the model checks it by ours.
  check = ({ teams }: Readonly<Model>): boolean =>
    !teams.some(waitsToBePaid) && teams.some(({ billing }) => billing.status === "active");

  async happen(model: Model, { world }: Real): Promise<void> {
    this.told = "a month passes at the payment provider";
    await world.stripe.advance(32 * DAY_MS);
    await world.stripe.delivered();
    letMonthPass(model);
  }
}

function letMonthPass({ teams }: Model): void {
  for (const team of teams.filter(({ billing, deleted }) => !deleted && billing.status === "active")) {
    team.maxMembers = maxMembersOf(team);
    const { seats, nextSeats, ending, invoices } = team.billing;
    Object.assign(team.billing, { seats: ending ? seats : (nextSeats ?? seats), nextSeats: null });
    if (ending) Object.assign(team.billing, { status: "canceled", upgrades: 0 });
    else team.billing.invoices = invoices + 1;
  }
}

/** What reaches the service without a request of a user. */
export interface News {
  readonly told: string;
  readonly isRenewal?: boolean;
  /** Returns what it changes, if it happens. */
  happen(): Promise<((model: Model) => void) | undefined>;
}

/**
 * News of a team's payments that come at any moment, to any server: events that say nothing new, the page after a
 * payment, the background job, and sometimes a payment or the end of a month.
 */
export function newsOf(team: Team, model: Model, real: Real, draw: Draw): News[] {
  const { world, urls } = real;
  const { stripe, database, services } = world;
  const { checkout } = team.billing;
  const nothing = (told: string, work: () => Promise<unknown>): News => ({
    told,
    happen: async () => void (await work()),
  });
  const sendEvent = async () => {
    const account = await database.models.billingAccount.findUnique({ where: { teamId: team.id } });
    const event = eventOf(`evt_${randomUUID().slice(-12)}`, account?.customerId ?? "");
    const sent = [...urls, ...urls].map((url) => sendEventTo({ stripe, app: { url } }, event));
    const wrong = (await Promise.all(sent)).find(({ status }) => status !== 200 && status !== 503);
    if (wrong) throw new Disagreement(`The webhook answered ${wrong.status}.`);
  };
  const look = async () => {
    const { status } = await ask(`${urls.at(-1)}/billing/return?session_id=${checkout?.sessionId}`);
    if (status >= 500 && status !== 503) throw new Disagreement(`The page after a payment answered ${status}.`);
  };
  const reconcile = () =>
    reconcileAccount(services, team.id).catch((error: unknown) => {
      if (!(error instanceof TeamNotFound || error instanceof AccountBusy)) throw error;
    });
  const pay = async () => {
    const seats = checkout?.seats ?? 0;
    const isPaid = await stripe.pay(checkout?.sessionId ?? "").then(
      () => true,
      () => false,
    );
    return isPaid ? (known: Model) => buy(known.teams.find(({ id }) => id === team.id) ?? team, seats) : undefined;
  };
  const month = async () => {
    await stripe.advance(32 * DAY_MS);
    return letMonthPass;
  };
  const all: News[] = [
    nothing("an event comes twice to each server", sendEvent),
    nothing("it is reconciled", reconcile),
  ];
  if (checkout)
    all.push(nothing("somebody looks at its checkout", look), { told: "its checkout is paid", happen: pay });
  else if (!model.teams.some(waitsToBePaid) && draw.once(3))
    all.push({ told: "a month passes", isRenewal: true, happen: month });
  return draw.some(all);
}

/** An event with nothing new is delivered twice, and an event without a valid signature. */
export class NewsAgain extends Event {
  check = ({ teams }: Readonly<Model>): boolean => teams.some(({ billing }) => billing.status !== "none");

  async happen(model: Model, { url, world }: Real, draw: Draw): Promise<void> {
    const team = draw.one(model.teams.filter(({ billing }) => billing.status !== "none"));
    if (!team) return;
    this.told = `news of ${model.readable(team.id)} comes twice, and a forgery`;
    const account = await world.database.models.billingAccount.findUnique({ where: { teamId: team.id } });
    const object = { object: "subscription", id: account?.subscriptionId, customer: account?.customerId };
    const event = {
      id: `evt_${randomUUID().replaceAll("-", "")}`,
      type: "customer.subscription.updated",
      data: { object },
    };
    const body = JSON.stringify({ object: "event", ...event });
    const at = Math.floor(Date.now() / 1_000);
    const sign = (secret: string) => createHmac("sha256", secret).update(`${at}.${body}`).digest("hex");
    for (const [secret, wanted] of [
      ["forged", 400],
      ...[0, 1].map(() => [world.stripe.webhookSecret, 200] as const),
    ] as const) {
      const headers = { "stripe-signature": `t=${at},v1=${sign(secret)}` };
      const { status } = await ask(`${url}/billing/stripe-webhook`, { headers, body });
      if (status !== wanted) throw new Disagreement(`The webhook answered ${status}, not ${wanted}.`);
    }
    if (!team.deleted) team.maxMembers = maxMembersOf(team);
  }
}
