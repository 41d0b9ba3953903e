import { Field, ID, Int, ObjectType, registerEnumType } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { Failure } from "../../operation/failure.js";
import type { MembersTeam } from "../../operation/standing.js";

export const NAME_MAX = 100;
export const MEMBERS_MAX = LIMITS.teams.members;

export enum TeamRoleName {
  OWNER = "owner",
  ADMIN = "admin",
  MEMBER = "member",
}
/** The descriptions of the roles that can be assigned. */
export const ASSIGNABLE_ROLES = {
  ADMIN: { description: "Invite, manage roles, remove everybody but the owner." },
  MEMBER: { description: "Use the team's graph, see the team, leave it." },
};
registerEnumType(TeamRoleName, {
  name: "TeamRole",
  description: "What a member may do in a team.",
  valuesConfig: {
    OWNER: { description: "Everything: settings, billing, members, deleting the team." },
    ...ASSIGNABLE_ROLES,
  },
});

@ObjectType({ description: "People who share a graph." })
export class Team implements Omit<MembersTeam, "role"> {
  @Field(() => ID, { description: "Its id." })
  id!: string;

  @Field(() => String, { description: "Its name." })
  name!: string;

  @Field(() => ID, { description: "The user id of its owner." })
  ownerId!: string;

  @Field(() => Int, { description: "The maximum number of members." })
  maxMembers!: number;

  @Field(() => Int, { description: "The number of members, including the owner." })
  memberCount!: number;

  @Field(() => Date, { description: "When it was created." })
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
    super(
      "You are already in a team, and can only be in one. Leave it first with `leaveTeam`; as its owner, transfer it " +
        "before that with `transferTeam`, or delete it with `deleteTeam`.",
    );
  }
}

export class TeamFull extends Failure {
  readonly kind = "conflict";
  override readonly reason = "team_full";

  constructor(
    message = "All seats of the team are taken, counting pending invitations. Its owner and admins can revoke an " +
      "invitation or remove a member, and its owner can add seats. That raises `maxMembers`: with `upgradeTeam` if the " +
      "team pays for its seats, otherwise with `updateTeam`.",
  ) {
    super(message);
  }
}

/** For the invited person. */
export class NoFreeSeat extends TeamFull {
  constructor() {
    super("The team has no free seat. Ask the person who invited you to make room, then answer again.");
  }
}
