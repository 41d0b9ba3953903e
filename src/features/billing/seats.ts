import type { Context } from "../../operation/context.js";
import { givesPlan, isLive } from "./account.js";
import { NoPaidSeat, type SeatLimit, SubscriptionRequired } from "./failures.js";

type Asked = Pick<Context, "database" | "billing" | "now">;

/**
 * Without a paid subscription, new members can join only up to the free seats; existing members stay. Must be called
 * while the team's row is locked.
 * @throws SubscriptionRequired when a team without a paid subscription would have more members than free seats.
 */
export async function assertMembersPaid(context: Asked, teamId: string, members: number): Promise<void> {
  const limit = await reachedLimit(context, teamId, members);
  if (limit) throw new SubscriptionRequired(limit);
}

/** The same for whoever joins, and may not know what the team owes. @throws NoPaidSeat */
export async function assertPaidSeat(context: Asked, teamId: string, members: number): Promise<void> {
  if (await reachedLimit(context, teamId, members)) throw new NoPaidSeat();
}

/** The limit, if so many members are beyond it. */
async function reachedLimit(
  { database, billing, now }: Asked,
  teamId: string,
  members: number,
): Promise<SeatLimit | undefined> {
  if (!billing.payments || members <= billing.freeSeats) return undefined;
  const { billingAccount } = database.models;
  const account = await billingAccount.findUnique({ where: { teamId }, select: { status: true, graceUntil: true } });
  if (account && givesPlan(account, now())) return undefined;
  return { freeSeats: billing.freeSeats, isUnpaid: account !== null && isLive(account) };
}
