import { describe, expect, it } from "vitest";
import { cancelTeamSubscription } from "../../../src/features/billing/cancel-team-subscription.js";
import { createTeamCheckout } from "../../../src/features/billing/create-team-checkout.js";
import { teamSubscription } from "../../../src/features/billing/team-subscription.js";
import { teamUpgradePreview } from "../../../src/features/billing/team-upgrade-preview.js";
import { upgradeTeam } from "../../../src/features/billing/upgrade-team.js";
import { deleteTeam } from "../../../src/features/teams/delete-team.js";
import { updateTeam } from "../../../src/features/teams/update-team.js";
import { type Payer, aPayer, customerOf, seatsOf } from "../../support/billing.js";
import { PROVIDERS, type Provider, deliverEvents } from "../../support/payment-providers.js";
import { type World, createWorld } from "../../support/world.js";

/** Stripe's test mode may answer slowly. */
const TIMEOUT_MS = 180_000;

if (!process.env["STRIPE_TEST_KEY"]) console.warn("STRIPE_TEST_KEY is not set: Stripe's own test mode is not tried.");

describe.each(PROVIDERS)("with %s", (_name, start) => {
  it(
    "opens one checkout for a number of seats, and replaces it for another number",
    { timeout: TIMEOUT_MS },
    async () => {
      await using scene = await createScene(start);
      const { provider, payer } = scene;

      const first = await payer.owner.did(createTeamCheckout);
      const again = await payer.owner.did(createTeamCheckout);
      await payer.owner.did(updateTeam, { teamId: payer.teamId, maxMembers: 7 });
      const other = await payer.owner.did(createTeamCheckout);

      expect(again.sessionId).toBe(first.sessionId);
      const sessions = provider.api.checkout.sessions;
      expect(await sessions.retrieve(first.sessionId)).toMatchObject({ status: "expired" });
      const open = await sessions.retrieve(other.sessionId, { expand: ["line_items"] });
      expect(open).toMatchObject({ status: "open", mode: "subscription", client_reference_id: payer.teamId });
      expect(open.line_items?.data).toMatchObject([{ quantity: 7, price: { id: provider.settings.priceId } }]);
    },
  );

  const cards = ["declined", "challenged"] as const;
  it.each(cards)(
    "buys, upgrades by a %s card and cancels seats until their end",
    { timeout: TIMEOUT_MS },
    async (card) => {
      await using scene = await createScene(start);
      const { provider, payer, world } = scene;
      const { owner } = payer;
      const customer = await scene.bought();
      expect(await owner.did(teamSubscription)).toMatchObject({ status: "active", plan: "team", seats: 5 });
      expect(await owner.does(createTeamCheckout)).toBeRefused("conflict", "already_subscribed");

      // Paid at once.
      expect(await owner.did(upgradeTeam, { maxMembers: 6 })).toMatchObject({ seats: 6, pendingUpdate: null });
      expect(await seatsOf(world, payer)).toBe(6);

      // Not paid: nothing is granted before the payment, and nothing is requested twice.
      await provider.setCard(customer, card);
      const pending = await owner.did(upgradeTeam, { maxMembers: 8 });
      expect(pending).toMatchObject({ status: "active", seats: 6, pendingUpdate: { seats: 8 } });
      expect(pending.hostedInvoiceUrl).toMatch(/^http/);
      await owner.did(upgradeTeam, { maxMembers: 8 });
      const invoices = await provider.api.invoices.list({ customer });
      const open = invoices.data.filter(({ status }) => status === "open");
      expect([invoices.data.length, open.length]).toEqual([3, 1]);
      await provider.payInvoice(open[0]?.id ?? "");
      await scene.deliver();
      expect(await seatsOf(world, payer)).toBe(8);
      expect(await owner.did(teamSubscription)).toMatchObject({
        seats: 8,
        pendingUpdate: null,
        hostedInvoiceUrl: null,
      });

      const { id } = await owner.did(cancelTeamSubscription);
      expect(await owner.did(cancelTeamSubscription)).toMatchObject({ status: "active", cancelAtPeriodEnd: true });
      expect(await provider.api.subscriptions.retrieve(id ?? "")).toMatchObject({ cancel_at_period_end: true });
      expect(await owner.did(teamUpgradePreview, { maxMembers: 8 })).toMatchObject({ proration: 0, nextInvoice: null });
      expect(await owner.does(deleteTeam, { teamId: payer.teamId })).toBeRefused("conflict", "subscription_active");

      await provider.api.subscriptions.cancel(id ?? "");
      await scene.deliver();
      expect(await owner.did(teamSubscription)).toMatchObject({ status: "canceled", plan: null });
      await owner.did(deleteTeam, { teamId: payer.teamId });
      expect(world.bugs).toEqual([]);
    },
  );

  it("ends a second subscription and keeps the older one", { timeout: TIMEOUT_MS }, async () => {
    await using scene = await createScene(start);
    const { provider, payer } = scene;
    const customer = await scene.bought();
    const { id: older } = await payer.owner.did(teamSubscription);
    const read = () => provider.api.subscriptions.retrieve(older ?? "");
    const { created } = await read();
    // Stripe's times are whole seconds, by its own clock.
    const secondNow = async () => Date.parse((await read()).lastResponse.headers["date"] ?? "") / 1_000;
    await expect.poll(secondNow, { timeout: TIMEOUT_MS }).toBeGreaterThan(created);
    const items = [{ price: provider.settings.priceId, quantity: 9 }];
    const second = await provider.api.subscriptions.create({ customer, items });

    await scene.deliver();

    expect(await provider.api.subscriptions.retrieve(second.id)).toMatchObject({ status: "canceled" });
    expect(await payer.owner.did(teamSubscription)).toMatchObject({ id: older, seats: 5 });
  });
});

interface Scene extends AsyncDisposable {
  readonly provider: Provider;
  readonly world: World;
  readonly payer: Payer;
  /** Delivers every event that has occurred so far. */
  deliver(): Promise<void>;
  /** Buys the seats; returns the customer. */
  bought(): Promise<string>;
}

/** A team of five seats that has bought nothing yet. */
async function createScene(start: () => Promise<Provider>): Promise<Scene> {
  const provider = await start();
  const world = await createWorld({ stripe: provider.settings });
  const app = await world.serve();
  const payer = await aPayer(world, { seats: 5 });
  const deliver = async () => deliverEvents(provider, app.url, await customerOf(world, payer));
  return {
    provider,
    world,
    payer,
    deliver,
    async bought() {
      const { sessionId } = await payer.owner.did(createTeamCheckout);
      await provider.pay(await provider.api.checkout.sessions.retrieve(sessionId));
      await deliver();
      return customerOf(world, payer);
    },
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}
