import { ArgsType, Field, ID, ObjectType } from "type-graphql";
import type { Context } from "../../operation/context.js";
import { NoInput, defineOperation } from "../../operation/operation.js";
import { InRest } from "../../operation/output.js";
import { NEXT_CURSOR, Paged, cursorOf, placeOf } from "../../operation/page.js";
import { API_KEY_EXAMPLE, ApiKey, PlanName } from "../access/index.js";
import { Invitation } from "../teams/index.js";
import { Memory, MemoryVersion } from "../memories/index.js";
import { Relationship } from "../relationships/index.js";
import { AuditEntry, TeamRoleName } from "../teams/index.js";
import { type Lists, PLACE_FORM, pageOfLists, readPlace, writePlace } from "./export-lists.js";

@ArgsType()
export class ExportAccountInput extends Paged(NoInput) {}

@ObjectType({ description: "What the service knows of a person." })
export class AccountProfile {
  @Field(() => ID, { description: "The user's id." })
  @InRest("id")
  userId!: string;

  @Field(() => String, { description: "The e-mail address." })
  email!: string;

  @Field(() => String, { nullable: true, description: "The name." })
  name!: string | null;

  @Field(() => Date, { nullable: true, description: "When the address was verified; null if it was not yet." })
  emailVerifiedAt!: Date | null;

  @Field(() => PlanName, { description: "What the user has paid for." })
  plan!: `${PlanName}`;

  @Field(() => Date, { description: "Since when there is this user." })
  createdAt!: Date;
}

@ObjectType({ description: "The team that a user is in." })
export class AccountMembership {
  @Field(() => ID, { description: "The team's id." })
  teamId!: string;

  @Field(() => String, { description: "What the team is called." })
  teamName!: string;

  @Field(() => TeamRoleName, { description: "What the user may do there." })
  role!: `${TeamRoleName}`;

  @Field(() => Date, { description: "Since when." })
  joinedAt!: Date;
}

@ObjectType({ description: "What a memory was before an update." })
export class ExportedVersion extends MemoryVersion {
  @Field(() => ID, { description: "The memory's id." })
  memoryId!: string;
}

@ObjectType({
  description:
    "A page of all that belongs to an account. The lists follow each other, oldest first: a page goes on where the " +
    "one before ended, so most of its lists are empty.",
})
export class AccountExport implements Lists {
  @Field(() => AccountProfile, { description: "The person; on every page." })
  profile!: AccountProfile;

  @Field(() => AccountMembership, {
    nullable: true,
    description: "The team they are in; on every page. Null for none.",
  })
  membership!: AccountMembership | null;

  @Field(() => [ApiKey], { description: "The API keys, without their secrets." })
  keys!: ApiKey[];

  @Field(() => [Invitation], { description: "The invitations that came to the address, once that is verified." })
  invitationsReceived!: Invitation[];

  @Field(() => [Invitation], { description: "The invitations that they sent, for whichever team." })
  invitationsSent!: Invitation[];

  @Field(() => [AuditEntry], { description: "What is recorded that they did." })
  events!: AuditEntry[];

  @Field(() => [Memory], { description: "The memories of their own graph." })
  memories!: Memory[];

  @Field(() => [ExportedVersion], { description: "What those memories were before." })
  versions!: ExportedVersion[];

  @Field(() => [Relationship], { description: "The relationships of their own graph." })
  relationships!: Relationship[];

  @Field(() => String, { nullable: true, description: NEXT_CURSOR })
  nextCursor!: string | null;
}

/** A person as the documentation shows them. */
export const ACCOUNT_EXAMPLE: AccountProfile = {
  userId: "019bb153-8740-7c2d-8e3f-405162738495",
  email: "ann@example.com",
  name: "Ann",
  emailVerifiedAt: new Date("2026-01-12T08:31:20.000Z"),
  plan: "pro",
  createdAt: new Date("2026-01-12T08:30:00.000Z"),
};

export const exportAccount = defineOperation({
  name: "exportAccount",
  effect: "reads",
  summary:
    "Everything personal that is stored of the caller, page by page: the person, keys, membership, invitations, what " +
    "they did, and their own graph. What a team's graph holds belongs to the team.",
  input: ExportAccountInput,
  output: AccountExport,
  permission: "all",
  failures: [],
  rest: { method: "GET", path: "/users/me/export" },
  example: {
    input: { limit: 100 },
    output: {
      profile: ACCOUNT_EXAMPLE,
      membership: null,
      ...{ keys: [API_KEY_EXAMPLE], invitationsReceived: [], invitationsSent: [], events: [] },
      ...{ memories: [], versions: [], relationships: [], nextCursor: null },
    },
  },
  async handle(context, { limit, cursor }) {
    const { lists, next } = await pageOfLists(context, readPlace(placeOf(cursor, PLACE_FORM)), limit);
    return { ...(await personOf(context)), ...lists, nextCursor: next && cursorOf(writePlace(next)) };
  },
});

async function personOf({ caller, database }: Context): Promise<Pick<AccountExport, "profile" | "membership">> {
  const { id, email, name, emailVerifiedAt, plan, createdAt, membership } =
    await database.models.user.findUniqueOrThrow({
      where: { id: caller.userId },
      include: { membership: { include: { team: true } } },
    });
  const profile = { userId: id, email, name, emailVerifiedAt, plan, createdAt };
  if (!membership) return { profile, membership: null };
  const { teamId, role, joinedAt, team } = membership;
  return { profile, membership: { teamId, teamName: team.name, role, joinedAt } };
}
