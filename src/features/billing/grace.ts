import { ACCOUNT_PATH } from "../../operation/product.js";
import { DAY_MS } from "../../durations.js";
import { LIMITS } from "../../limits.js";
import { queueNotice } from "../../operation/notice.js";
import type { Database } from "../../platform/database/database.js";
import type { BillingMail } from "../../platform/billing/billing.js";
import { countInWords, minuteOf } from "../../wording.js";
import { type BillingAccount, NO_GRACE, isPaid } from "./account.js";
import { addressOfOwner } from "./payer.js";
import type { SubscriptionValues } from "./provider-subscription.js";
import type { BillingSession } from "./session.js";

export type Grace = Pick<BillingAccount, keyof typeof NO_GRACE>;

/** The grace period after the subscription was read, and the mail that the owner gets because of the change. */
interface GraceChange {
  readonly grace: Grace;
  readonly mail?: BillingMail;
}

/**
 * The grace period begins when the service first sees that the subscription is past due, by the database's clock. It
 * ends after `days`, or earlier if Stripe gives up the retries. If it would last longer than any may, it began while that
 * clock was ahead, and begins again, unless the clock may be behind now. Otherwise it ends when its mail said. The
 * transaction that stores it also queues the mail, so each mail is queued once.
 */
export function changeGrace(
  known: Grace,
  { status }: Pick<SubscriptionValues, "status">,
  { now, days, isNowSure }: { readonly now: Date; readonly days: number; readonly isNowSure: boolean },
): GraceChange {
  const { graceIsOver } = known;
  const after = (count: number) => new Date(now.getTime() + count * DAY_MS);
  if (status === "past_due" && known.graceUntil === null) {
    if (days === 0) return { grace: { graceUntil: now, graceIsOver: true }, mail: "plan_suspended" };
    return { grace: { graceUntil: after(days), graceIsOver: false }, mail: "payment_failed" };
  }
  const isTooLong = isNowSure && known.graceUntil !== null && known.graceUntil > after(LIMITS.billing.graceDaysMax);
  const graceUntil = isTooLong ? after(days) : known.graceUntil;
  const isOver = graceUntil !== null && !graceIsOver && (status !== "past_due" || graceUntil <= now);
  const grace = status === "past_due" ? { graceUntil, graceIsOver: graceIsOver || isOver } : NO_GRACE;
  return { grace, ...(isOver && !isPaid({ status }) && { mail: "plan_suspended" as const }) };
}

/** Queues a mail to the team's owner, unless the operator has switched it off. */
export async function tellOwner(
  inner: Database,
  { services, lock }: Pick<BillingSession, "services" | "lock">,
  mail: BillingMail,
  facts: MailFacts,
): Promise<void> {
  if (!services.billing.mails.has(mail)) return;
  const { teamId } = lock;
  const email = await addressOfOwner(inner, teamId);
  if (email === undefined) return;
  const page = services.publicUrl() + ACCOUNT_PATH;
  await queueNotice(inner, { id: services.newId(), email, teamId, ...WORDS[mail]({ ...facts, page }) });
}

/** Withdraws mails to the owner that wait to be sent: after a payment they would be wrong. */
export async function withdrawMails({ models }: Database, { teamId }: BillingSession["lock"]): Promise<void> {
  await models.mail.deleteMany({ where: { kind: "notice", teamId } });
}

interface MailFacts {
  readonly until: Date | null;
  readonly periodEnd: Date | null;
  readonly invoiceUrl: string | null;
  readonly freeSeats: number;
  /** What became of the subscription: after its end, a payment would not bring the plan back. */
  readonly outcome: keyof typeof OUTCOMES;
}

/** What a mail says; `page` is where the owner sees and changes the subscription. */
type Told = MailFacts & { readonly page: string };

const howToPay = ({ invoiceUrl, page }: Pick<Told, "invoiceUrl" | "page">): string =>
  invoiceUrl === null
    ? `Pay it, or choose another card, here:\n\n${page}`
    : `Pay the invoice, or confirm its payment, here:\n\n${invoiceUrl}`;

/** What the owner can do. */
const OUTCOMES = {
  ended: ({ page }) => `The subscription has ended. Buy seats again here:\n\n${page}`,
  paused: (facts) =>
    "The payment provider has paused the subscription: if the plan is not back when the invoice is paid, cancel the " +
    `subscription, and buy seats again.\n\n${howToPay(facts)}`,
  // Stripe judges by the latest invoice, which in the next period is another one; of an unpaid subscription, a draft:
  // https://docs.stripe.com/billing/subscriptions/overview#subscription-statuses
  owed: ({ invoiceUrl, periodEnd, page }) =>
    invoiceUrl === null || periodEnd === null
      ? `Nothing that can be paid now brings the plan back: cancel the subscription, and buy seats again, here:\n\n${page}`
      : `If the invoice is paid before ${minuteOf(periodEnd)}, the plan is back at once. Do not pay it later: then cancel ` +
        `the subscription, and buy seats again.\n\n${howToPay({ invoiceUrl, page })}`,
} satisfies Record<string, (facts: Pick<Told, "invoiceUrl" | "page" | "periodEnd">) => string>;

const WORDS: Readonly<Record<BillingMail, (facts: Told) => { subject: string; body: string }>> = {
  payment_failed: ({ until, ...facts }) => ({
    subject: "The payment for your team on Memory Graph did not go through",
    body: `The last payment for your team's seats did not go through: the card was declined, or your bank asks you to \
confirm the payment.

Everything stays as it is until ${until ? minuteOf(until) : "then"}. If the invoice is not paid by then, the team loses its plan.

${howToPay(facts)}`,
  }),
  plan_suspended: ({ freeSeats, outcome, ...facts }) => ({
    subject: "Your team on Memory Graph has lost its plan",
    body: `The payment for your team's seats did not go through, and the invoice was not paid in time.

Each member has their own plan again. Nobody was removed and nothing was deleted, but nobody can join beyond \
${countInWords(freeSeats, "member", "members")}. ${OUTCOMES[outcome](facts)}`,
  }),
};
