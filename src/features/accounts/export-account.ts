import { ArgsType, Field, ID, ObjectType } from "type-graphql";
import type { Context } from "../../operation/context.js";
import { NoInput, defineOperation } from "../../operation/operation.js";
import { NEXT_CURSOR, Paged, cursorOf, placeOf } from "../../operation/page.js";
import { API_KEY_EXAMPLE, ApiKey } from "../access/index.js";
import { Invitation, AuditEntry, TeamRoleName } from "../teams/index.js";
import { Memory, MemoryVersion } from "../memories/index.js";
import { Relationship } from "../relationships/index.js";
import { ACCOUNT_EXAMPLE, AccountProfile, toProfile } from "./account-profile.js";
import { type Lists, PLACE_FORM, pageOfLists, readPlace, writePlace } from "./export-lists.js";

@ArgsType()
export class ExportAccountInput extends Paged("exportAccount", NoInput, PLACE_FORM) {}

@ObjectType({ description: "A user's membership of a team." })
export class AccountMembership {
  @Field(() => ID, { description: "The team's id." })
  teamId!: string;

  @Field(() => String, { description: "The team's name." })
  teamName!: string;

  @Field(() => TeamRoleName, { description: "The user's role in it." })
  role!: `${TeamRoleName}`;

  @Field(() => Date, { description: "When the user joined." })
  joinedAt!: Date;
}

@ObjectType({ description: "A memory as it was before an update." })
export class ExportedVersion extends MemoryVersion {
  @Field(() => ID, { description: "The memory's id." })
  memoryId!: string;
}

@ObjectType({
  description:
    "A page of the data of an account. The lists follow each other, oldest first: a page continues where the " +
    "previous one ended, so most of its lists are empty.",
})
export class AccountExport implements Lists {
  @Field(() => AccountProfile, { description: "The user; on every page." })
  profile!: AccountProfile;

  @Field(() => AccountMembership, {
    nullable: true,
    description: "The user's team; on every page. Null for none.",
  })
  membership!: AccountMembership | null;

  @Field(() => [ApiKey], { description: "The API keys, without their secrets." })
  keys!: ApiKey[];

  @Field(() => [Invitation], { description: "The invitations to the user's address, if it is verified." })
  invitationsReceived!: Invitation[];

  @Field(() => [Invitation], { description: "The invitations that the user sent, for any team." })
  invitationsSent!: Invitation[];

  @Field(() => [AuditEntry], { description: "The audit entries of what the user did." })
  events!: AuditEntry[];

  @Field(() => [Memory], { description: "The memories of the user's own graph." })
  memories!: Memory[];

  @Field(() => [ExportedVersion], { description: "The earlier versions of those memories." })
  versions!: ExportedVersion[];

  @Field(() => [Relationship], { description: "The relationships of the user's own graph." })
  relationships!: Relationship[];

  @Field(() => [AuditEntry], {
    description:
      "The audit entries of what others did with the user, such as an admin of their team or the service's operator. " +
      "Without the keys of these people.",
  })
  eventsByOthers!: AuditEntry[];

  @Field(() => String, { nullable: true, description: NEXT_CURSOR })
  nextCursor!: string | null;
}

export const exportAccount = defineOperation({
  name: "exportAccount",
  effect: "reads",
  summary:
    "Exports the personal data of the caller, page by page: the user, keys, membership, invitations, audit entries, " +
    "and their own graph. The content of a team's graph belongs to the team.",
  notes:
    "Of other people it has only ids, and the addresses of invitations that the caller sent, sent again or revoked. " +
    "Left out are secrets of keys and connections, what is kept for a short time (codes, mails that wait, results of " +
    "Idempotency-Keys, counts for limits), and a team's payments: see `teamSubscription` and `teamInvoices`.",
  input: ExportAccountInput,
  output: AccountExport,
  isLarge: true,
  permission: "all",
  failures: [],
  rest: { method: "GET", path: "/users/me/export" },
  example: {
    input: { limit: 100 },
    output: {
      profile: ACCOUNT_EXAMPLE,
      membership: null,
      keys: [API_KEY_EXAMPLE],
      invitationsReceived: [],
      invitationsSent: [],
      events: [],
      memories: [],
      versions: [],
      relationships: [],
      eventsByOthers: [],
      nextCursor: null,
    },
  },
  async handle(context, { limit, cursor, list }) {
    const { lists, next } = await pageOfLists(context, readPlace(placeOf(cursor)), limit);
    return { ...(await personOf(context)), ...lists, nextCursor: next && cursorOf(list, writePlace(next)) };
  },
});

async function personOf({ caller, database }: Context): Promise<Pick<AccountExport, "profile" | "membership">> {
  const { membership, ...user } = await database.models.user.findUniqueOrThrow({
    where: { id: caller.userId },
    include: { membership: { include: { team: true } } },
  });
  const profile = toProfile(user);
  if (!membership) return { profile, membership: null };
  const { teamId, role, joinedAt, team } = membership;
  return { profile, membership: { teamId, teamName: team.name, role, joinedAt } };
}
