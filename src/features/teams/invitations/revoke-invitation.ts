import { InputType } from "type-graphql";
import { IdField } from "../../../operation/id.js";
import { defineTeamOperation } from "../../../operation/operation.js";
import { TEAM_EXAMPLE } from "../team.js";
import {
  INVITATION_EXAMPLE,
  Invitation,
  InvitationNotPending,
  TeamInvitationNotFound,
  readInvitation,
  settleInvitation,
} from "./invitation.js";

@InputType({ description: "The invitation to revoke." })
export class RevokeInvitationInput {
  @IdField("The team's id.")
  teamId!: string;

  @IdField("The invitation's id.")
  invitationId!: string;
}

export const revokeInvitation = defineTeamOperation({
  name: "revokeInvitation",
  effect: "transaction",
  summary: "Revokes a pending invitation, so that its token no longer works.",
  input: RevokeInvitationInput,
  output: Invitation,
  permission: "teams:write",
  team: { which: "given", role: "admin" },
  failures: [TeamInvitationNotFound, InvitationNotPending],
  rest: { method: "DELETE", path: "/teams/:team_id/invitations/:invitation_id", status: 204 },
  example: {
    input: { teamId: TEAM_EXAMPLE.id, invitationId: INVITATION_EXAMPLE.id },
    output: { ...INVITATION_EXAMPLE, status: "revoked" },
  },
  audit: (_context, { teamId, invitationId }, { email }) => ({ teamId, subject: invitationId, detail: email }),
  async handle(context, { teamId, invitationId }) {
    const invitation = await readInvitation(context, { id: invitationId, teamId });
    return settleInvitation(context, invitation, "revoked", TeamInvitationNotFound);
  },
});
