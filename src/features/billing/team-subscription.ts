import { Field, Int, ObjectType } from "type-graphql";
import type { Context } from "../../operation/context.js";
import { NoInput, defineOperation } from "../../operation/operation.js";
import { PATIENCE_OF_READERS_MS } from "../../platform/payments.js";
import { PlanName } from "../access/index.js";
import {
  type BillingAccount,
  BillingNotConfigured,
  PaymentProviderError,
  accountOf,
  isPaid,
  isUnsure,
  reconcileAccount,
} from "../subscriptions/index.js";
import { type MembersTeam, TeamNotFound, teamNow } from "../teams/index.js";

@ObjectType({ description: "More seats, which count once their invoice is paid." })
export class PendingUpdate {
  @Field(() => Int, { description: "How many seats there will be." })
  seats!: number;

  @Field(() => Date, { description: "Until when the invoice can be paid; then the update is dropped." })
  expiresAt!: Date;
}

@ObjectType({ description: "What a team pays for." })
export class TeamSubscription {
  @Field(() => String, { nullable: true, description: "Stripe's id of it; null for none." })
  id!: string | null;

  @Field(() => String, {
    description:
      "`none`, or Stripe's word: `active` and `trialing` count as paid; `past_due`, `unpaid`, `incomplete` and " +
      "`paused` do not; `canceled` and `incomplete_expired` have ended.",
  })
  status!: string;

  @Field(() => PlanName, {
    nullable: true,
    description: "The plan `team` while the subscription is paid: then it counts for every member. Else null.",
  })
  plan!: `${PlanName}` | null;

  @Field(() => Int, {
    nullable: true,
    description: "How many seats it is for, or was when it ended; null without a subscription.",
  })
  seats!: number | null;

  @Field(() => Int, { description: "How many members the team has." })
  memberCount!: number;

  @Field(() => Date, { nullable: true, description: "When the period that is paid for began." })
  currentPeriodStart!: Date | null;

  @Field(() => Date, { nullable: true, description: "When that period ends: then it is renewed, or ends for good." })
  currentPeriodEnd!: Date | null;

  @Field(() => Boolean, { description: "Whether it ends for good with the period." })
  cancelAtPeriodEnd!: boolean;

  @Field(() => PendingUpdate, { nullable: true, description: "An upgrade that waits to be paid." })
  pendingUpdate!: PendingUpdate | null;

  @Field(() => String, { nullable: true, description: "Where the owner pays an open invoice; null for others." })
  hostedInvoiceUrl!: string | null;

  @Field(() => Boolean, {
    description: "Whether this may be outdated: it had to be read anew from the payment provider, and that failed.",
  })
  stale!: boolean;
}

export const SUBSCRIPTION_EXAMPLE: TeamSubscription = {
  id: "sub_1SVnJ2CZ6qsJgndJ0Q2b7kLm",
  status: "active",
  plan: "team",
  seats: 5,
  memberCount: 3,
  currentPeriodStart: new Date("2026-03-02T23:01:12.000Z"),
  currentPeriodEnd: new Date("2026-04-02T23:01:12.000Z"),
  cancelAtPeriodEnd: false,
  pendingUpdate: null,
  hostedInvoiceUrl: null,
  stale: false,
};

/** The subscription as a member of the team may see it. */
export function shown(account: BillingAccount, { memberCount, role }: MembersTeam, stale = false): TeamSubscription {
  const { subscriptionId: id, status, seats, pendingSeats, pendingUntil } = account;
  return {
    id,
    status,
    plan: isPaid(account) ? "team" : null,
    seats,
    memberCount,
    currentPeriodStart: account.periodStart,
    currentPeriodEnd: account.periodEnd,
    cancelAtPeriodEnd: account.cancelAtPeriodEnd,
    pendingUpdate: pendingSeats !== null && pendingUntil ? { seats: pendingSeats, expiresAt: pendingUntil } : null,
    // An invoice's page shows the payer's address, and takes cards.
    hostedInvoiceUrl: role === "owner" ? account.hostedInvoiceUrl : null,
    stale,
  };
}

export const teamSubscription = defineOperation({
  name: "teamSubscription",
  kind: "query",
  summary: "What the caller's team pays for.",
  input: NoInput,
  output: TeamSubscription,
  permission: "billing:read",
  failures: [TeamNotFound],
  rest: { method: "GET", path: "/billing/team-subscription" },
  example: { input: {}, output: SUBSCRIPTION_EXAMPLE },
  async handle(context) {
    const { id } = await callersTeam(context, "member");
    const known = await accountOf(context, id);
    const unsure = isUnsure(known, context.now());
    const fresh = unsure ? await reconcileAccount(context, id, PATIENCE_OF_READERS_MS).catch(staleOnly) : known;
    // Read after it: seats and members may have changed with the subscription.
    return shown(fresh ?? known, await callersTeam(context, "member"), fresh === undefined);
  },
});

/** What the provider failed to say leaves the copy as it was. */
function staleOnly(error: unknown): undefined {
  if (error instanceof PaymentProviderError || error instanceof BillingNotConfigured) return undefined;
  throw error;
}

/**
 * The team that billing is about: the caller's own.
 * @throws TeamNotFound for a caller in none, RoleTooSmall below the role that is needed.
 */
export async function callersTeam(context: Context, needed: "owner" | "member"): Promise<MembersTeam> {
  const { team } = context.caller;
  if (!team) throw new TeamNotFound();
  return teamNow(context, team.id, needed);
}

/** The answer of a change whose `prepare` has left everything in the copy. */
export async function subscriptionNow(context: Context): Promise<TeamSubscription> {
  const team = await callersTeam(context, "owner");
  return shown(await accountOf(context, team.id), team);
}
