import type { Context, Services } from "../../operation/context.js";
import type { Database } from "../../platform/database/database.js";
import type { BillingAccount as AccountRow } from "../../platform/prisma/client.js";

/** Beside the hashes in `formerPayers`: the provider has refused the present owner's address. */
export const REFUSED = "refused";

/** Columns that only the lock and the background job use. */
const UNSEEN = { lockedBy: true, lockedUntil: true, checkedAt: true, formerPayers: true } as const;

/**
 * The stored state of a team at the payment provider. `status` is Stripe's status of the subscription, or `none`.
 * `checkoutUrl` is set while the last checkout may still be paid; `checkoutSeenAt` is when the provider last said that
 * it is open.
 */
export interface BillingAccount extends Readonly<Omit<AccountRow, keyof typeof UNSEEN>> {
  /** Whether there is a request to the provider with unknown outcome. */
  readonly hasOpenRequest: boolean;
}

/** The account of a team that has never used the provider. */
const noAccount = (teamId: string): BillingAccount => ({
  teamId,
  customerId: null,
  copiedAt: null,
  ...NO_SUBSCRIPTION,
  ...NO_CHECKOUT,
  ...NO_GRACE,
  checkoutSeenAt: null,
  hasOpenRequest: false,
});

export const NO_SUBSCRIPTION = {
  subscriptionId: null,
  itemId: null,
  status: "none",
  seats: null,
  nextSeats: null,
  interval: null,
  periodStart: null,
  periodEnd: null,
  cancelAtPeriodEnd: false,
  cancelAt: null,
  pendingSeats: null,
  pendingUntil: null,
  hostedInvoiceUrl: null,
} satisfies Partial<BillingAccount>;

export const NO_CHECKOUT = {
  checkoutId: null,
  checkoutUrl: null,
  checkoutSeats: null,
  checkoutPriceId: null,
  checkoutExpiresAt: null,
} satisfies Partial<BillingAccount>;

export const NO_GRACE = { graceUntil: null, graceIsOver: false } satisfies Partial<BillingAccount>;

/** The statuses of a live subscription whose due invoices are all paid. */
const PAID = ["active", "trialing"];
/** The final statuses of a subscription, and `none`. */
const ENDED = ["none", "canceled", "incomplete_expired"];
/** The same, as a list in SQL. */
export const ENDED_SQL = ENDED.map((status) => `'${status}'`).join(", ");

/** The statuses in which nothing is paid for, and Stripe does not try again: the period of a paused one never ends. */
const STALLED = ["incomplete", "unpaid", "paused"];

type Status = Pick<BillingAccount, "status">;
export const isPaid = ({ status }: Status): boolean => PAID.includes(status);
/** Whether it may charge again: then no other subscription can be bought, and the team cannot be deleted. */
export const isLive = ({ status }: Status): boolean => !ENDED.includes(status);

/**
 * Whether the team's plan and seats count: the subscription is paid, or its last payment failed so recently that the
 * grace period is not over. `caller-statement.ts` has the same rule in SQL.
 */
export const givesPlan = (account: Pick<BillingAccount, "status" | "graceUntil">, now: Date): boolean =>
  isPaid(account) || (account.status === "past_due" && account.graceUntil !== null && account.graceUntil > now);

/**
 * Whether it gives nothing until somebody pays or resumes it. Stripe can be set to leave a subscription past due for
 * ever.
 */
export const isStalled = (account: Pick<BillingAccount, "status" | "graceUntil">, now: Date): boolean =>
  STALLED.includes(account.status) || (account.status === "past_due" && !givesPlan(account, now));

/**
 * When a cancelled subscription ends; null for one that is renewed. Stripe states this by a flag, a time, or both.
 */
export const endOf = ({ cancelAt, cancelAtPeriodEnd, periodEnd }: BillingAccount): Date | null =>
  cancelAt ?? (cancelAtPeriodEnd ? periodEnd : null);

/**
 * Counts the open requests before it reads the row: if one is closed in between, the row has its effect. In the other
 * order, both the request and its effect could be missing.
 */
export async function accountOf(
  { database: { models } }: Pick<Context, "database">,
  teamId: string,
): Promise<BillingAccount> {
  const open = await models.billingRequest.count({ where: { teamId, outcome: null } });
  const row = await models.billingAccount.findUnique({ where: { teamId }, omit: UNSEEN });
  return row ? { ...row, hasOpenRequest: open > 0 } : noAccount(teamId);
}

/**
 * Whether the copy may be outdated: a request is open, something may be paid at this moment, or a time has passed at
 * which the subscription changes.
 */
export function mayBeOutdated(account: BillingAccount, now: Date): boolean {
  const { checkoutUrl, pendingSeats, periodEnd, cancelAt, copiedAt, hasOpenRequest, customerId } = account;
  if (customerId === null) return hasOpenRequest;
  if (hasOpenRequest || checkoutUrl !== null || pendingSeats !== null || copiedAt === null) return true;
  const isPast = (time: Date | null) => time !== null && time <= now;
  return isLive(account) && (!isPaid(account) || isPast(periodEnd) || isPast(cancelAt));
}

/** The team of a customer of the provider, even if the team is deleted; undefined for a customer of another service. */
export async function teamOfCustomer({ models }: Database, customerId: string): Promise<string | undefined> {
  const account = await models.billingAccount.findUnique({ where: { customerId }, select: { teamId: true } });
  return account?.teamId;
}

/** The services that webhooks, background jobs and commands use outside of operations. */
export type BillingServices = Pick<Services, "database" | "billing" | "log" | "now" | "newId" | "publicUrl"> &
  Pick<Context, "waits">;
