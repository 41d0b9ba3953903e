import { Field, Int, ObjectType } from "type-graphql";
import type { Context } from "../../operation/context.js";
import { NoInput, defineTeamOperation } from "../../operation/operation.js";
import { type MembersTeam, type Standing, TeamNotFound } from "../../operation/standing.js";
import { ANSWERED_WITHIN_S } from "../../platform/payments.js";
import { PlanName } from "../access/index.js";
import { type BillingAccount, accountOf, isPaid, isUnsure } from "./account.js";
import { BillingNotConfigured, PaymentProviderError } from "./failures.js";
import { REPEATABLE } from "./request-kinds.js";
import { reconcileAccount } from "./reconcile.js";

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

/** What holds for every change of a subscription. */
export const PROVIDER_NOTE =
  `Answered within ${ANSWERED_WITHIN_S.change} s, whatever the payment provider does; in a GraphQL request with ` +
  "several changes, each of them. A change that was begun and got no answer is finished within a minute, by the next " +
  `request or in the background. This is tried for up to ${REPEATABLE}; then the change is given up, unless the ` +
  "provider says that it was made.";

/** The subscription as a member of the team may see it. */
export function describeSubscription(
  account: BillingAccount,
  { memberCount, role }: MembersTeam,
  stale = false,
): TeamSubscription {
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

export const teamSubscription = defineTeamOperation({
  name: "teamSubscription",
  effect: "reads",
  summary: "What the caller's team pays for.",
  notes:
    "A subscription counts as paid while its `status` is `active` or `trialing`: then every member has the " +
    "plan `team`, and the team has as many seats as it says. Otherwise, and after its end, everybody's own " +
    "plan counts; nobody is removed, and new members come in only while a free seat is left. The payment " +
    "provider is asked only when what is known may be outdated. Whatever it does, the answer comes within " +
    `${ANSWERED_WITHIN_S.read} s, and says \`stale\` where asking failed. Only the owner sees ` +
    "`hostedInvoiceUrl`.",
  input: NoInput,
  output: TeamSubscription,
  permission: "billing:read",
  team: { which: "own", role: "member" },
  failures: [TeamNotFound],
  rest: { method: "GET", path: "/billing/team-subscription" },
  example: { input: {}, output: SUBSCRIPTION_EXAMPLE },
  async handle(context, _input, { team: { id }, again }) {
    const known = await accountOf(context, id);
    const unsure = isUnsure(known, context.now());
    const fresh = unsure ? await reconcileAccount(context, id, "readMs").catch(staleOnly) : known;
    // Read after it: seats and members may have changed with the subscription.
    return describeSubscription(fresh ?? known, await again(), fresh === undefined);
  },
});

/** What the provider failed to say leaves the copy as it was. */
function staleOnly(error: unknown): undefined {
  if (error instanceof PaymentProviderError || error instanceof BillingNotConfigured) return undefined;
  throw error;
}

/** What was asked of the provider may have its effect long after the request that asked for it. */
export const RECORDED_WHEN_DONE = { by: "the request log, once the provider has done it" };

/** The answer of a change whose `prepare` has left everything in the copy. */
export async function subscriptionNow(context: Context, { team }: Standing): Promise<TeamSubscription> {
  return describeSubscription(await accountOf(context, team.id), team);
}
