import type { Context } from "../../operation/context.js";
import { timeOf } from "../../operation/clock-statement.js";

/**
 * How many open invitations somebody has sent, for the audit. When they may no longer invite, the database withdraws
 * them in the same transaction. Read while the team is locked, so that the number is right.
 */
export async function openInvitationsBy({ database }: Context, teamId: string, userId: string): Promise<number> {
  const expiresAt = { gt: await timeOf(database) };
  return database.models.invitation.count({ where: { teamId, invitedBy: userId, status: "pending", expiresAt } });
}

/** What the audit says of them: nothing where there were none. */
export const withdrawnNote = (count: number | undefined): string | undefined =>
  count ? `invitations withdrawn: ${count}` : undefined;
