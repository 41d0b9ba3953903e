import { ArgsType, Field, ObjectType } from "type-graphql";
import { Nullable } from "../../../operation/bounds.js";
import { IdField } from "../../../operation/id.js";
import { NoInput, defineTeamOperation } from "../../../operation/operation.js";
import { NEXT_CURSOR, Paged, olderThan, pageOf } from "../../../operation/page.js";
import { defineRelation } from "../../../operation/relation.js";
import { TEAM_EXAMPLE, Team } from "../team.js";
import { INVITATION_EXAMPLE, Invitation, InvitationStatusName, readInvitations } from "./invitation.js";

@ArgsType()
export class TeamInvitationsInput extends Paged("teamInvitations", NoInput) {
  @IdField("The team's id.")
  teamId!: string;

  @Field(() => InvitationStatusName, { nullable: true, description: "Only invitations with this status." })
  @Nullable()
  status?: InvitationStatusName | null;
}

@ObjectType({ description: "A page of a team's invitations." })
export class InvitationPage {
  @Field(() => [Invitation], { description: "The invitations, newest first." })
  invitations!: Invitation[];

  @Field(() => String, { nullable: true, description: NEXT_CURSOR })
  nextCursor!: string | null;
}

export const teamInvitations = defineTeamOperation({
  name: "teamInvitations",
  effect: "reads",
  summary: "Lists the invitations of a team with their status.",
  input: TeamInvitationsInput,
  output: InvitationPage,
  permission: "teams:read",
  team: { which: "given", role: "admin" },
  failures: [],
  rest: { method: "GET", path: "/teams/:team_id/invitations" },
  example: {
    input: { teamId: TEAM_EXAMPLE.id, status: InvitationStatusName.PENDING },
    output: { invitations: [INVITATION_EXAMPLE], nextCursor: null },
  },
  async handle(context, input) {
    const { teamId, status, limit, cursor } = input;
    const where = { teamId, ...olderThan(cursor) };
    const rows = await readInvitations(context, { where, status, order: "desc", limit: limit + 1 });
    const { items, nextCursor } = await pageOf(context, rows, input, ({ id }) => id);
    return { invitations: items, nextCursor };
  },
});

/** The maximum for the GraphQL field; `teamInvitations` has all of them. */
const FOLLOWED_MAX = 100;

export const invitationsOfATeam = defineRelation<Team, Invitation[]>({
  of: Team,
  name: "invitations",
  to: () => [Invitation],
  description: `Its newest ${FOLLOWED_MAX} invitations, for its owner and admins; for others an error, and null.`,
  items: 20,
  permission: "teams:read",
  team: { role: "admin", idOf: ({ id }) => id },
  failures: [],
  follow: (context, { id }) => readInvitations(context, { where: { teamId: id }, order: "desc", limit: FOLLOWED_MAX }),
});
