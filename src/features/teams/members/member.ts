import { Field, ID, ObjectType } from "type-graphql";
import type { TeamRole } from "../../../operation/context.js";
import { Failure } from "../../../operation/failure.js";
import type { Database } from "../../../platform/database/database.js";
import { OwnerMustTransfer } from "../leave-team.js";
import { MemberNotFound } from "../member-not-found.js";
import { TeamRoleName } from "../team.js";

@ObjectType({ description: "A member of a team." })
export class Member {
  @Field(() => ID, { description: "The user's id." })
  userId!: string;

  @Field(() => String, { description: "The user's e-mail address." })
  email!: string;

  @Field(() => String, { nullable: true, description: "The user's name." })
  name!: string | null;

  @Field(() => TeamRoleName, { description: "The member's role." })
  role!: TeamRole;

  @Field(() => Date, { description: "When the member joined." })
  joinedAt!: Date;

  /** Only for the audit: how many invitations a change withdrew. Not a declared field, so no client sees it. */
  withdrawn?: number;

  /** Also only for the audit: the role before a change. */
  roleBefore?: TeamRole;
}

export const MEMBER_EXAMPLE: Member = {
  userId: "019bb153-9a51-7d3e-9f40-516273849506",
  email: "bob@example.com",
  name: "Bob",
  role: "member",
  joinedAt: new Date("2026-03-03T08:00:12.000Z"),
};

const FIELDS = { userId: true, role: true, joinedAt: true, user: { select: { email: true, name: true } } } as const;

/** A page of a team's members: after a user id, or from the first. Sorted by id, since joining times may be equal. */
export async function membersOf(
  { models }: Pick<Database, "models">,
  { teamId, after, limit }: { readonly teamId: string; readonly after: string | null; readonly limit: number },
): Promise<Member[]> {
  const where = { teamId, ...(after !== null && { userId: { gt: after } }) };
  const rows = await models.teamMember.findMany({ where, orderBy: { userId: "asc" }, take: limit, select: FIELDS });
  return rows.map(toMember);
}

/** @throws MemberNotFound for a user who is not in the team. */
export async function memberOf(
  { models }: Pick<Database, "models">,
  { teamId, userId }: { readonly teamId: string; readonly userId: string },
): Promise<Member> {
  const row = await models.teamMember.findUnique({ where: { userId, teamId }, select: FIELDS });
  if (!row) throw new MemberNotFound();
  return toMember(row);
}

const toMember = ({
  user,
  ...row
}: Omit<Member, "email" | "name"> & { user: Pick<Member, "email" | "name"> }): Member => ({
  ...row,
  ...user,
});

/** An admin manages everyone but the owner; the owner manages everyone else. */
export const mayManage = (actor: TeamRole, target: TeamRole): boolean =>
  target !== "owner" && (actor === "owner" || actor === "admin");

export class OwnerIsProtected extends Failure {
  readonly kind = "forbidden";
  override readonly reason = "owner_is_protected";

  constructor() {
    super("The team's owner cannot be changed or removed. The owner can transfer the team with `transferTeam`.");
  }
}

/** @throws OwnerMustTransfer for an owner who would change themselves, OwnerIsProtected for others who would. */
export function assertManageable(actor: TeamRole, target: TeamRole): void {
  if (mayManage(actor, target)) return;
  throw actor === "owner" ? new OwnerMustTransfer() : new OwnerIsProtected();
}
