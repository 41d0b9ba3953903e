import type { Context } from "../../operation/context.js";
import { countPending } from "./invitations/pending.js";

/**
 * Counts a member's pending invitations, for the audit. When the member may no longer invite, the database withdraws
 * them in the same transaction. Called while the team is locked, so that the number is right.
 */
export const countOpenInvitationsBy = ({ database }: Context, teamId: string, userId: string): Promise<number> =>
  countPending(database, { teamId, invitedBy: userId });

/** The detail for the audit; undefined for none. */
export const withdrawnNote = (count: number | undefined): string | undefined =>
  count ? `invitations withdrawn: ${count}` : undefined;
