import { Field, InputType, Int } from "type-graphql";
import { Between, NotBlank, TextLength } from "../../operation/bounds.js";
import { defineOperation } from "../../operation/operation.js";
import { TEAM_COLUMNS } from "../../operation/standing.js";
import type { Statement } from "../../platform/database.js";
import { AlreadyInTeam, MEMBERS_MAX, NAME_MAX, TEAM_EXAMPLE, Team } from "./team.js";

@InputType({ description: "A team to found." })
export class CreateTeamInput {
  @Field(() => String, { description: "What to call it." })
  @NotBlank()
  @TextLength(1, NAME_MAX)
  name!: string;

  @Field(() => Int, {
    description: `How many members it shall have room for, the owner included: 1 to ${MEMBERS_MAX}.`,
  })
  @Between(1, MEMBERS_MAX)
  maxMembers!: number;
}

const insertTeam: Statement = {
  name: "insert_team",
  text: "INSERT INTO team (id, name, owner_id, max_members) VALUES ($1::uuid, $2, $3::uuid, $4)",
};

/** Whoever is in a team already is not inserted: the user is the key of this table. */
const insertMember: Statement = {
  name: "insert_team_member",
  text: `INSERT INTO team_member (user_id, team_id, role) VALUES ($1::uuid, $2::uuid, $3::team_role)
    ON CONFLICT (user_id) DO NOTHING RETURNING user_id`,
};

const insertTeamGraph: Statement = {
  name: "insert_team_graph",
  text: `
    WITH made AS (INSERT INTO graph (id, team_id) VALUES ($1::uuid, $2::uuid) RETURNING id)
    INSERT INTO graph_usage (graph_id) SELECT id FROM made`,
};

const teamById: Statement = {
  name: "team_by_id",
  text: `SELECT ${TEAM_COLUMNS} FROM team t WHERE t.id = $1::uuid`,
};

export const createTeam = defineOperation({
  name: "createTeam",
  effect: "transaction",
  summary: "Founds a team with a shared graph; the caller owns it.",
  notes: "`maxMembers` may be larger than the seats that are free: it is how many seats `createTeamCheckout` buys.",
  input: CreateTeamInput,
  output: Team,
  permission: "teams:write",
  failures: [AlreadyInTeam],
  rest: { method: "POST", path: "/teams", status: 201, location: "/teams/:id" },
  example: { input: { name: "Platform", maxMembers: 5 }, output: { ...TEAM_EXAMPLE, memberCount: 1 } },
  audit: (_context, _input, team) => ({ teamId: team.id, subject: team.id, detail: `max_members: ${team.maxMembers}` }),
  async handle({ caller, database, newId }, { name, maxMembers }) {
    const id = newId();
    await database.run(insertTeam, [id, name, caller.userId, maxMembers]);
    const [seated] = await database.run(insertMember, [caller.userId, id, "owner"]);
    if (!seated) throw new AlreadyInTeam();
    await database.run(insertTeamGraph, [newId(), id]);
    const [team] = await database.run<Team>(teamById, [id]);
    if (!team) throw new Error("A team that was just founded is not there.");
    return team;
  },
});
