import type { Caller, CallersTeam, Context, TeamRole } from "./context.js";
import { Failure, type FailureClass } from "./failure.js";
import { lockRow } from "./lock-row-statement.js";

/** The team that an operation is about, and the least role in it that the caller needs. */
export interface TeamRule {
  /** The team whose id the input has as `teamId`, or the one that the caller is in. */
  readonly which: "given" | "own";
  readonly role: TeamRole;
}

/** A team, and the caller's role in it. */
export interface MembersTeam {
  readonly id: string;
  readonly name: string;
  readonly ownerId: string;
  readonly maxMembers: number;
  readonly memberCount: number;
  readonly createdAt: Date;
  readonly role: TeamRole;
}

/** What a handler gets to know of the team that it was let in to. */
export interface Standing<Team = MembersTeam> {
  readonly team: Team;
  /**
   * The team and the caller's role as they are now, for whoever has waited for others since.
   * @throws TeamNotFound, RoleTooSmall by the operation's own rule.
   */
  again(): Promise<MembersTeam>;
}

export class TeamNotFound extends Failure {
  readonly kind = "not_found";

  constructor(message = "You are in no team with this id. `myTeam` tells which team you are in.") {
    super(message);
  }
}

/** Nobody gave an id: the caller's own team was asked for. */
export class NotInTeam extends TeamNotFound {
  constructor() {
    super("You are in no team. Found one with `createTeam`, or accept an invitation by the link in its mail.");
  }
}

/** A class for each least role, so that documentation says which one an operation needs. */
abstract class RoleTooSmall extends Failure {
  readonly kind = "forbidden";
  override readonly reason = "role_too_small";
}

export class AdminNeeded extends RoleTooSmall {
  constructor() {
    super("Only the team's owner and admins may do this. Ask one of them; `teamMembers` says who they are.");
  }
}

export class OwnerNeeded extends RoleTooSmall {
  constructor() {
    super("Only the team's owner may do this. Ask the owner; `teamMembers` says who it is.");
  }
}

/** Who may do an operation on a team, as its documentation says it at every door. */
export const ROLE_NEEDED: Readonly<Record<TeamRole, string>> = {
  owner: "Only the team's owner may do this.",
  admin: "Only the team's owner and admins may do this.",
  member: "Only the team's members may do this.",
};

const REFUSALS: Readonly<Record<TeamRole, new () => Failure>> = {
  owner: OwnerNeeded,
  admin: AdminNeeded,
  // Whoever is in the team has at least this role.
  member: TeamNotFound,
};

/** What a rule refuses with. A query goes by the caller's key alone, so it cannot find out that its team is gone. */
export function failuresOfRule({ which, role }: TeamRule, kind: "query" | "mutation"): FailureClass[] {
  const absent = which === "given" ? [TeamNotFound] : kind === "query" ? [NotInTeam] : [NotInTeam, TeamNotFound];
  return role === "member" ? absent : [...absent, REFUSALS[role]];
}

const RANK: Readonly<Record<TeamRole, number>> = { member: 0, admin: 1, owner: 2 };

/** The owner may do what an admin may, and an admin what a member may. */
export const isAtLeast = (role: TeamRole, needed: TeamRole): boolean => RANK[role] >= RANK[needed];

function assertRole(role: TeamRole, needed: TeamRole): void {
  if (!isAtLeast(role, needed)) throw new REFUSALS[needed]();
}

type Asked = Pick<Context, "database" | "caller">;

/**
 * For reading: the caller's role was read with their key, at the beginning of this request.
 * @throws NotInTeam, TeamNotFound for a caller who is no member, RoleTooSmall below the role that is needed.
 */
export function standingByKey(context: Asked, rule: TeamRule, input: object): Standing<CallersTeam> {
  const { team } = context.caller;
  const id = teamIdOf(context.caller, rule, input);
  if (team?.id !== id) throw new TeamNotFound();
  assertRole(team.role, rule.role);
  return { team, again: () => teamNow(context, id, rule.role) };
}

/**
 * For what is done before a transaction: the team and the caller's role as they are now.
 * @throws NotInTeam, TeamNotFound for a caller who is no member, RoleTooSmall below the role that is needed.
 */
export async function standingNow(context: Asked, rule: TeamRule, input: object): Promise<Standing> {
  const id = teamIdOf(context.caller, rule, input);
  const again = () => teamNow(context, id, rule.role);
  return { team: await again(), again };
}

/**
 * For changes: lets those of one team follow each other until the transaction ends, and reads the caller's role after
 * the lock. Whoever was demoted or removed by the change that this one waited for may no longer do it.
 * @throws NotInTeam, TeamNotFound for a caller who is no member, RoleTooSmall below the role that is needed.
 */
export async function standingLocked(context: Asked, rule: TeamRule, input: object): Promise<Standing> {
  await lockRow(context.database, "team", { id: teamIdOf(context.caller, rule, input) });
  return standingNow(context, rule, input);
}

function teamIdOf({ team }: Caller, { which }: TeamRule, input: object): string {
  if (which === "own") {
    if (!team) throw new NotInTeam();
    return team.id;
  }
  if ("teamId" in input && typeof input.teamId === "string") return input.teamId;
  throw new Error("An operation on a given team got none.");
}

/**
 * The team and the caller's role as they are now: a request may have founded, left or transferred the team before.
 * @throws TeamNotFound for a caller who is no member, RoleTooSmall below the role that is needed.
 */
export async function teamNow({ database, caller }: Asked, teamId: string, needed: TeamRole): Promise<MembersTeam> {
  const where = { userId: caller.userId, teamId };
  const found = await database.models.teamMember.findUnique({ where, select: { role: true, team: true } });
  if (!found) throw new TeamNotFound();
  assertRole(found.role, needed);
  return { ...found.team, role: found.role };
}
