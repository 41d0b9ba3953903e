import { InputType } from "type-graphql";
import { IdField } from "../../operation/id.js";
import { defineOperation } from "../../operation/operation.js";
import { RoleTooSmall, TEAM_EXAMPLE, TeamNotFound, lockTeam } from "../teams/index.js";
import {
  INVITATION_EXAMPLE,
  Invitation,
  InvitationNotFound,
  InvitationNotPending,
  invitationById,
  settleInvitation,
} from "./invitation.js";

@InputType({ description: "Which invitation to take back." })
export class RevokeInvitationInput {
  @IdField("The team's id.")
  teamId!: string;

  @IdField("The invitation's id.")
  invitationId!: string;
}

export const revokeInvitation = defineOperation({
  name: "revokeInvitation",
  kind: "mutation",
  summary: "Takes a pending invitation back; its token accepts nothing any more.",
  input: RevokeInvitationInput,
  output: Invitation,
  permission: "teams:write",
  failures: [TeamNotFound, RoleTooSmall, InvitationNotFound, InvitationNotPending],
  rest: { method: "DELETE", path: "/teams/:team_id/invitations/:invitation_id", status: 204 },
  example: {
    input: { teamId: TEAM_EXAMPLE.id, invitationId: INVITATION_EXAMPLE.id },
    output: { ...INVITATION_EXAMPLE, status: "revoked" },
  },
  audit: (_context, { teamId, invitationId }, { email }) => ({ teamId, subject: invitationId, detail: email }),
  async handle(context, { teamId, invitationId }) {
    await lockTeam(context, teamId, "admin");
    const [invitation] = await context.database.run<Invitation>(invitationById, [teamId, invitationId]);
    if (!invitation) throw new InvitationNotFound();
    return settleInvitation(context, invitation, "revoked");
  },
});
