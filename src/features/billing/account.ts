import type { Context, Services } from "../../operation/context.js";
import type { Database, Statement } from "../../platform/database.js";

/** What is known of a team at the payment provider: the local copy, named as code names it. */
export interface BillingAccount {
  readonly teamId: string;
  readonly customerId: string | null;
  readonly mirroredAt: Date | null;
  readonly subscriptionId: string | null;
  readonly itemId: string | null;
  /** Stripe's word for the state of the subscription, or `none`. */
  readonly status: string;
  readonly seats: number | null;
  readonly periodStart: Date | null;
  readonly periodEnd: Date | null;
  readonly cancelAtPeriodEnd: boolean;
  readonly pendingSeats: number | null;
  readonly pendingUntil: Date | null;
  readonly hostedInvoiceUrl: string | null;
  /** The last checkout; the address tells whether it may still be paid. */
  readonly checkoutId: string | null;
  readonly checkoutUrl: string | null;
  readonly checkoutSeats: number | null;
  readonly checkoutExpiresAt: Date | null;
  /** When the provider last said that it is open. */
  readonly checkoutSeenAt: Date | null;
  /** Whether something was asked of the provider of which nobody knows yet what became of it. */
  readonly hasOpenOperation: boolean;
}

/** The account of a team that has never had to do with the provider. */
export const noAccount = (teamId: string): BillingAccount => ({
  teamId,
  customerId: null,
  mirroredAt: null,
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
  checkoutId: null,
  checkoutUrl: null,
  checkoutSeats: null,
  checkoutExpiresAt: null,
  checkoutSeenAt: null,
  hasOpenOperation: false,
});

/** The states of a subscription for which the team's plan counts: it lives, and what is due has been paid. */
const PAID = ["active", "trialing"];
/** The states from which no subscription comes back. */
const ENDED = ["none", "canceled", "incomplete_expired"];

type Status = Pick<BillingAccount, "status">;
export const isPaid = ({ status }: Status): boolean => PAID.includes(status);
/** Whether it may charge again: another subscription must not be bought beside it, nor its team be deleted. */
export const isLive = ({ status }: Status): boolean => !ENDED.includes(status);

/** The columns of a row, named as a BillingAccount is. */
export const ACCOUNT_COLUMNS = `b.team_id AS "teamId", b.customer_id AS "customerId", b.mirrored_at AS "mirroredAt",
  b.subscription_id AS "subscriptionId", b.item_id AS "itemId", b.status, b.seats, b.period_start AS "periodStart",
  b.period_end AS "periodEnd", b.cancel_at_period_end AS "cancelAtPeriodEnd", b.pending_seats AS "pendingSeats",
  b.pending_until AS "pendingUntil", b.hosted_invoice_url AS "hostedInvoiceUrl", b.checkout_id AS "checkoutId",
  b.checkout_url AS "checkoutUrl", b.checkout_seats AS "checkoutSeats", b.checkout_expires_at AS "checkoutExpiresAt",
  b.checkout_seen_at AS "checkoutSeenAt",
  EXISTS (SELECT FROM billing_operation o WHERE o.team_id = b.team_id AND o.outcome IS NULL) AS "hasOpenOperation"`;

const accountOfTeam: Statement = {
  name: "billing_account_of_team",
  text: `SELECT ${ACCOUNT_COLUMNS} FROM billing_account b WHERE b.team_id = $1::uuid`,
};

export async function accountOf({ database }: Pick<Context, "database">, teamId: string): Promise<BillingAccount> {
  const [account] = await database.run<BillingAccount>(accountOfTeam, [teamId]);
  return account ?? noAccount(teamId);
}

/**
 * Whether the copy may differ from what the provider would say: something was asked or may be paid at this moment, or
 * a time has passed at which something changes there.
 */
export function isUnsure(account: BillingAccount, now: Date): boolean {
  const { checkoutUrl, pendingSeats, periodEnd, mirroredAt, hasOpenOperation, customerId } = account;
  if (customerId === null) return hasOpenOperation;
  if (hasOpenOperation || checkoutUrl !== null || pendingSeats !== null || mirroredAt === null) return true;
  return isLive(account) && (!isPaid(account) || (periodEnd !== null && periodEnd <= now));
}

const accountByCustomer: Statement = {
  name: "billing_account_by_customer",
  text: `SELECT team_id AS "teamId" FROM billing_account WHERE customer_id = $1`,
};

/** The team that a customer of the provider stands for, be it deleted; undefined for somebody else's customer. */
export async function teamOfCustomer(database: Database, customerId: string): Promise<string | undefined> {
  return (await database.run<{ teamId: string }>(accountByCustomer, [customerId]))[0]?.teamId;
}

/** What may be asked outside of any operation: by a webhook, a chore, a command. */
export type BillingServices = Pick<Services, "database" | "billing" | "log" | "newId">;
