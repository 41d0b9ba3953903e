import type { Context } from "../../operation/context.js";
import { isPaid } from "./account.js";
import { SubscriptionRequired } from "./failures.js";

/**
 * For a team whose row is locked: members come in only up to what is paid for, or free. Nobody who is in is removed.
 * @throws SubscriptionRequired when a team without a paid subscription would have more members than are free.
 */
export async function assertMembersPaid(
  { database, billing }: Pick<Context, "database" | "billing">,
  teamId: string,
  members: number,
): Promise<void> {
  if (!billing.payments || members <= billing.freeSeats) return;
  const { billingAccount } = database.models;
  const account = await billingAccount.findUnique({ where: { teamId }, select: { status: true } });
  if (!account || !isPaid(account)) throw new SubscriptionRequired(billing.freeSeats);
}
