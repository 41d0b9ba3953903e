import { describe, expect, it, vi } from "vitest";
import { cancelTeamSubscription } from "../../../src/features/billing/cancel-team-subscription.js";
import { createTeamCheckout } from "../../../src/features/billing/create-team-checkout.js";
import { teamSubscription } from "../../../src/features/billing/team-subscription.js";
import { upgradeTeam } from "../../../src/features/billing/upgrade-team.js";
import { transferTeam } from "../../../src/features/teams/transfer-team.js";
import { stripeClient } from "../../../src/platform/billing/stripe-client.js";
import { type Payer, type StripeWorld, aPayer, createStripeWorld, customerOf, seatsOf } from "../../support/billing.js";
import { ask } from "../../support/http.js";
import { type ServerProcess, startServerProcess } from "../../support/server-process.js";
import { aTeam } from "../../support/teams.js";
import { type Actor, environmentOf } from "../../support/world.js";

/** A request to the provider, and whether the server is killed before the effect or before the answer arrives. */
interface Moment {
  readonly method: string;
  readonly path: RegExp;
  readonly dies: "before" | "after";
  /** Only the request that follows one with this path. */
  readonly follows?: RegExp;
}

const LIST = /^\/v1\/subscriptions$/;
const CHANGE = /^\/v1\/subscriptions\/sub_/;
const SESSION = /^\/v1\/checkout\/sessions$/;
const CUSTOMER = /^\/v1\/customers$/;

const moments = (method: string, path: RegExp): Moment[] =>
  (["before", "after"] as const).map((dies) => ({ method, path, dies }));

const CHANGES = [
  {
    name: "createTeamCheckout",
    path: "/billing/team-checkout",
    body: {},
    moments: [...moments("POST", CUSTOMER), ...moments("POST", SESSION), ...moments("GET", LIST)],
    async agrees(world: StripeWorld, payer: Payer) {
      const { data } = await stripeOf(world).checkout.sessions.list({ customer: await customerOf(world, payer) });
      expect(data.map(({ status }) => status)).toEqual(["open"]);
      expect((await payer.owner.did(createTeamCheckout)).sessionId).toBe(data[0]?.id);
    },
  },
  {
    name: "upgradeTeam",
    path: "/billing/team-upgrade",
    body: { max_members: 12 },
    moments: [...moments("POST", CHANGE), { method: "GET", path: LIST, dies: "before", follows: CHANGE } as const],
    async agrees(world: StripeWorld, payer: Payer) {
      const { data } = await stripeOf(world).subscriptions.list({ customer: await customerOf(world, payer) });
      expect(data.map(({ items }) => items.data.map(({ quantity }) => quantity))).toEqual([[12]]);
      const invoices = await stripeOf(world).invoices.list({ customer: await customerOf(world, payer) });
      expect(invoices.data).toHaveLength(2);
      expect(await seatsOf(world, payer)).toBe(12);
      expect(await payer.owner.did(upgradeTeam, { maxMembers: 12 })).toMatchObject({ seats: 12 });
    },
  },
  {
    name: "cancelTeamSubscription",
    path: "/billing/team-cancel",
    body: {},
    moments: [...moments("POST", CHANGE), { method: "GET", path: LIST, dies: "before", follows: CHANGE } as const],
    async agrees(world: StripeWorld, payer: Payer) {
      const { data } = await stripeOf(world).subscriptions.list({ customer: await customerOf(world, payer) });
      expect(data.map((subscription) => subscription.cancel_at_period_end)).toEqual([true]);
      expect(await payer.owner.did(cancelTeamSubscription)).toMatchObject({ cancelAtPeriodEnd: true });
    },
  },
] as const;

const stripeOf = ({ stripe }: StripeWorld) => stripeClient(stripe.secretKey, stripe.url);
const serverOn = (world: StripeWorld): Promise<ServerProcess> =>
  startServerProcess({ DATABASE_URL: world.databaseUrl, ...environmentOf(world.stripe) });

const until = (holds: () => boolean) => vi.waitFor(() => expect(holds()).toBe(true), { timeout: 90_000, interval: 10 });

/** Delays the server's next matching request, and resolves when it waits. */
async function holdAt(world: StripeWorld, { method, path, dies, follows }: Moment): Promise<void> {
  const { stripe } = world;
  const since = stripe.requests.length;
  const arrived = (wanted: RegExp, by: string) => () =>
    stripe.requests.slice(since).some((request) => request.method === by && wanted.test(request.path));
  const fault = { method, path, kind: dies === "before" ? "hang" : "slow", delayMs: 6_000, times: 9 } as const;
  if (follows) {
    stripe.fail({ method: "POST", path: follows, kind: "slow", delayMs: 300 });
    await until(arrived(follows, "POST"));
  }
  stripe.fail(fault);
  await until(arrived(path, method));
}

describe.concurrent.each(CHANGES.map((change) => [change.name, change] as const))("%s", (_name, change) => {
  const named = change.moments.map((moment) => {
    const { method, path, dies, follows } = moment;
    return [
      `${dies} ${method} ${path.source}${follows ? ", done after the change," : ""} has its effect`,
      moment,
    ] as const;
  });

  it.each(named)("is made once when the server is killed %s", async (_moment, moment) => {
    await using world = await createStripeWorld();
    const payer = await aPayer(world, { seats: 10 });
    if (change.name !== "createTeamCheckout") {
      await world.stripe.pay((await payer.owner.did(createTeamCheckout)).sessionId);
      await payer.owner.did(teamSubscription);
    }
    const request = { key: payer.owner.key, body: change.body, headers: { "idempotency-key": "once" } };
    const held = holdAt(world, moment);
    {
      await using doomed = await serverOn(world);
      const lost = ask(doomed.url + change.path, request).catch(() => "cut");
      await held;
      await doomed.kill("SIGKILL");
      expect(await lost).toBe("cut");
    }
    world.stripe.clearFaults();

    // It shares only the database with the killed server, so it can run in this process.
    const server = await world.serve();
    const { status } = await ask(server.url + change.path, request);

    expect(status).toBeLessThan(300);
    await change.agrees(world, payer);
  });
});

it.each(moments("POST", /^\/v1\/customers\/cus_/))(
  "gives the customer the last owner's address when the server is killed $dies the change of one before has its effect",
  async (moment) => {
    await using world = await createStripeWorld();
    const { owner, admin, member, teamId } = await aTeam(world);
    await owner.did(createTeamCheckout);
    const customer = await customerOf(world, { owner, teamId });
    const become = (actor: Actor, by: Actor) => by.did(transferTeam, { teamId, userId: actor.caller.userId });
    // As if the account had been read a while ago: the background job reads it at once.
    const due = () => world.database.models.billingAccount.updateMany({ data: { checkedAt: null } });
    await become(admin, owner);
    await due();
    const held = holdAt(world, moment);
    {
      await using doomed = await serverOn(world);
      await held;
      await doomed.kill("SIGKILL");
    }
    world.stripe.clearFaults();

    await become(member, admin);
    await due();
    await world.serve();

    const seen = async () => stripeOf(world).customers.retrieve(customer);
    await expect.poll(seen, { timeout: 60_000 }).toMatchObject({ email: member.email });
  },
);

it("grants paid seats when the server is killed while it processes the event", async () => {
  await using world = await createStripeWorld();
  const payer = await aPayer(world, { seats: 10 });
  const { sessionId } = await payer.owner.did(createTeamCheckout);
  {
    await using doomed = await serverOn(world);
    world.stripe.sendEventsTo(`${doomed.url}/billing/stripe-webhook`);
    const held = holdAt(world, { method: "GET", path: LIST, dies: "after" });
    await world.stripe.pay(sessionId);
    await held;
    await doomed.kill("SIGKILL");
  }
  world.stripe.clearFaults();

  const server = await world.serve();
  world.stripe.sendEventsTo(`${server.url}/billing/stripe-webhook`);

  // Stripe resends unanswered events, but here to the address of the killed server. So the team asks itself, as soon as
  // the killed server's lock has expired.
  const shown = async () => (await ask(`${server.url}/billing/team-subscription`, { key: payer.owner.key })).body;
  await expect.poll(shown).toMatchObject({ status: "active", seats: 10, stale: false });
});
