import { Field, InputType, Int } from "type-graphql";
import { Between, NotBlank, TextLength } from "../../operation/bounds.js";
import { defineOperation } from "../../operation/operation.js";
import { settingsOf } from "./team-settings.js";
import { AlreadyInTeam, MEMBERS_MAX, NAME_MAX, TEAM_EXAMPLE, Team } from "./team.js";

@InputType({ description: "A team to create." })
export class CreateTeamInput {
  @Field(() => String, { description: "Its name." })
  @NotBlank()
  @TextLength(1, NAME_MAX)
  name!: string;

  @Field(() => Int, {
    description: `The maximum number of members, including the owner: 1 to ${MEMBERS_MAX}.`,
  })
  @Between(1, MEMBERS_MAX)
  maxMembers!: number;
}

export const createTeam = defineOperation({
  name: "createTeam",
  effect: "transaction",
  summary: "Creates a team with a shared graph; the caller owns it.",
  notes: "`maxMembers` may exceed the number of free seats: it is the number of seats that `createTeamCheckout` buys.",
  input: CreateTeamInput,
  output: Team,
  permission: "teams:write",
  failures: [AlreadyInTeam],
  rest: { method: "POST", path: "/teams", status: 201, location: "/teams/:id" },
  example: { input: { name: "Platform", maxMembers: 5 }, output: { ...TEAM_EXAMPLE, memberCount: 1 } },
  audit: (_context, _input, team) => ({ teamId: team.id, subject: team.id, detail: `max_members: ${team.maxMembers}` }),
  async handle({ caller, database, newId }, input) {
    const id = newId();
    const { models } = database;
    await models.team.create({ data: { id, ownerId: caller.userId, ...settingsOf(input) } });
    // Inserts nothing if the user is in a team: the user is the key of this table.
    const owner = { userId: caller.userId, teamId: id, role: "owner" } as const;
    const { count } = await models.teamMember.createMany({ data: owner, skipDuplicates: true });
    if (count === 0) throw new AlreadyInTeam();
    await models.graph.create({ data: { id: newId(), teamId: id }, select: { id: true } });
    // Read again, since the database has counted the member.
    return models.team.findUniqueOrThrow({ where: { id } });
  },
});
