import type { Caller, CallersTeam, Context, TeamRole } from "./context.js";
import { AccountSuspended, Failure, type FailureClass } from "./failure.js";
import type { Team } from "../platform/prisma/client.js";
import { lockRow } from "./lock-row-statement.js";

/** The team that an operation is about, and the least role in it that the caller needs. */
export interface TeamRule {
  /** `given`: the team of the input's `teamId`; `own`: the caller's team. */
  readonly which: "given" | "own";
  readonly role: TeamRole;
}

/** A team, and the caller's role in it. */
export interface MembersTeam extends Readonly<Team> {
  readonly role: TeamRole;
}

/** What a handler knows about its team. */
export interface Standing<Team = MembersTeam> {
  readonly team: Team;
  /**
   * Reads the team and the caller's role again, after a wait.
   * @throws what `readMembersTeam` throws by the operation's own rule.
   */
  again(): Promise<MembersTeam>;
}

export class TeamNotFound extends Failure {
  readonly kind = "not_found";

  constructor(message = "You are not in this team. `myTeam` shows your team.") {
    super(message);
  }
}

/** For operations on the caller's own team, which have no id in the input. */
export class NotInTeam extends TeamNotFound {
  override readonly reason = "no_team";

  constructor() {
    super("You are in no team. Create one with `createTeam`, or accept an invitation by the link in its mail.");
  }
}

/** A class for each least role, so that documentation says which one an operation needs. */
abstract class RoleTooSmall extends Failure {
  readonly kind = "forbidden";
  override readonly reason = "role_too_small";
}

export class AdminNeeded extends RoleTooSmall {
  constructor() {
    super("Only the team's owner and admins may do this. Ask one of them; `teamMembers` shows who they are.");
  }
}

export class OwnerNeeded extends RoleTooSmall {
  constructor() {
    super("Only the team's owner may do this. Ask the owner; `teamMembers` shows who it is.");
  }
}

/** Who may use an operation on a team, for its documentation. */
export const ROLE_NEEDED: Readonly<Record<TeamRole, string>> = {
  owner: "Only the team's owner may do this.",
  admin: "Only the team's owner and admins may do this.",
  member: "Only the team's members may do this.",
};

const REFUSALS: Readonly<Record<TeamRole, new () => Failure>> = {
  owner: OwnerNeeded,
  admin: AdminNeeded,
  // Every member has at least this role.
  member: TeamNotFound,
};

/** The failures of a rule. */
export function failuresOfRule({ which, role }: TeamRule): FailureClass[] {
  const absent = which === "given" ? TeamNotFound : NotInTeam;
  return role === "member" ? [absent] : [absent, REFUSALS[role]];
}

/** Says of a caller whose own team was deleted during the request, or who has left it, what the next request would say. */
export const asOfRule = (rule: TeamRule | undefined, failure: Failure): Failure =>
  rule?.which === "own" && failure instanceof TeamNotFound ? new NotInTeam() : failure;

const RANK: Readonly<Record<TeamRole, number>> = { member: 0, admin: 1, owner: 2 };

/** The owner may do what an admin may, and an admin what a member may. */
export const isAtLeast = (role: TeamRole, needed: TeamRole): boolean => RANK[role] >= RANK[needed];

function assertRole(role: TeamRole, needed: TeamRole): void {
  if (!isAtLeast(role, needed)) throw new REFUSALS[needed]();
}

type Asked = Pick<Context, "database" | "caller">;

/**
 * For queries: uses the caller's role, which was read with their key at the beginning of the request.
 * @throws NotInTeam, TeamNotFound for a caller who is no member, RoleTooSmall below the role that is needed.
 */
export function standingByKey(context: Asked, rule: TeamRule, input: object): Standing<CallersTeam> {
  const { team } = context.caller;
  const id = teamIdOf(context.caller, rule, input);
  if (team?.id !== id) throw new TeamNotFound();
  assertRole(team.role, rule.role);
  return { team, again: () => readMembersTeam(context, id, rule.role) };
}

/**
 * For `prepare`: reads the team and the caller's role.
 * @throws NotInTeam for a caller without a team, or what `readMembersTeam` throws.
 */
export async function readStanding(context: Asked, rule: TeamRule, input: object): Promise<Standing> {
  const id = teamIdOf(context.caller, rule, input);
  const again = () => readMembersTeam(context, id, rule.role);
  return { team: await again(), again };
}

/**
 * For changes: locks the team until the transaction ends, so that its changes run one after the other, and then reads
 * the caller's role. A caller who was demoted, removed or suspended while waiting is refused.
 * @throws what `readStanding` throws.
 */
export async function lockStanding(context: Asked, rule: TeamRule, input: object): Promise<Standing> {
  await lockRow(context.database, "team", { id: teamIdOf(context.caller, rule, input) });
  return readStanding(context, rule, input);
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
 * Reads the team and the caller's role: the same request may have created, left or transferred the team before.
 * @throws TeamNotFound for a caller who is no member, RoleTooSmall below the role that is needed, AccountSuspended.
 */
export async function readMembersTeam(
  { database, caller }: Asked,
  teamId: string,
  needed: TeamRole,
): Promise<MembersTeam> {
  const where = { userId: caller.userId, teamId };
  const select = { role: true, team: true, user: { select: { suspendedAt: true } } } as const;
  const found = await database.models.teamMember.findUnique({ where, select });
  if (!found) throw new TeamNotFound();
  if (found.user.suspendedAt) throw new AccountSuspended();
  assertRole(found.role, needed);
  return { ...found.team, role: found.role };
}
