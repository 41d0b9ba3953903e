import { Field, ID, Int, ObjectType, registerEnumType } from "type-graphql";
import { Failure } from "../../operation/failure.js";
import type { MembersTeam } from "../../operation/standing.js";

export const NAME_MAX = 100;
export const MEMBERS_MAX = 1_000;

export enum TeamRoleName {
  OWNER = "owner",
  ADMIN = "admin",
  MEMBER = "member",
}
registerEnumType(TeamRoleName, {
  name: "TeamRole",
  description: "What a member may do in a team.",
  valuesConfig: {
    OWNER: { description: "Everything: settings, billing, members, deleting the team." },
    ADMIN: { description: "Invite, manage roles, remove everybody but the owner." },
    MEMBER: { description: "Use the team's graph, see the team, leave it." },
  },
});

@ObjectType({ description: "People who share a graph." })
export class Team implements Omit<MembersTeam, "role"> {
  @Field(() => ID, { description: "Its id." })
  id!: string;

  @Field(() => String, { description: "What it is called." })
  name!: string;

  @Field(() => ID, { description: "The user id of its owner." })
  ownerId!: string;

  @Field(() => Int, { description: "How many members it has room for." })
  maxMembers!: number;

  @Field(() => Int, { description: "How many members it has, the owner among them." })
  memberCount!: number;

  @Field(() => Date, { description: "Since when there is this team." })
  createdAt!: Date;
}

export const TEAM_EXAMPLE: Team = {
  id: "019cb0c4-19d2-7a31-8b42-5c6d7e8f9a0b",
  name: "Platform",
  ownerId: "019bb153-8740-7c2d-8e3f-405162738495",
  maxMembers: 5,
  memberCount: 3,
  createdAt: new Date("2026-03-02T22:56:04.000Z"),
};

export class AlreadyInTeam extends Failure {
  readonly kind = "conflict";
  override readonly reason = "already_in_team";

  constructor() {
    super("You are in a team already, and can be in one at a time. Leave it first with `leaveTeam`.");
  }
}

export class TeamFull extends Failure {
  readonly kind = "conflict";
  override readonly reason = "team_full";

  constructor() {
    super(
      "All seats of the team are taken, counting open invitations. Revoke an invitation, remove a member, or raise " +
        "`maxMembers`: by `upgradeTeam` where the team pays for its seats, else by `updateTeam`.",
    );
  }
}
