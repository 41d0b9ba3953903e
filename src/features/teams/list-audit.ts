import { ArgsType, Field, ID, ObjectType } from "type-graphql";
import { Era, Marked, Nullable, TextLength } from "../../operation/bounds.js";
import { DAY_MS } from "../../durations.js";
import { IdField, lowestIdAt } from "../../operation/id.js";
import { NoInput, defineTeamOperation } from "../../operation/operation.js";
import { NEXT_CURSOR, Paged, olderThan, pageOf } from "../../operation/page.js";
import { TEAM_EXAMPLE } from "./team.js";

@ArgsType()
export class TeamAuditInput extends Paged("teamAudit", NoInput) {
  @IdField("The team's id.")
  teamId!: string;

  @Field(() => String, { nullable: true, description: "Only entries of this action, such as inviteMember." })
  @Nullable()
  @TextLength(1, 100)
  action?: string | null;

  @Field(() => ID, { nullable: true, description: "Only what this user did." })
  @Nullable()
  @Marked("id")
  actorId?: string | null;

  @Field(() => Date, { nullable: true, description: "Only entries of this time or later." })
  @Nullable()
  @Era()
  createdAfter?: Date | null;

  @Field(() => Date, { nullable: true, description: "Only entries before this time." })
  @Nullable()
  @Era()
  createdBefore?: Date | null;
}

@ObjectType({ description: "An entry of the audit: who changed what, when and how." })
export class AuditEntry {
  @Field(() => ID, { description: "The entry's id." })
  id!: string;

  @Field(() => ID, {
    nullable: true,
    description:
      "The id of the user who did it, even if deleted since; null for the service, its operator, and somebody without " +
      "an account who declined an invitation.",
  })
  actorId!: string | null;

  @Field(() => ID, { nullable: true, description: "The id of the API key in use; null without one." })
  keyId!: string | null;

  @Field(() => String, {
    description:
      "How it was requested: rest, graphql, mcp, page, billing for changes caused by the payment provider, or " +
      "operator for commands.",
  })
  door!: string;

  @Field(() => String, { description: "The action, such as inviteMember." })
  action!: string;

  @Field(() => String, { nullable: true, description: "The id of the object or user that was changed." })
  subject!: string | null;

  @Field(() => String, { nullable: true, description: "Details, such as a role or the old and new values." })
  detail!: string | null;

  @Field(() => Date, { description: "When it was done." })
  createdAt!: Date;
}

@ObjectType({ description: "A page of a team's audit." })
export class AuditPage {
  @Field(() => [AuditEntry], { description: "The entries, newest first." })
  events!: AuditEntry[];

  @Field(() => String, { nullable: true, description: NEXT_CURSOR })
  nextCursor!: string | null;
}

export const teamAudit = defineTeamOperation({
  name: "teamAudit",
  effect: "reads",
  summary:
    "Lists the changes in a team: of members, invitations, settings and billing, and memories that were deleted, " +
    "restored or shared.",
  notes: "Changes of a subscription that the service makes by itself have no actor, and the door `billing`.",
  input: TeamAuditInput,
  output: AuditPage,
  permission: "teams:read",
  team: { which: "given", role: "admin" },
  failures: [],
  rest: { method: "GET", path: "/teams/:team_id/audit" },
  example: {
    input: { teamId: TEAM_EXAMPLE.id, action: "createTeam" },
    output: {
      events: [
        {
          id: "019cb0c4-19d2-7b42-9c53-6d7e8f9a0b1c",
          actorId: TEAM_EXAMPLE.ownerId,
          keyId: "019bb153-8740-7d3e-9f40-516273849506",
          door: "rest",
          action: "createTeam",
          subject: TEAM_EXAMPLE.id,
          detail: "max_members: 5",
          createdAt: TEAM_EXAMPLE.createdAt,
        },
      ],
      nextCursor: null,
    },
  },
  async handle({ database, pause }, input) {
    const { teamId, limit, cursor, action, actorId, createdAfter, createdBefore } = input;
    const rows = await database.models.auditEntry.findMany({
      where: {
        teamId,
        AND: [olderThan(cursor), ...idsBetween(createdAfter, createdBefore)],
        ...(action != null && { action }),
        ...(actorId != null && { actorId }),
        createdAt: { ...(createdAfter && { gte: createdAfter }), ...(createdBefore && { lt: createdBefore }) },
      },
      orderBy: { id: "desc" },
      take: limit + 1,
    });
    const { items, nextCursor } = await pageOf({ pause }, rows, input, ({ id }) => id);
    return { events: items, nextCursor };
  },
});

/**
 * The ids that entries of these times can have, so that PostgreSQL does not look through all newer ones. An id is made
 * moments after its entry's time, by the clock that servers share; a day is far more than clocks have ever differed.
 */
function idsBetween(after: Date | null | undefined, before: Date | null | undefined) {
  const idAt = (time: Date, offsetMs: number) => lowestIdAt(new Date(time.getTime() + offsetMs));
  return [
    ...(after ? [{ id: { gte: idAt(after, -DAY_MS) } }] : []),
    ...(before ? [{ id: { lt: idAt(before, DAY_MS) } }] : []),
  ];
}
