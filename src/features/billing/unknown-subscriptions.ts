import type { Stripe } from "stripe";
import type { Database } from "../../platform/database/database.js";

/** A subscription of a team whose customer the database does not have. */
export interface UnknownSubscription {
  readonly subscriptionId: string;
  readonly status: string;
  readonly createdAt: Date;
  /** What a period costs without discounts and taxes, in the currency's smallest unit. */
  readonly amount: number;
  readonly currency: string;
  /** The customer's address; null if the customer was deleted. */
  readonly email: string | null;
  readonly teamId: string;
}

/** How many customers are looked up at once. */
const PAGE = 1_000;

/**
 * Finds subscriptions in the Stripe account that charge for a team, and whose customer the database does not have: those
 * that were bought after a backup to which it went back, also of teams that it still has. Changes nothing. Those of
 * another installation with the same Stripe account are found, too.
 * @throws Stripe's errors, whose messages are for the operator.
 */
export async function findUnknownSubscriptions(
  stripe: Stripe,
  { models: { billingAccount } }: Pick<Database, "models">,
): Promise<UnknownSubscription[]> {
  const ofTeams: Array<{ readonly customerId: string; readonly shown: UnknownSubscription }> = [];
  for await (const subscription of stripe.subscriptions.list({ limit: 100, expand: ["data.customer"] })) {
    if (!subscription.metadata["team_id"] || subscription.status === "incomplete_expired") continue;
    ofTeams.push({ customerId: customerIdOf(subscription), shown: describe(subscription) });
  }
  // Read after Stripe: a customer is stored before its subscription can be bought.
  const known = new Set<string | null>();
  for (let start = 0; start < ofTeams.length; start += PAGE) {
    const customerId = { in: ofTeams.slice(start, start + PAGE).map(({ customerId }) => customerId) };
    const accounts = await billingAccount.findMany({ where: { customerId }, select: { customerId: true } });
    for (const account of accounts) known.add(account.customerId);
  }
  return ofTeams.filter(({ customerId }) => !known.has(customerId)).map(({ shown }) => shown);
}

const customerIdOf = ({ customer }: Stripe.Subscription): string =>
  typeof customer === "string" ? customer : customer.id;

function describe({
  id,
  status,
  created,
  items,
  currency,
  customer,
  metadata,
}: Stripe.Subscription): UnknownSubscription {
  return {
    subscriptionId: id,
    status,
    createdAt: new Date(created * 1_000),
    currency,
    amount: items.data.reduce((sum, { price, quantity }) => sum + (price.unit_amount ?? 0) * (quantity ?? 0), 0),
    email: typeof customer === "string" || customer.deleted ? null : customer.email,
    teamId: metadata["team_id"] ?? "",
  };
}
