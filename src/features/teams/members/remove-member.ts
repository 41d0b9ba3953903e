import { InputType } from "type-graphql";
import { IdField } from "../../../operation/id.js";
import { defineTeamOperation } from "../../../operation/operation.js";
import type { Statement } from "../../../platform/database.js";
import { MemberNotFound } from "../member-not-found.js";
import { OwnerMustTransfer } from "../leave-team.js";
import { TEAM_EXAMPLE } from "../team.js";
import { openInvitationsBy, withdrawnNote } from "../withdrawn-invitations.js";
import { MEMBER_EXAMPLE, Member, OwnerIsProtected, mayManage } from "./member.js";
import { memberOfTeam } from "./update-member-role.js";

@InputType({ description: "Whom to remove from a team." })
export class RemoveMemberInput {
  @IdField("The team's id.")
  teamId!: string;

  @IdField("The member's user id.")
  userId!: string;
}

const remove: Statement = {
  name: "remove_member",
  text: "DELETE FROM team_member WHERE team_id = $1::uuid AND user_id = $2::uuid AND role <> 'owner'",
};

export const removeMember = defineTeamOperation({
  name: "removeMember",
  effect: "transaction",
  summary:
    "Removes a member; their access to the team's graph ends with their next request, and invitations that they sent and nobody answered are withdrawn.",
  input: RemoveMemberInput,
  output: Member,
  permission: "teams:write",
  team: { which: "given", role: "admin" },
  failures: [MemberNotFound, OwnerIsProtected, OwnerMustTransfer],
  rest: { method: "DELETE", path: "/teams/:team_id/members/:user_id", status: 204 },
  example: { input: { teamId: TEAM_EXAMPLE.id, userId: MEMBER_EXAMPLE.userId }, output: MEMBER_EXAMPLE },
  audit: (_context, { teamId, userId }, { withdrawn }) => ({
    teamId,
    subject: userId,
    detail: withdrawnNote(withdrawn),
  }),
  async handle(context, { teamId, userId }, { team }) {
    const [target] = await context.database.run<Member>(memberOfTeam, [teamId, userId]);
    if (!target) throw new MemberNotFound();
    if (!mayManage(team.role, target.role)) {
      throw team.role === "owner" ? new OwnerMustTransfer() : new OwnerIsProtected();
    }
    const withdrawn = await openInvitationsBy(context, teamId, userId);
    await context.database.run(remove, [teamId, userId]);
    return { ...target, withdrawn };
  },
});
