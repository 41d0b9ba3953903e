import { ArgsType } from "type-graphql";
import { IdField } from "../../operation/id.js";
import type { Context } from "../../operation/context.js";
import { NoInput, defineTeamOperation } from "../../operation/operation.js";
import { NotInTeam, TEAM_COLUMNS } from "../../operation/standing.js";
import type { Statement } from "../../platform/database.js";
import { TEAM_EXAMPLE, Team } from "./team.js";

@ArgsType()
export class TeamInput {
  @IdField("The team's id.")
  teamId!: string;
}

const teamOfMember: Statement = {
  name: "team_of_member",
  text: `SELECT ${TEAM_COLUMNS} FROM team t JOIN team_member m ON m.team_id = t.id WHERE m.user_id = $1::uuid`,
};

export const myTeam = defineTeamOperation({
  name: "myTeam",
  effect: "reads",
  summary: "The team that the caller is in.",
  input: NoInput,
  output: Team,
  permission: "teams:read",
  team: { which: "own", role: "member" },
  failures: [],
  rest: { method: "GET", path: "/teams/me" },
  example: { input: {}, output: TEAM_EXAMPLE },
  handle: ownTeam,
});

export const team = defineTeamOperation({
  name: "team",
  effect: "reads",
  summary: "A team that the caller is in.",
  input: TeamInput,
  output: Team,
  permission: "teams:read",
  team: { which: "given", role: "member" },
  failures: [],
  rest: { method: "GET", path: "/teams/:team_id" },
  example: { input: { teamId: TEAM_EXAMPLE.id }, output: TEAM_EXAMPLE },
  handle: ownTeam,
});

export async function ownTeam({ caller, database }: Context): Promise<Team> {
  const [found] = await database.run<Team>(teamOfMember, [caller.userId]);
  if (!found) throw new NotInTeam();
  return found;
}
