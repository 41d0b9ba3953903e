import { Field, Int, ObjectType } from "type-graphql";
import { MINUTE_MS } from "../../durations.js";
import type { Context } from "../../operation/context.js";
import { NoInput, defineTeamOperation } from "../../operation/operation.js";
import type { MembersTeam, Standing } from "../../operation/standing.js";
import { ANSWERED_WITHIN_S } from "../../platform/billing/payments.js";
import { PlanName } from "../access/index.js";
import { type BillingAccount, accountOf, endOf, givesPlan, mayBeOutdated } from "./account.js";
import { AccountBusy, BillingNotConfigured, PaymentProviderError } from "./failures.js";
import { REPEATABLE_MS } from "./request-kinds.js";
import { reconcileAccount } from "./reconcile.js";

@ObjectType({ description: "An upgrade, which takes effect when its invoice is paid." })
export class PendingUpdate {
  @Field(() => Int, { description: "The number of seats after the upgrade." })
  seats!: number;

  @Field(() => Date, { description: "Until when the invoice can be paid; then the upgrade is cancelled." })
  expiresAt!: Date;
}

@ObjectType({ description: "A team's subscription." })
export class TeamSubscription {
  @Field(() => String, { nullable: true, description: "Stripe's id of the subscription; null without one." })
  id!: string | null;

  @Field(() => String, {
    description:
      "`none`, or Stripe's status: `active` and `trialing` count as paid, `past_due` until `graceUntil`; `unpaid`, " +
      "`incomplete` and `paused` do not; `canceled` and `incomplete_expired` have ended.",
  })
  status!: string;

  @Field(() => Date, {
    nullable: true,
    description: "After a payment failed: until when the plan and the seats stay without it. Otherwise null.",
  })
  graceUntil!: Date | null;

  @Field(() => PlanName, {
    nullable: true,
    description: "Team while the subscription is paid: this plan then counts for every member. Otherwise null.",
  })
  plan!: `${PlanName}` | null;

  @Field(() => Int, {
    nullable: true,
    description: "The number of seats, also after its end; null without a subscription.",
  })
  seats!: number | null;

  @Field(() => Int, {
    nullable: true,
    description: "The number of seats from the next period on, if fewer were chosen; otherwise null.",
  })
  nextSeats!: number | null;

  @Field(() => Int, { description: "The number of members of the team." })
  memberCount!: number;

  @Field(() => String, { nullable: true, description: "The period that is paid at once: `month` or `year`." })
  interval!: string | null;

  @Field(() => Date, { nullable: true, description: "When the present period began." })
  currentPeriodStart!: Date | null;

  @Field(() => Date, { nullable: true, description: "When the present period ends: then it is renewed, or ends." })
  currentPeriodEnd!: Date | null;

  @Field(() => Boolean, { description: "Whether it was cancelled: it ends at `endsAt`, and is not renewed then." })
  cancelAtPeriodEnd!: boolean;

  @Field(() => Date, {
    nullable: true,
    description: "When a cancelled subscription ends: at the end of the period, unless another time was set at Stripe.",
  })
  endsAt!: Date | null;

  @Field(() => PendingUpdate, { nullable: true, description: "An upgrade that waits for its payment." })
  pendingUpdate!: PendingUpdate | null;

  @Field(() => String, {
    nullable: true,
    description:
      "Where the owner pays an open invoice, or confirms its payment if the bank asks for that; null for other " +
      "members, and after the end of the subscription.",
  })
  hostedInvoiceUrl!: string | null;

  @Field(() => Boolean, {
    description: "Whether this may be outdated: it had to be refreshed from the payment provider, and that failed.",
  })
  stale!: boolean;
}

export const SUBSCRIPTION_EXAMPLE: TeamSubscription = {
  id: "sub_1SVnJ2CZ6qsJgndJ0Q2b7kLm",
  status: "active",
  graceUntil: null,
  plan: "team",
  seats: 5,
  nextSeats: null,
  memberCount: 3,
  interval: "month",
  currentPeriodStart: new Date("2026-03-02T23:01:12.000Z"),
  currentPeriodEnd: new Date("2026-04-02T23:01:12.000Z"),
  cancelAtPeriodEnd: false,
  endsAt: null,
  pendingUpdate: null,
  hostedInvoiceUrl: null,
  stale: false,
};

export const CANCELLED_EXAMPLE: TeamSubscription = {
  ...SUBSCRIPTION_EXAMPLE,
  cancelAtPeriodEnd: true,
  endsAt: SUBSCRIPTION_EXAMPLE.currentPeriodEnd,
};

/** For every operation that changes a subscription. */
export const PROVIDER_NOTE =
  `The answer comes within ${ANSWERED_WITHIN_S.change} s, even if the payment provider fails; in GraphQL this is for ` +
  "each change of a request. If the provider does not answer the change, that is retried within a minute, by the next " +
  `request or in the background, for up to ${REPEATABLE_MS / MINUTE_MS} minutes. Then it is abandoned, unless the ` +
  "provider shows that it was made. If the provider fails before the change is sent, the error says that it was not " +
  "done.";

/** The subscription as a member of the team may see it. */
function describeSubscription(
  account: BillingAccount,
  { memberCount, role }: MembersTeam,
  { now, stale = false }: { readonly now: Date; readonly stale?: boolean },
): TeamSubscription {
  const { subscriptionId: id, status, seats, pendingSeats, pendingUntil } = account;
  return {
    id,
    status,
    graceUntil: account.graceUntil,
    plan: givesPlan(account, now) ? "team" : null,
    seats,
    nextSeats: account.nextSeats,
    memberCount,
    interval: account.interval,
    currentPeriodStart: account.periodStart,
    currentPeriodEnd: account.periodEnd,
    cancelAtPeriodEnd: endOf(account) !== null,
    endsAt: endOf(account),
    pendingUpdate: pendingSeats !== null && pendingUntil ? { seats: pendingSeats, expiresAt: pendingUntil } : null,
    // An invoice's page shows the payer's address, and accepts cards.
    hostedInvoiceUrl: role === "owner" ? account.hostedInvoiceUrl : null,
    stale,
  };
}

export const teamSubscription = defineTeamOperation({
  name: "teamSubscription",
  effect: "reads",
  summary: "Shows the subscription of the caller's team.",
  notes:
    "A subscription counts as paid while its `status` is `active` or `trialing`, and for a grace period after a " +
    "failed payment (`graceUntil`): then every member has the plan Team, and the team has the seats of the " +
    "subscription. Otherwise everybody's own plan counts; nobody is removed, but new members can join only while a " +
    "free seat is left. The payment provider is asked only if the stored state may be outdated. The answer comes " +
    `within ${ANSWERED_WITHIN_S.read} s, with \`stale\` if the provider failed. Only the owner sees ` +
    "`hostedInvoiceUrl`.",
  input: NoInput,
  output: TeamSubscription,
  permission: "billing:read",
  team: { which: "own", role: "member" },
  failures: [],
  rest: { method: "GET", path: "/billing/team-subscription" },
  example: { input: {}, output: SUBSCRIPTION_EXAMPLE },
  async handle(context, _input, { team: { id }, again }) {
    const known = await accountOf(context, id);
    const isStale = mayBeOutdated(known, context.now());
    const fresh = isStale ? await reconcileAccount(context, id, "readMs").catch(ignoreProviderFailure) : known;
    // The team is read again last: its seats and members may have changed with the subscription.
    return describeSubscription(fresh ?? known, await again(), { now: context.now(), stale: fresh === undefined });
  },
});

/** If the provider failed, or others wait for it, the copy is unchanged. */
function ignoreProviderFailure(error: unknown): undefined {
  if ([PaymentProviderError, AccountBusy, BillingNotConfigured].some((known) => error instanceof known))
    return undefined;
  throw error;
}

/** A request to the provider may have its effect long after the operation that sent it. */
export const RECORDED_WHEN_DONE = { by: "the request log, once the provider has done it" };

/** The answer of a change, after `prepare` has written the copy. */
export async function readTeamSubscription(context: Context, { team }: Standing): Promise<TeamSubscription> {
  return describeSubscription(await accountOf(context, team.id), team, { now: context.now() });
}
