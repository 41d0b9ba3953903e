import { timeOf } from "../../../operation/clock-statement.js";
import { defineTeamOperation } from "../../../operation/operation.js";
import { TEAM_EXAMPLE } from "../team.js";
import { INVITATION_LIMITS, TooManyInvitations, countInvitation } from "./invitation-allowance.js";
import {
  INVITATION_EXAMPLE,
  INVITATION_FIELDS,
  Invitation,
  InvitationNotPending,
  LIFETIME_MS,
  TeamInvitationNotFound,
  readInvitation,
  toInvitation,
} from "./invitation.js";
import { mailAgain } from "./mail-again.js";
import { pendingAt } from "./pending.js";
import { RevokeInvitationInput } from "./revoke-invitation.js";

export const resendInvitation = defineTeamOperation({
  name: "resendInvitation",
  effect: "transaction",
  summary: "Sends the mail of a pending invitation again. It can then be answered for another week.",
  notes: "Links in earlier mails keep working as long.",
  input: RevokeInvitationInput,
  output: Invitation,
  permission: "teams:write",
  team: { which: "given", role: "admin" },
  failures: [TeamInvitationNotFound, InvitationNotPending, TooManyInvitations],
  limits: INVITATION_LIMITS,
  rest: { method: "POST", path: "/teams/:team_id/invitations/:invitation_id/resend" },
  example: {
    input: { teamId: TEAM_EXAMPLE.id, invitationId: INVITATION_EXAMPLE.id },
    output: INVITATION_EXAMPLE,
  },
  audit: (_context, { teamId, invitationId }, { email }) => ({ teamId, subject: invitationId, detail: email }),
  async handle(context, { teamId, invitationId }) {
    const { database } = context;
    const invitation = await readInvitation(context, { id: invitationId, teamId });
    if (invitation.status !== "pending") throw new InvitationNotPending(invitation.status);
    await countInvitation(context, invitation.email);
    const now = await timeOf(database);
    // Only while it is pending: an answer at the same moment wins.
    const [row] = await database.models.invitation.updateManyAndReturn({
      where: { id: invitation.id, ...pendingAt(now) },
      data: { expiresAt: new Date(now.getTime() + LIFETIME_MS), bouncedAt: null },
      select: INVITATION_FIELDS,
    });
    if (!row) throw new InvitationNotPending((await readInvitation(context, invitation)).status);
    await mailAgain(context, row, now);
    return toInvitation(context, row, now);
  },
});
