import type { Context } from "../../operation/context.js";
import type { Statement } from "../../platform/database.js";

const openInvitationsOf: Statement = {
  name: "open_invitations_of_inviter",
  text: `SELECT count(*)::int AS count FROM invitation
    WHERE team_id = $1::uuid AND invited_by = $2::uuid AND status = 'pending' AND expires_at > now()`,
};

/**
 * How many open invitations somebody has sent, for the audit. When they may no longer invite, the database withdraws
 * them in the same transaction. Read while the team is locked, so that the number is right.
 */
export async function openInvitationsBy({ database }: Context, teamId: string, userId: string): Promise<number> {
  const [open] = await database.run<{ count: number }>(openInvitationsOf, [teamId, userId]);
  return open?.count ?? 0;
}

/** What the audit says of them: nothing where there were none. */
export const withdrawnNote = (count: number | undefined): string | undefined =>
  count ? `invitations withdrawn: ${count}` : undefined;
