import { acceptInvitation, declineInvitation } from "./answer-invitation.js";
import { invitation } from "./get-invitation.js";
import { inviteMember } from "./invite-member.js";
import { TeamInvitationsRelation, teamInvitations } from "./list-invitations.js";
import { revokeInvitation } from "./revoke-invitation.js";

export { forgetOldAllowances, forgetOldInvitations } from "./forget-invitations.js";
export { Invitation } from "./invitation.js";
export {
  forgetInvitationsOf,
  receivedInvitations,
  sentInvitations,
  withdrawInvitationsBy,
} from "./invitations-of-user.js";
export { type InvitationToSend, newInvitationToken } from "./invitation-token.js";

export const invitationOperations = [
  inviteMember,
  teamInvitations,
  revokeInvitation,
  invitation,
  acceptInvitation,
  declineInvitation,
] as const;

export const invitationRelations = [TeamInvitationsRelation] as const;
