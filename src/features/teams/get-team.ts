import { ArgsType } from "type-graphql";
import { IdField } from "../../operation/id.js";
import type { Context } from "../../operation/context.js";
import { NoInput, defineTeamOperation } from "../../operation/operation.js";
import { NotInTeam, TeamNotFound } from "../../operation/standing.js";
import { TEAM_EXAMPLE, Team } from "./team.js";

@ArgsType()
export class TeamInput {
  @IdField("The team's id.")
  teamId!: string;
}

export const myTeam = defineTeamOperation({
  name: "myTeam",
  effect: "reads",
  summary: "Returns the caller's team.",
  input: NoInput,
  output: Team,
  permission: "teams:read",
  team: { which: "own", role: "member" },
  failures: [],
  rest: { method: "GET", path: "/teams/me" },
  example: { input: {}, output: TEAM_EXAMPLE },
  async handle(context) {
    const team = await readOwnTeam(context);
    if (!team) throw new NotInTeam();
    return team;
  },
});

export const team = defineTeamOperation({
  name: "team",
  effect: "reads",
  summary: "Returns a team of which the caller is a member.",
  input: TeamInput,
  output: Team,
  permission: "teams:read",
  team: { which: "given", role: "member" },
  failures: [],
  rest: { method: "GET", path: "/teams/:team_id" },
  example: { input: { teamId: TEAM_EXAMPLE.id }, output: TEAM_EXAMPLE },
  async handle(context, { teamId }) {
    const found = await readOwnTeam(context);
    if (found?.id !== teamId) throw new TeamNotFound();
    return found;
  },
});

/** The caller's team; null for none, also if they left it, or it was deleted, after their key was read. */
export async function readOwnTeam({ caller, database }: Context): Promise<Team | null> {
  const where = { userId: caller.userId };
  const member = await database.models.teamMember.findUnique({ where, select: { team: true } });
  return member?.team ?? null;
}
