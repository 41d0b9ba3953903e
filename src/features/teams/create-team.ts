import { Field, InputType, Int } from "type-graphql";
import { Between, NotBlank, TextLength } from "../../operation/bounds.js";
import { defineOperation } from "../../operation/operation.js";
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
    const { models } = database;
    await models.team.create({ data: { id, name, ownerId: caller.userId, maxMembers } });
    // Whoever is in a team already is left out: the user is the key of this table.
    const owner = { userId: caller.userId, teamId: id, role: "owner" } as const;
    const { count } = await models.teamMember.createMany({ data: owner, skipDuplicates: true });
    if (count === 0) throw new AlreadyInTeam();
    await models.graph.create({ data: { id: newId(), teamId: id, usage: { create: {} } }, select: { id: true } });
    // Read anew: the database has counted the member.
    return models.team.findUniqueOrThrow({ where: { id } });
  },
});
