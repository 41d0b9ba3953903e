import { Field, InputType, registerEnumType } from "type-graphql";
import { tellChanges } from "../../../operation/audit.js";
import { IdField } from "../../../operation/id.js";
import { defineTeamOperation } from "../../../operation/operation.js";
import { MemberNotFound } from "../member-not-found.js";
import { OwnerMustTransfer } from "../leave-team.js";
import { ASSIGNABLE_ROLES, TEAM_EXAMPLE } from "../team.js";
import { countPending, withdrawnNote } from "../invitations/pending.js";
import { MEMBER_EXAMPLE, Member, OwnerIsProtected, assertManageable, memberOf } from "./member.js";

export enum AssignableRole {
  ADMIN = "admin",
  MEMBER = "member",
}
registerEnumType(AssignableRole, {
  name: "AssignableRole",
  description: "A role that can be assigned. The role of owner can only be transferred.",
  valuesConfig: ASSIGNABLE_ROLES,
});

@InputType({ description: "The new role of a member." })
export class UpdateMemberRoleInput {
  @IdField("The team's id.")
  teamId!: string;

  @IdField("The member's user id.")
  userId!: string;

  @Field(() => AssignableRole, { description: "The role." })
  role!: AssignableRole;
}

export const updateMemberRole = defineTeamOperation({
  name: "updateMemberRole",
  effect: "transaction",
  summary:
    "Makes a member an admin, or an admin a member. Pending invitations that the former admin sent are withdrawn.",
  input: UpdateMemberRoleInput,
  output: Member,
  permission: "teams:write",
  team: { which: "given", role: "admin" },
  failures: [MemberNotFound, OwnerIsProtected, OwnerMustTransfer],
  rest: { method: "PUT", path: "/teams/:team_id/members/:user_id" },
  example: {
    input: { teamId: TEAM_EXAMPLE.id, userId: MEMBER_EXAMPLE.userId, role: AssignableRole.ADMIN },
    output: { ...MEMBER_EXAMPLE, role: "admin" },
  },
  audit: (_context, { teamId, userId }, { role, roleBefore = role, withdrawn }) => ({
    teamId,
    subject: userId,
    detail:
      [tellChanges([["role", roleBefore, role]]), withdrawnNote(withdrawn)].filter(Boolean).join(", ") || undefined,
  }),
  async handle(context, { teamId, userId, role }, { team }) {
    const { database } = context;
    const target = await memberOf(database, { teamId, userId });
    assertManageable(team.role, target.role);
    const withdrawn = role === AssignableRole.MEMBER ? await countPending(database, { teamId, invitedBy: userId }) : 0;
    const notOwner = { teamId, userId, role: { not: "owner" } } as const;
    await database.models.teamMember.updateMany({ where: notOwner, data: { role } });
    return { ...target, role, withdrawn, roleBefore: target.role };
  },
});
