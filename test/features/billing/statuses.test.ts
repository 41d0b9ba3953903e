import { expect, it } from "vitest";
import { cancelTeamSubscription } from "../../../src/features/billing/cancel-team-subscription.js";
import { createTeamCheckout } from "../../../src/features/billing/create-team-checkout.js";
import { downgradeTeam } from "../../../src/features/billing/downgrade-team.js";
import { PaymentProviderError } from "../../../src/features/billing/failures.js";
import { openBillingPortal } from "../../../src/features/billing/open-billing-portal.js";
import { reconcileDueAccount } from "../../../src/features/billing/reconcile.js";
import { resumeTeamSubscription } from "../../../src/features/billing/resume-team-subscription.js";
import { teamInvoices } from "../../../src/features/billing/team-invoices.js";
import { teamSubscription } from "../../../src/features/billing/team-subscription.js";
import { teamUpgradePreview } from "../../../src/features/billing/team-upgrade-preview.js";
import { upgradeTeam } from "../../../src/features/billing/upgrade-team.js";
import { deleteTeam } from "../../../src/features/teams/delete-team.js";
import { teamAudit } from "../../../src/features/teams/list-audit.js";
import { minuteOf } from "../../../src/wording.js";
import { stripeClient } from "../../../src/platform/billing/stripe-client.js";
import {
  type BillingWorld,
  type Payer,
  aPayer,
  aSubscriber,
  accountNow,
  createBillingWorld,
  createStripeWorld,
  customerOf,
  endGrace,
} from "../../support/billing.js";

const stripeOf = ({ stripe }: BillingWorld) => stripeClient(stripe.secretKey, stripe.url);

const idOf = async ({ owner }: Payer) => String((await owner.did(teamSubscription)).id);

/** Teams whose subscription is live but grants nothing, one for each such status in Stripe. */
const STALLED = {
  async incomplete(world: BillingWorld) {
    const payer = await aPayer(world, { seats: 5 });
    await payer.owner.did(createTeamCheckout);
    const customer = await customerOf(world, payer);
    world.stripe.setCard(customer, "declined");
    const items = [{ price: world.stripe.priceId, quantity: 5 }];
    await stripeOf(world).subscriptions.create({ customer, items });
    await world.stripe.delivered();
    return payer;
  },
  async unpaid(world: BillingWorld) {
    const payer = await aSubscriber(world, { seats: 5 });
    world.stripe.setCard(await customerOf(world, payer), "declined");
    await world.stripe.advance(32 * 24 * 3_600_000);
    await world.stripe.giveUp(await idOf(payer));
    await world.stripe.delivered();
    return payer;
  },
  async past_due(world: BillingWorld) {
    const payer = await aSubscriber(world, { seats: 5 });
    world.stripe.setCard(await customerOf(world, payer), "declined");
    await world.stripe.advance(32 * 24 * 3_600_000);
    await world.stripe.delivered();
    await endGrace(world);
    return payer;
  },
  async paused(world: BillingWorld) {
    const payer = await aSubscriber(world, { seats: 5 });
    await world.stripe.pause(await idOf(payer));
    await world.stripe.delivered();
    return payer;
  },
} satisfies Record<string, (world: BillingWorld) => Promise<Payer>>;

const timeText = (time: Date | null): string => minuteOf(time ?? new Date(0));

const auditOf = async (owner: Payer["owner"], teamId: string) =>
  (await owner.did(teamAudit, { teamId, action: "cancelTeamSubscription" })).events;

it.each(Object.entries(STALLED))(
  "grants nothing for a subscription that is %s, and says what to do next",
  async (status, begin) => {
    await using world = await createBillingWorld();
    const { owner, teamId } = await begin(world);

    expect(await owner.did(teamSubscription)).toMatchObject({ status, plan: null, stale: false });
    const bought = await owner.does(createTeamCheckout);
    expect(bought).toBeRefused("conflict", "already_subscribed");
    const end = expect.stringContaining("or end it with `cancelTeamSubscription` and buy seats again");
    expect(bought).toMatchObject({ failure: { message: end } });
    const resizings = [
      await owner.does(upgradeTeam, { maxMembers: 8 }),
      await owner.does(downgradeTeam, { maxMembers: 3 }),
      await owner.does(teamUpgradePreview, { maxMembers: 8 }),
    ];
    const way = expect.stringContaining("While its `plan` is null, it can also be ended at once");
    for (const verdict of resizings) {
      expect(verdict).toBeRefused("conflict", "subscription_unpaid");
      expect(verdict).toMatchObject({ failure: { message: way } });
    }
    expect((await owner.did(resumeTeamSubscription)).status).toBe(status);
    expect((await owner.did(openBillingPortal)).url).toMatch(/^http/);
    expect((await owner.did(teamInvoices)).invoices.length).toBeGreaterThan(0);
    expect(await owner.does(deleteTeam, { teamId })).toBeRefused("conflict", "subscription_active");
    expect(world.bugs).toEqual([]);
  },
);

it.each(Object.entries(STALLED))(
  "ends a subscription that is %s at once, so that the team can buy again",
  async (_status, begin) => {
    await using world = await createBillingWorld();
    const { owner, teamId } = await begin(world);

    const ended = await owner.did(cancelTeamSubscription);

    expect(ended).toMatchObject({ status: "canceled", plan: null, stale: false });
    const [entry] = await auditOf(owner, teamId);
    expect(entry).toMatchObject({ action: "cancelTeamSubscription", subject: ended.id, detail: "at once" });
    // Nobody can pay for it any more.
    const statuses = (await owner.did(teamInvoices)).invoices.map((invoice) => invoice.status);
    expect(statuses).not.toContain("open");
    const { sessionId } = await owner.did(createTeamCheckout);
    await world.stripe.pay(sessionId);
    await world.stripe.delivered();
    expect(await owner.did(teamSubscription)).toMatchObject({ status: "active", plan: "team", seats: 5 });
  },
);

it("gives nothing for the old invoice in a later period of an unpaid subscription, and lets the team buy again", async () => {
  await using world = await createBillingWorld();
  const { owner } = await STALLED.unpaid(world);
  const [old] = (await owner.did(teamInvoices)).invoices;
  await world.stripe.advance(32 * 24 * 3_600_000);
  await world.stripe.delivered();

  // Nothing that can be paid would help.
  expect(await owner.did(teamSubscription)).toMatchObject({ status: "unpaid", plan: null, hostedInvoiceUrl: null });
  expect((await owner.did(teamInvoices)).invoices.map(({ status }) => status)).toEqual(["draft", "open", "paid"]);
  const verdict = await owner.does(upgradeTeam, { maxMembers: 8 });
  expect(verdict).toBeRefused("conflict", "subscription_unpaid");
  const advice = expect.stringContaining("paying an invoice of an earlier period does not bring the plan back");
  expect(verdict).toMatchObject({ failure: { message: advice } });

  expect(await owner.did(cancelTeamSubscription)).toMatchObject({ status: "canceled", plan: null });
  expect((await owner.did(teamInvoices)).invoices.map(({ status }) => status)).toEqual(["draft", "void", "paid"]);
  await expect(world.stripe.payInvoice(String(old?.id))).rejects.toThrow("is void");
  const { sessionId } = await owner.did(createTeamCheckout);
  await world.stripe.pay(sessionId);
  await world.stripe.delivered();
  expect(await owner.did(teamSubscription)).toMatchObject({ status: "active", plan: "team", seats: 5 });
});

it("lets the team buy again when the first payment of its subscription has not come within a day", async () => {
  await using world = await createBillingWorld();
  const { owner, teamId } = await STALLED.incomplete(world);

  await world.stripe.advance(24 * 3_600_000);
  await world.stripe.delivered();

  expect(await owner.did(teamSubscription)).toMatchObject({ status: "incomplete_expired", plan: null });
  expect(await owner.does(cancelTeamSubscription)).toBeRefused("conflict", "subscription_required");
  const { sessionId } = await owner.did(createTeamCheckout);
  await world.stripe.pay(sessionId);
  await world.stripe.delivered();
  expect(await owner.did(teamSubscription)).toMatchObject({ status: "active", plan: "team" });
  expect(await owner.does(deleteTeam, { teamId })).toBeRefused("conflict", "subscription_active");
});

it("shows a checkout as not paid before its payment arrives, and sends nobody away from a live subscription", async () => {
  await using world = await createBillingWorld();
  const shown = async (begin: (world: BillingWorld) => Promise<Payer>) => {
    const { checkoutId } = await accountNow(world, await begin(world));
    const text = await (await fetch(`${world.app.url}/billing/return?session_id=${checkoutId}`)).text();
    return text.replaceAll(/\s+/g, " ");
  };
  const newest = () => world.database.models.billingAccount.findFirstOrThrow({ orderBy: { teamId: "desc" } });

  expect(await shown(STALLED.incomplete)).toContain("Not paid yet");
  expect(await shown(STALLED.paused)).toContain("is not paid, or paused");
  expect(await shown((given) => aSubscriber(given, { seats: 1 }))).toContain("has <strong>1 seat</strong> now");
  for (const begin of [STALLED.past_due, STALLED.unpaid]) {
    const page = await shown(begin);
    expect(page).toContain("pay its open invoice at");
    expect(page).toContain(`Paying brings the plan back only before ${timeText((await newest()).periodEnd)}.`);
    // Another checkout would be refused.
    expect(page).not.toContain("begin again");
  }
  const late = await shown(async (given) => {
    const payer = await STALLED.unpaid(given);
    await world.stripe.advance(32 * 24 * 3_600_000);
    await world.stripe.delivered();
    return payer;
  });
  expect(late).toContain("paying now does not bring the plan back");
  expect(late).not.toContain("pay its open invoice");
});

it("says on the page of a checkout until when its seats stay, after a cancellation and after a failed payment", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aSubscriber(world, { seats: 5 });
  const account = () => world.database.models.billingAccount.findFirstOrThrow();
  const shown = async () => {
    const page = await fetch(`${world.app.url}/billing/return?session_id=${(await account()).checkoutId}`);
    return (await page.text()).replaceAll(/\s+/g, " ");
  };

  await owner.did(cancelTeamSubscription);
  const cancelled = await shown();
  const { periodEnd, customerId } = await account();
  await owner.did(resumeTeamSubscription);
  world.stripe.setCard(String(customerId), "declined");
  await world.stripe.advance(32 * 24 * 3_600_000);
  await world.stripe.delivered();
  const failed = await shown();
  const { graceUntil } = await account();

  expect(cancelled).toContain(`The subscription is cancelled: everything stays until ${timeText(periodEnd)}.`);
  expect(failed).toContain(`keeps its <strong>5 seats</strong> until ${timeText(graceUntil)}.`);
  expect(failed).not.toContain("Thank you");
});

it("looks at a paused subscription once a day, since its period does not end", async () => {
  await using world = await createStripeWorld();
  const { owner } = await aPayer(world, { seats: 5 });
  await world.stripe.pay((await owner.did(createTeamCheckout)).sessionId);
  await world.stripe.pause(String((await owner.did(teamSubscription)).id));
  const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000);
  const checked = (hours: number, status: string) =>
    world.database.models.billingAccount.updateMany({
      data: { status, periodEnd: hoursAgo(1), checkedAt: hoursAgo(hours) },
    });

  await checked(1, "paused");
  expect(await reconcileDueAccount(world.services)).toBe(false);
  await checked(25, "paused");
  expect(await reconcileDueAccount(world.services)).toBe(true);
  await checked(1, "active");
  expect(await reconcileDueAccount(world.services)).toBe(true);
  expect((await owner.did(teamSubscription)).status).toBe("paused");
});

it("reads the next team's subscription if the provider fails for some, and pauses if it fails for ten", async () => {
  await using world = await createStripeWorld();
  for (let teams = 0; teams < 11; teams++) await (await aPayer(world, { seats: 5 })).owner.did(createTeamCheckout);
  const readWhen = async (failing: number) => {
    await world.database.pool.query("UPDATE billing_account SET checked_at = now() - interval '6 minutes'");
    world.stripe.fail({ kind: "400", times: failing });
    const isDone = await reconcileDueAccount(world.services).catch((error: unknown) => error);
    const recently = { checkedAt: { gt: new Date(Date.now() - 60_000) } };
    return [isDone, await world.database.models.billingAccount.count({ where: recently })];
  };

  expect(await readWhen(2)).toEqual([true, 3]);
  expect(await readWhen(100)).toEqual([expect.any(PaymentProviderError), 10]);
});

it("leaves a subscription alone that was paid before a lost request to end it is resent", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const payer = await STALLED.unpaid(world);
  const { owner } = payer;
  world.stripe.fail({ kind: "cut-before", method: "DELETE", times: 2 });
  expect(await owner.does(cancelTeamSubscription)).toBeRefused("payment_provider_error");
  const [latest] = (await owner.did(teamInvoices)).invoices;

  await world.stripe.payInvoice(latest?.id ?? "");

  expect(await owner.did(teamSubscription)).toMatchObject({ status: "active", plan: "team", cancelAtPeriodEnd: false });
  expect(await owner.did(cancelTeamSubscription)).toMatchObject({ status: "active", cancelAtPeriodEnd: true });
});

it("records an immediate end even if its answer was lost", async () => {
  await using world = await createBillingWorld({ deaf: true });
  const { owner, teamId } = await STALLED.paused(world);
  world.stripe.fail({ kind: "cut-after", method: "DELETE", times: 1 });
  world.stripe.fail({ kind: "cut-before", method: "DELETE", times: 1 });
  expect(await owner.does(cancelTeamSubscription)).toBeRefused("payment_provider_error");

  expect(await owner.did(teamSubscription)).toMatchObject({ status: "canceled", stale: false });

  expect(await auditOf(owner, teamId)).toMatchObject([{ detail: "at once" }]);
});
