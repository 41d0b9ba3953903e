import type { Context, Services } from "../../operation/context.js";
import type { Database } from "../../platform/database.js";
import type { BillingAccount as AccountRow } from "../../platform/prisma/client.js";

/** Columns that are nobody's business but the lock's and the chore's. */
const UNSEEN = { lockedBy: true, lockedUntil: true, checkedAt: true } as const;

/**
 * What is known of a team at the payment provider. `status` is Stripe's word for the state of the subscription, or
 * `none`. Of the last checkout, `checkoutUrl` tells whether it may still be paid, and `checkoutSeenAt` when the provider
 * last said that it is open.
 */
export interface BillingAccount extends Readonly<Omit<AccountRow, keyof typeof UNSEEN>> {
  /** Whether something was asked of the provider of which nobody knows yet what became of it. */
  readonly hasOpenRequest: boolean;
}

/** The account of a team that has never had to do with the provider. */
const noAccount = (teamId: string): BillingAccount => ({
  teamId,
  customerId: null,
  copiedAt: null,
  ...NO_SUBSCRIPTION,
  ...NO_CHECKOUT,
  checkoutSeenAt: null,
  hasOpenRequest: false,
});

export const NO_SUBSCRIPTION = {
  subscriptionId: null,
  itemId: null,
  status: "none",
  seats: null,
  periodStart: null,
  periodEnd: null,
  cancelAtPeriodEnd: false,
  pendingSeats: null,
  pendingUntil: null,
  hostedInvoiceUrl: null,
} satisfies Partial<BillingAccount>;

export const NO_CHECKOUT = {
  checkoutId: null,
  checkoutUrl: null,
  checkoutSeats: null,
  checkoutExpiresAt: null,
} satisfies Partial<BillingAccount>;

/** The states of a subscription for which the team's plan counts: it lives, and what is due has been paid. */
const PAID = ["active", "trialing"];
/** The states from which no subscription comes back. */
const ENDED = ["none", "canceled", "incomplete_expired"];

type Status = Pick<BillingAccount, "status">;
export const isPaid = ({ status }: Status): boolean => PAID.includes(status);
/** Whether it may charge again: another subscription must not be bought beside it, nor its team be deleted. */
export const isLive = ({ status }: Status): boolean => !ENDED.includes(status);

/**
 * Requests are counted before the row is read: one that ends in between has left its effect in the row. The other way
 * round, both could be missing.
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
 * Whether the copy may differ from what the provider would say: something was asked or may be paid at this moment, or
 * a time has passed at which something changes there.
 */
export function isUnsure(account: BillingAccount, now: Date): boolean {
  const { checkoutUrl, pendingSeats, periodEnd, copiedAt, hasOpenRequest, customerId } = account;
  if (customerId === null) return hasOpenRequest;
  if (hasOpenRequest || checkoutUrl !== null || pendingSeats !== null || copiedAt === null) return true;
  return isLive(account) && (!isPaid(account) || (periodEnd !== null && periodEnd <= now));
}

/** The team that a customer of the provider stands for, be it deleted; undefined for somebody else's customer. */
export async function teamOfCustomer({ models }: Database, customerId: string): Promise<string | undefined> {
  const account = await models.billingAccount.findUnique({ where: { customerId }, select: { teamId: true } });
  return account?.teamId;
}

/** What may be asked outside of any operation: by a webhook, a chore, a command. */
export type BillingServices = Pick<Services, "database" | "billing" | "log" | "newId">;
