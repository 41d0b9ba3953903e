import { InputType } from "type-graphql";
import { IdField } from "../../../operation/id.js";
import { defineTeamOperation } from "../../../operation/operation.js";
import { MemberNotFound } from "../member-not-found.js";
import { OwnerMustTransfer } from "../leave-team.js";
import { TEAM_EXAMPLE } from "../team.js";
import { countPending, withdrawnNote } from "../invitations/pending.js";
import { MEMBER_EXAMPLE, Member, OwnerIsProtected, assertManageable, memberOf } from "./member.js";

@InputType({ description: "The member to remove from a team." })
export class RemoveMemberInput {
  @IdField("The team's id.")
  teamId!: string;

  @IdField("The member's user id.")
  userId!: string;
}

export const removeMember = defineTeamOperation({
  name: "removeMember",
  effect: "transaction",
  summary:
    "Removes a member, who has no access to the team's graph from the next request. Pending invitations that the " +
    "member sent are withdrawn. What the member stored there stays, with their user id.",
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
    const target = await memberOf(context.database, { teamId, userId });
    assertManageable(team.role, target.role);
    const withdrawn = await countPending(context.database, { teamId, invitedBy: userId });
    const notOwner = { teamId, userId, role: { not: "owner" } } as const;
    await context.database.models.teamMember.deleteMany({ where: notOwner });
    return { ...target, withdrawn };
  },
});
