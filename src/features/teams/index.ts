import { createTeam } from "./create-team.js";
import { deleteTeam } from "./delete-team.js";
import { myTeam, team } from "./get-team.js";
import { acceptInvitation, declineInvitation } from "./invitations/answer-invitation.js";
import { invitation } from "./invitations/get-invitation.js";
import { invitationById } from "./invitations/invitation-by-id.js";
import { inviteMember } from "./invitations/invite-member.js";
import { invitationsOfATeam, teamInvitations } from "./invitations/list-invitations.js";
import { mailInvitation } from "./invitations/mail-invitation.js";
import { resendInvitation } from "./invitations/resend-invitation.js";
import { revokeInvitation } from "./invitations/revoke-invitation.js";
import { leaveTeam } from "./leave-team.js";
import { teamAudit } from "./list-audit.js";
import { membersOfATeam, teamMembers, userOfMember } from "./members/list-members.js";
import { mayManage } from "./members/member.js";
import { removeMember } from "./members/remove-member.js";
import { updateMemberRole } from "./members/update-member-role.js";
import { teamOfViewer } from "./team-relations.js";
import { transferTeam } from "./transfer-team.js";
import { updateTeam } from "./update-team.js";

export { invitation, invitationById, mailInvitation };
export { teamChores } from "./chores.js";
export { answerByCode } from "./invitations/answer-by-code.js";
export { Invitation, readInvitations } from "./invitations/invitation.js";
export { forgetInvitationsTo, withdrawInvitationTo, withdrawInvitationsBy } from "./invitations/invitations-of-user.js";
export { type Bounce, markBounced } from "./invitations/mark-bounced.js";
export { type InvitationToSend, newInvitationToken } from "./invitations/invitation-token.js";
export { OwnerMustTransfer } from "./leave-team.js";
export { AuditEntry } from "./list-audit.js";
export { TeamRoleName } from "./team.js";

/** What the page of a team and its billing runs. */
export const teamsByPage = {
  myTeam,
  createTeam,
  updateTeam,
  teamMembers,
  teamInvitations,
  inviteMember,
  resendInvitation,
  revokeInvitation,
  updateMemberRole,
  removeMember,
  leaveTeam,
  mayManage,
} as const;

export const teamOperations = [
  createTeam,
  myTeam,
  team,
  updateTeam,
  deleteTeam,
  leaveTeam,
  transferTeam,
  teamAudit,
  teamMembers,
  updateMemberRole,
  removeMember,
  inviteMember,
  teamInvitations,
  resendInvitation,
  revokeInvitation,
  invitation,
  invitationById,
  mailInvitation,
  acceptInvitation,
  declineInvitation,
] as const;

export const teamRelations = [teamOfViewer, membersOfATeam, userOfMember, invitationsOfATeam] as const;
