import type { Context } from "../../operation/context.js";
import type { Statement } from "../../platform/database.js";
import { type BillingAccount, isPaid } from "./account.js";
import { SubscriptionRequired } from "./failures.js";

const statusOfTeam: Statement = {
  name: "billing_status_of_team",
  text: "SELECT status FROM billing_account WHERE team_id = $1::uuid",
};

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
  const [account] = await database.run<Pick<BillingAccount, "status">>(statusOfTeam, [teamId]);
  if (!account || !isPaid(account)) throw new SubscriptionRequired(billing.freeSeats);
}
