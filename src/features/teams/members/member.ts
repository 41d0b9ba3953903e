import { Field, ID, ObjectType } from "type-graphql";
import type { TeamRole } from "../../../operation/context.js";
import { Failure } from "../../../operation/failure.js";
import { TeamRoleName } from "../team.js";

@ObjectType({ description: "Somebody in a team." })
export class Member {
  @Field(() => ID, { description: "The user's id." })
  userId!: string;

  @Field(() => String, { description: "The user's e-mail address." })
  email!: string;

  @Field(() => String, { nullable: true, description: "The user's name." })
  name!: string | null;

  @Field(() => TeamRoleName, { description: "What the member may do." })
  role!: TeamRole;

  @Field(() => Date, { description: "Since when." })
  joinedAt!: Date;

  /** How many invitations were withdrawn with a change to the member. Undeclared, so it never leaves: for the audit alone. */
  withdrawn?: number;

  /** What the role was before a change; for the audit alone, too. */
  roleBefore?: TeamRole;
}

export const MEMBER_EXAMPLE: Member = {
  userId: "019bb153-9a51-7d3e-9f40-516273849506",
  email: "bob@example.com",
  name: "Bob",
  role: "member",
  joinedAt: new Date("2026-03-03T08:00:12.000Z"),
};

/** The columns of a row, named as a Member is. */
export const MEMBER_COLUMNS = `m.user_id AS "userId", u.email, u.name, m.role::text AS role, m.joined_at AS "joinedAt"`;

/** An admin manages everyone but the owner; the owner manages everyone else. */
export const mayManage = (actor: TeamRole, target: TeamRole): boolean =>
  target !== "owner" && (actor === "owner" || actor === "admin");

export class OwnerIsProtected extends Failure {
  readonly kind = "forbidden";
  override readonly reason = "owner_is_protected";

  constructor() {
    super("Nobody changes or removes the team's owner. The owner can hand the team on with `transferTeam`.");
  }
}
