import type { Context } from "../../operation/context.js";
import { givesPlan, isLive } from "./account.js";
import { SubscriptionRequired } from "./failures.js";

/**
 * Without a paid subscription, new members can join only up to the free seats; existing members stay. Must be called
 * while the team's row is locked.
 * @throws SubscriptionRequired when a team without a paid subscription would have more members than free seats.
 */
export async function assertMembersPaid(
  { database, billing, now }: Pick<Context, "database" | "billing" | "now">,
  teamId: string,
  members: number,
): Promise<void> {
  if (!billing.payments || members <= billing.freeSeats) return;
  const { billingAccount } = database.models;
  const account = await billingAccount.findUnique({ where: { teamId }, select: { status: true, graceUntil: true } });
  if (account && givesPlan(account, now())) return;
  throw new SubscriptionRequired({ freeSeats: billing.freeSeats, isUnpaid: account !== null && isLive(account) });
}
