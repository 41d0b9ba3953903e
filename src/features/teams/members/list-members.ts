import { ArgsType, Field, ID, ObjectType } from "type-graphql";
import { IdField } from "../../../operation/id.js";
import { NoInput, defineTeamOperation } from "../../../operation/operation.js";
import { NEXT_CURSOR, Paged, pageOf, placeOf } from "../../../operation/page.js";
import { defineRelation } from "../../../operation/relation.js";
import { MEMBERS_MAX, TEAM_EXAMPLE, Team } from "../team.js";
import { MEMBER_EXAMPLE, Member, membersOf } from "./member.js";

@ArgsType()
export class TeamMembersInput extends Paged("teamMembers", NoInput) {
  @IdField("The team's id.")
  teamId!: string;
}

@ObjectType({ description: "A page of a team's members." })
export class MemberPage {
  @Field(() => [Member], { description: "The members, in the order of their user ids." })
  members!: Member[];

  @Field(() => String, { nullable: true, description: NEXT_CURSOR })
  nextCursor!: string | null;
}

export const teamMembers = defineTeamOperation({
  name: "teamMembers",
  effect: "reads",
  summary: "Lists the members of a team.",
  input: TeamMembersInput,
  output: MemberPage,
  permission: "teams:read",
  team: { which: "given", role: "member" },
  failures: [],
  rest: { method: "GET", path: "/teams/:team_id/members" },
  example: { input: { teamId: TEAM_EXAMPLE.id }, output: { members: [MEMBER_EXAMPLE], nextCursor: null } },
  async handle({ database, pause }, input) {
    const { teamId, limit, cursor } = input;
    const rows = await membersOf(database, { teamId, after: placeOf(cursor), limit: limit + 1 });
    const { items, nextCursor } = await pageOf({ pause }, rows, input, ({ userId }) => userId);
    return { members: items, nextCursor };
  },
});

@ObjectType({ description: "A user, as teammates see them." })
export class User {
  @Field(() => ID, { description: "The user's id." })
  id!: string;

  @Field(() => String, { description: "The user's e-mail address." })
  email!: string;

  @Field(() => String, { nullable: true, description: "The user's name." })
  name!: string | null;
}

export const membersOfATeam = defineRelation<Team, Member[]>({
  of: Team,
  name: "members",
  to: () => [Member],
  description: "Its members, in the order of their user ids.",
  items: 20,
  permission: "teams:read",
  team: { role: "member", idOf: ({ id }) => id },
  failures: [],
  follow: ({ database }, { id }) => membersOf(database, { teamId: id, after: null, limit: MEMBERS_MAX }),
});

export const userOfMember = defineRelation<Member, User>({
  of: Member,
  name: "user",
  to: () => User,
  description: "The user.",
  permission: "any",
  failures: [],
  follow: (_context, { userId, email, name }) => ({ id: userId, email, name }),
});
