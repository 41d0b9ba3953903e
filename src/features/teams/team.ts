import { Field, ID, Int, ObjectType, registerEnumType } from "type-graphql";
import type { Caller, Context, TeamRole } from "../../operation/context.js";
import { Failure } from "../../operation/failure.js";
import type { Statement } from "../../platform/database.js";

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
export class Team {
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

/** The columns of a row, named as a Team is. */
export const TEAM_COLUMNS = `t.id, t.name, t.owner_id AS "ownerId", t.max_members AS "maxMembers",
  t.member_count AS "memberCount", t.created_at AS "createdAt"`;

export class TeamNotFound extends Failure {
  readonly kind = "not_found";

  constructor() {
    super("You are in no team with this id.");
  }
}

export class RoleTooSmall extends Failure {
  static readonly example = new RoleTooSmall("admin");
  readonly kind = "forbidden";
  override readonly reason = "role_too_small";

  constructor(needed: TeamRole) {
    super(needed === "owner" ? "Only the team's owner may do this." : "Only the team's owner and admins may do this.");
  }
}

export class AlreadyInTeam extends Failure {
  readonly kind = "conflict";
  override readonly reason = "already_in_team";

  constructor() {
    super("You are in a team already, and can be in one at a time. Leave it first.");
  }
}

export class TeamFull extends Failure {
  readonly kind = "conflict";
  override readonly reason = "team_full";

  constructor() {
    super(
      "The team has no seat left, counting open invitations. Revoke one, remove a member, or give the team more seats.",
    );
  }
}

const RANK: Readonly<Record<TeamRole, number>> = { member: 0, admin: 1, owner: 2 };

/** The owner may do what an admin may, and an admin what a member may. */
export const isAtLeast = (role: TeamRole, needed: TeamRole): boolean => RANK[role] >= RANK[needed];

/**
 * For reading: the caller's role was read with their key, at the beginning of this request.
 * @throws TeamNotFound for another team, RoleTooSmall below the role that is needed.
 */
export function assertStanding({ team }: Caller, teamId: string, needed: TeamRole): void {
  if (team?.id !== teamId) throw new TeamNotFound();
  if (!isAtLeast(team.role, needed)) throw new RoleTooSmall(needed);
}

/** A team, and the caller's role in it. */
export interface MembersTeam extends Team {
  readonly role: TeamRole;
}

const lockTeamRow: Statement = { name: "lock_team", text: "SELECT id FROM team WHERE id = $1::uuid FOR UPDATE" };

const teamAndRole: Statement = {
  name: "team_and_role",
  text: `SELECT ${TEAM_COLUMNS}, m.role::text AS role
    FROM team t JOIN team_member m ON m.team_id = t.id AND m.user_id = $2::uuid WHERE t.id = $1::uuid`,
};

/**
 * Makes changes to one team follow each other until the transaction ends, and reads the caller's role after the lock:
 * whoever was demoted or removed a moment ago, by the change that this one waited for, may no longer do it.
 * @throws TeamNotFound for a caller who is no member, RoleTooSmall below the role that is needed.
 */
export async function lockTeam({ database, caller }: Context, teamId: string, needed: TeamRole): Promise<MembersTeam> {
  await lockAnyTeam({ database }, teamId);
  return teamNow({ database, caller }, teamId, needed);
}

/**
 * The team and the caller's role as they are now: a request may have founded, left or transferred the team before.
 * @throws TeamNotFound for a caller who is no member, RoleTooSmall below the role that is needed.
 */
export async function teamNow(
  { database, caller }: Pick<Context, "database" | "caller">,
  teamId: string,
  needed: TeamRole,
): Promise<MembersTeam> {
  const [team] = await database.run<MembersTeam>(teamAndRole, [teamId, caller.userId]);
  if (!team) throw new TeamNotFound();
  if (!isAtLeast(team.role, needed)) throw new RoleTooSmall(needed);
  return team;
}

/** The lock alone, for somebody who is not a member yet. */
export async function lockAnyTeam({ database }: Pick<Context, "database">, teamId: string): Promise<void> {
  await database.run(lockTeamRow, [teamId]);
}
