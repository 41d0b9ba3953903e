import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { cancelTeamSubscription } from "../../../src/features/billing/cancel-team-subscription.js";
import { changeGrace } from "../../../src/features/billing/grace.js";
import { assertResizable } from "../../../src/features/billing/live-subscription.js";
import { reconcileDueAccount } from "../../../src/features/billing/reconcile.js";
import { teamSubscription } from "../../../src/features/billing/team-subscription.js";
import { upgradeTeam } from "../../../src/features/billing/upgrade-team.js";
import { transferTeam } from "../../../src/features/teams/transfer-team.js";
import { inviteMember } from "../../../src/features/teams/invitations/invite-member.js";
import { isSure } from "../../../src/operation/retention.js";
import {
  type BillingWorld,
  aSubscriber,
  accountNow,
  createBillingWorld,
  customerOf,
  endGrace,
  subscriptionOf,
} from "../../support/billing.js";
import { stripeClient } from "../../../src/platform/billing/stripe-client.js";
import { ask } from "../../support/http.js";
import { startMailServer } from "../../support/mail-server.js";

const DAY_MS = 24 * 3_600_000;
const MONTH_MS = 32 * DAY_MS;
const WEEK_MS = 7 * DAY_MS;

/** No server listens there, so mails stay in the queue and can be read. */
const MAILS_WAIT = { SMTP_URL: "smtp://127.0.0.1:9" };

/** A team whose renewal was not paid. */
async function aDebtor(world: BillingWorld, card: "challenged" | "declined" = "declined") {
  const payer = await aSubscriber(world, { seats: 10 });
  world.stripe.setCard(await customerOf(world, payer), card);
  await world.stripe.advance(MONTH_MS);
  await world.stripe.delivered();
  return payer;
}

const noticesOf = async ({ database }: BillingWorld) =>
  (await database.models.mail.findMany({ where: { kind: "notice" }, orderBy: { id: "asc" } })).map(
    ({ email, subject, body }) => ({ email, subject, body }),
  );

const policyOf = async ({ app }: BillingWorld, key: string) =>
  (await ask(`${app.url}/me`, { key })).headers.get("ratelimit-policy");

it("keeps plan and seats after a failed payment, and mails the owner once", async () => {
  await using world = await createBillingWorld({ environment: MAILS_WAIT });
  const payer = await aDebtor(world);
  const { owner, teamId } = payer;

  const shown = await owner.did(teamSubscription);
  await owner.did(teamSubscription);

  expect(shown).toMatchObject({ status: "past_due", plan: "team", seats: 10 });
  expect(Math.abs(Number(shown.graceUntil) - Date.now() - WEEK_MS)).toBeLessThan(60_000);
  expect(await policyOf(world, owner.key)).toBe('"team";q=1000;w=60');
  for (const name of ["a", "b", "c", "d", "e"]) {
    await owner.did(inviteMember, { teamId, email: `${name}@example.com`, role: "member" });
  }
  expect(await owner.does(upgradeTeam, { maxMembers: 12 })).toBeRefused("conflict", "subscription_unpaid");
  // As in the first hour of the next period, when Stripe has not finalized its invoice.
  const withDraft = { ...(await accountNow(world, payer)), hostedInvoiceUrl: null };
  expect(() => assertResizable(withDraft)).toThrow("Pay its invoice");
  const notices = await noticesOf(world);
  expect(notices).toMatchObject([{ email: owner.email, subject: expect.stringContaining("did not go through") }]);
  // With the time: where the day begins earlier or later, a day alone would say another one.
  expect(notices[0]?.body).toContain(`until ${shown.graceUntil?.toISOString().slice(0, 16).replace("T", " ")} UTC`);
  expect(notices[0]?.body).toContain(shown.hostedInvoiceUrl);
});

it("mails whoever owns the team when the mail is sent, at the address that they have then", async () => {
  await using smtp = await startMailServer();
  await smtp.stop();
  await using world = await createBillingWorld({ environment: { SMTP_URL: smtp.url } });
  const { owner, teamId } = await aDebtor(world);
  await owner.did(teamSubscription);
  const { mail, user } = world.database.models;
  await expect.poll(() => mail.findMany()).toMatchObject([{ email: owner.email, lastError: expect.any(String) }]);
  const heir = await world.user();
  await world.seat(heir, teamId);
  await owner.did(transferTeam, { teamId, userId: heir.caller.userId });
  await user.update({ where: { id: heir.caller.userId }, data: { email: "heir@example.com" } });

  await smtp.start();
  await mail.updateMany({ data: { dueAt: new Date() } });

  await expect.poll(() => mail.count()).toBe(0);
  const failed = smtp.mails.filter(({ subject }) => subject?.endsWith("did not go through"));
  expect(failed.map(({ to }) => to)).toEqual(["heir@example.com"]);
});

it("lets the plan fall back when the grace period ends, and mails the owner once, without an event or a request", async () => {
  await using world = await createBillingWorld({ environment: MAILS_WAIT });
  const { owner, teamId } = await aDebtor(world);
  await owner.did(teamSubscription);
  await endGrace(world);
  await world.database.models.billingAccount.updateMany({ data: { checkedAt: new Date(Date.now() - 120_000) } });
  expect(await policyOf(world, owner.key)).toBe('"free";q=60;w=60');

  // If the server's own job has claimed the account, that ends the plan.
  await reconcileDueAccount(world.services);
  await expect.poll(() => noticesOf(world)).toHaveLength(2);

  expect(await owner.did(teamSubscription)).toMatchObject({ status: "past_due", plan: null });
  const further = { teamId, email: "six@example.com", role: "member" };
  for (const name of ["a", "b", "c", "d"]) {
    await owner.did(inviteMember, { ...further, email: `${name}@example.com` });
  }
  expect(await owner.does(inviteMember, further)).toBeRefused("conflict", "subscription_required");
  expect(await noticesOf(world)).toMatchObject([
    { subject: "The payment for your team on Memory Graph did not go through" },
    {
      subject: "Your team on Memory Graph has lost its plan",
      body: expect.stringContaining("nobody can join beyond 5 members"),
    },
  ]);
});

it("says in the mail until when a payment brings the plan back: in a later period, it is for nothing", async () => {
  await using world = await createBillingWorld({ environment: MAILS_WAIT });
  const payer = await aDebtor(world);

  await world.stripe.giveUp(await subscriptionOf(world, payer));
  await world.stripe.delivered();

  const { status, currentPeriodEnd } = await payer.owner.did(teamSubscription);
  expect(status).toBe("unpaid");
  const until = `is paid before ${String(currentPeriodEnd?.toISOString()).slice(0, 16).replace("T", " ")} UTC, the plan is back`;
  expect((await noticesOf(world)).at(-1)?.body).toContain(until);
});

it("asks in the mail for no payment when only a draft is left, in a later period of an unpaid subscription", async () => {
  await using world = await createBillingWorld({ environment: MAILS_WAIT, deaf: true });
  const payer = await aSubscriber(world, { seats: 10 });
  const readAgain = async () => {
    await world.database.models.billingAccount.updateMany({ data: { copiedAt: null } });
    return payer.owner.did(teamSubscription);
  };
  world.stripe.setCard(await customerOf(world, payer), "declined");
  await world.stripe.advance(MONTH_MS);
  expect(await readAgain()).toMatchObject({ status: "past_due" });
  await world.stripe.giveUp(await subscriptionOf(world, payer));
  await world.stripe.advance(MONTH_MS);

  expect(await readAgain()).toMatchObject({ status: "unpaid", plan: null, hostedInvoiceUrl: null });

  const notice = (await noticesOf(world)).at(-1);
  expect(notice?.subject).toContain("lost its plan");
  expect(notice?.body).toContain("Nothing that can be paid now brings the plan back: cancel the subscription");
  expect(notice?.body).not.toMatch(/back at once|Pay it/);
});

it("ends in time, without a request, though it began while the database's clock was a year ahead", async () => {
  await using world = await createBillingWorld({ environment: MAILS_WAIT });
  const payer = await aDebtor(world);
  await payer.owner.did(teamSubscription);
  const inAYear = new Date(Date.now() + 365 * DAY_MS);
  await world.database.models.billingAccount.updateMany({
    // A server was killed meanwhile.
    data: { graceUntil: inAYear, checkedAt: inAYear, lockedBy: randomUUID(), lockedUntil: inAYear },
  });

  // If the server's own job has claimed the account, that reads it.
  await reconcileDueAccount(world.services);

  await expect.poll(async () => Number((await accountNow(world, payer)).graceUntil)).toBeLessThan(Date.now() + WEEK_MS);
  expect(await payer.owner.did(teamSubscription)).toMatchObject({ status: "past_due", plan: "team" });
  expect(await noticesOf(world)).toHaveLength(1);
});

it.each([
  ["shortens a grace period that began while the database's clock was ahead", 0, 61, 7],
  ["leaves one as it is while that clock is behind", -365, 8, 8],
  ["leaves one as it is that is longer than those that begin now", 0, 8, 8],
])("%s", (_what, offDays, toldDays, days) => {
  const now = new Date(Date.now() + offDays * DAY_MS);
  const known = { graceUntil: new Date(Date.now() + toldDays * DAY_MS), graceIsOver: false };

  const { grace, mail } = changeGrace(known, { status: "past_due" }, { now, days: 7, isNowSure: isSure(now) });

  expect([Math.round((Number(grace.graceUntil) - Date.now()) / DAY_MS), mail]).toEqual([days, undefined]);
});

it("lets a subscription be cancelled with its period while the plan counts, also again after a clock was ahead", async () => {
  await using world = await createBillingWorld({ environment: MAILS_WAIT });
  const { owner } = await aDebtor(world);
  const { currentPeriodEnd: endsAt } = await owner.did(teamSubscription);
  await world.database.models.billingAccount.updateMany({ data: { graceIsOver: true } });

  expect(await owner.did(cancelTeamSubscription)).toMatchObject({ status: "past_due", plan: "team", endsAt });
});

it("lets a cancelled subscription keep its plan until the end of its period", async () => {
  await using world = await createBillingWorld();
  const { owner } = await aDebtor(world);
  const { currentPeriodEnd: endsAt } = await owner.did(teamSubscription);

  const cancelled = await owner.did(cancelTeamSubscription);

  expect(cancelled).toMatchObject({ status: "past_due", plan: "team", endsAt });
});

it("asks the owner, where the bank does, to confirm the payment of a renewal, and says where", async () => {
  await using world = await createBillingWorld({ environment: MAILS_WAIT });
  const payer = await aDebtor(world, "challenged");

  const { status, plan, hostedInvoiceUrl } = await payer.owner.did(teamSubscription);

  expect([status, plan]).toEqual(["past_due", "team"]);
  const [notice] = await noticesOf(world);
  expect(notice?.body).toContain(`confirm its payment, here:\n\n${hostedInvoiceUrl}`);
  await world.stripe.payInvoice(/in_\w+/.exec(hostedInvoiceUrl ?? "")?.[0] ?? "");
  await world.stripe.delivered();
  expect(await payer.owner.did(teamSubscription)).toMatchObject({ status: "active", graceUntil: null });
});

it("forgets the failure when the invoice is paid, so that the next one has a grace period of its own", async () => {
  await using world = await createBillingWorld({ environment: MAILS_WAIT });
  const payer = await aDebtor(world);
  const { hostedInvoiceUrl } = await payer.owner.did(teamSubscription);

  await world.stripe.payInvoice(/in_\w+/.exec(hostedInvoiceUrl ?? "")?.[0] ?? "");
  await world.stripe.delivered();

  expect(await payer.owner.did(teamSubscription)).toMatchObject({ status: "active", plan: "team", graceUntil: null });
  expect(await noticesOf(world)).toEqual([]);
  await world.stripe.advance(MONTH_MS);
  await world.stripe.delivered();
  expect(await payer.owner.did(teamSubscription)).toMatchObject({ status: "past_due", plan: "team" });
  // The mail of the first failure still waited when the invoice was paid.
  expect(await noticesOf(world)).toHaveLength(1);
});

it("ends with the subscription, if that ends first", async () => {
  await using world = await createBillingWorld({ environment: MAILS_WAIT });
  const payer = await aDebtor(world);
  const { subscriptions } = stripeClient(world.stripe.secretKey, world.stripe.url);

  await subscriptions.cancel(await subscriptionOf(world, payer));
  await world.stripe.delivered();

  const ended = { status: "canceled", plan: null, graceUntil: null, hostedInvoiceUrl: null };
  expect(await payer.owner.did(teamSubscription)).toMatchObject(ended);
  const notice = (await noticesOf(world)).at(-1);
  expect(notice?.subject).toContain("lost its plan");
  // Paying the old invoice would buy nothing.
  expect(notice?.body).toContain("Buy seats again here:");
  expect(notice?.body?.match(/https?:.*/g)).toEqual([`${world.app.url}/account`]);
});

it("says where to pay when Stripe stops retrying but keeps the subscription", async () => {
  await using world = await createBillingWorld({ environment: MAILS_WAIT });
  const payer = await aDebtor(world);
  const { hostedInvoiceUrl } = await payer.owner.did(teamSubscription);

  await world.stripe.giveUp(await subscriptionOf(world, payer));
  await world.stripe.delivered();

  expect(await payer.owner.did(teamSubscription)).toMatchObject({ status: "unpaid", plan: null, graceUntil: null });
  const notice = (await noticesOf(world)).at(-1);
  expect(notice?.subject).toContain("lost its plan");
  expect(notice?.body).toContain(hostedInvoiceUrl);
  await world.stripe.payInvoice(/in_\w+/.exec(hostedInvoiceUrl ?? "")?.[0] ?? "");
  await world.stripe.delivered();
  expect(await payer.owner.did(teamSubscription)).toMatchObject({ status: "active", plan: "team" });
});

it("says where to pay even if Stripe marks the invoice as uncollectible, and takes the payment", async () => {
  await using world = await createBillingWorld({ environment: MAILS_WAIT });
  const payer = await aDebtor(world);
  const { invoices } = stripeClient(world.stripe.secretKey, world.stripe.url);
  const [renewal] = (await invoices.list({ customer: await customerOf(world, payer) })).data;
  const subscription = await subscriptionOf(world, payer);

  // Stripe does both at once when its retries end, if it is set up so. Marking it by hand forgives the debt.
  await invoices.markUncollectible(String(renewal?.id));
  await world.stripe.delivered();
  expect(await payer.owner.did(teamSubscription)).toMatchObject({ status: "active", hostedInvoiceUrl: null });
  await world.stripe.giveUp(subscription);
  await world.stripe.delivered();

  const url = String(renewal?.hosted_invoice_url);
  expect(await payer.owner.did(teamSubscription)).toMatchObject({ status: "unpaid", hostedInvoiceUrl: url });
  await world.stripe.payInvoice(String(renewal?.id));
  await world.stripe.delivered();
  expect(await payer.owner.did(teamSubscription)).toMatchObject({ status: "active", plan: "team" });
});

it("does not promise that paying brings the plan back when Stripe has paused the subscription", async () => {
  await using world = await createBillingWorld({ environment: MAILS_WAIT });
  const payer = await aDebtor(world);

  await world.stripe.pause(await subscriptionOf(world, payer));
  await world.stripe.delivered();

  expect(await payer.owner.did(teamSubscription)).toMatchObject({ status: "paused", plan: null });
  const notice = (await noticesOf(world)).at(-1);
  expect(notice?.body).toContain("has paused the subscription: if the plan is not back when the invoice is paid");
  expect(notice?.body).not.toContain("back at once");
});

it("sends no mail that is switched off, and works without a grace period", async () => {
  await using world = await createBillingWorld({ billing: { graceDays: 0, mails: new Set() }, deaf: true });
  const payer = await aSubscriber(world, { seats: 10 });
  await payer.owner.did(teamSubscription);
  world.stripe.setCard(await customerOf(world, payer), "declined");
  await world.stripe.advance(MONTH_MS);
  await world.database.models.billingAccount.updateMany({ data: { copiedAt: null } });

  expect(await payer.owner.did(teamSubscription)).toMatchObject({ status: "past_due", plan: null });
  expect(await accountNow(world, payer)).toMatchObject({ graceIsOver: true });
  expect(await noticesOf(world)).toEqual([]);
});
