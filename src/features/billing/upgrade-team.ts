import { Field, InputType, Int } from "type-graphql";
import { Between } from "../../operation/bounds.js";
import { RateLimited } from "../../operation/budget.js";
import { Failure, InvalidInput } from "../../operation/failure.js";
import { defineTeamOperation } from "../../operation/operation.js";
import { type BillingAccount, isLive, isPaid } from "./account.js";
import { BillingNotConfigured, PaymentProviderError, SubscriptionRequired } from "./failures.js";
import type { RequestLog } from "./request-log.js";
import type { Requests } from "./request-kinds.js";
import { requesterOf } from "./requester.js";
import { withBillingSession } from "./session.js";
import {
  PROVIDER_NOTE,
  RECORDED_WHEN_DONE,
  SUBSCRIPTION_EXAMPLE,
  TeamSubscription,
  subscriptionNow,
} from "./team-subscription.js";

/** Stripe makes 10 invoices a minute and 20 a day of one subscription; a renewal has to find room as well. */
const UPGRADES_PER_MINUTE = 8;
const UPGRADES_PER_DAY = 16;

@InputType({ description: "How large a team shall be." })
export class UpgradeTeamInput {
  @Field(() => Int, { description: "How many seats there shall be: more than now, up to 1000." })
  @Between(1, 1_000)
  maxMembers!: number;
}

export class SubscriptionUnpaid extends Failure {
  readonly kind = "conflict";
  override readonly reason = "subscription_unpaid";

  constructor() {
    super(
      "The team's subscription has an unpaid invoice. Pay it first: `teamSubscription` has its `hostedInvoiceUrl`.",
    );
  }
}

export class UpgradePending extends Failure {
  static readonly example = new UpgradePending(8);
  readonly kind = "conflict";
  override readonly reason = "upgrade_pending";
  override readonly details: { readonly seats: number };

  constructor(seats: number) {
    super(
      `An upgrade to ${seats} seats waits to be paid. Pay its invoice (\`hostedInvoiceUrl\` of \`teamSubscription\`), or wait until it lapses.`,
    );
    this.details = { seats };
  }
}

export class TooManyUpgrades extends RateLimited {
  static override readonly example = new TooManyUpgrades(60);
  override readonly reason = "too_many_upgrades";

  constructor(retryAfterSeconds: number) {
    super(retryAfterSeconds);
    this.message = `A team may be upgraded ${UPGRADES_PER_MINUTE} times a minute and ${UPGRADES_PER_DAY} times a day.`;
  }
}

export const upgradeTeam = defineTeamOperation({
  name: "upgradeTeam",
  effect: "transaction",
  summary: "Buys more seats, for the rest of the period at once; they count when they are paid.",
  notes:
    "An upgrade that waits to be paid is answered again for the same size, and refused with `upgrade_pending` " +
    "for another. While an invoice is due it is refused with `subscription_unpaid`. A team may be upgraded " +
    `${UPGRADES_PER_MINUTE} times a minute and ${UPGRADES_PER_DAY} times a day. ${PROVIDER_NOTE}`,
  input: UpgradeTeamInput,
  output: TeamSubscription,
  permission: "billing:write",
  team: { which: "own", role: "owner" },
  failures: [
    SubscriptionRequired,
    SubscriptionUnpaid,
    UpgradePending,
    TooManyUpgrades,
    PaymentProviderError,
    BillingNotConfigured,
  ],
  rest: { method: "POST", path: "/billing/team-upgrade" },
  example: { input: { maxMembers: 8 }, output: { ...SUBSCRIPTION_EXAMPLE, seats: 8 } },
  audit: RECORDED_WHEN_DONE,
  async prepare(context, { maxMembers }, { team: { id }, again }) {
    const requester = requesterOf(context);
    await withBillingSession(context, id, async (session) => {
      const { requests, copy } = session;
      const resent = await requests.resend();
      // Others may have been waited for: the team may have another owner by now.
      await again();
      const wasDone = await requests.wasDone("upgrade", requester);
      const account = await copy.refresh();
      // The same was asked for before, and nobody heard what became of it.
      if (resent?.kind === "upgrade" && seatsIn(resent.request) === maxMembers) return;
      if (wasDone || account.pendingSeats === maxMembers) return;
      const { subscriptionId, itemId } = upgradable(account, maxMembers);
      const request = { ...moreSeats(subscriptionId, itemId, maxMembers), seatsBefore: account.seats };
      await assertSeldom(requests);
      await requests.send("upgrade", request, requester);
      // An answer that says nothing of it is no success.
      const { seats, pendingSeats } = await session.account();
      if (seats !== maxMembers && pendingSeats !== maxMembers) throw new PaymentProviderError();
    });
  },
  handle: (context, _input, standing) => subscriptionNow(context, standing),
});

/** @throws a failure that says why there can be no such upgrade. */
function upgradable(account: BillingAccount, maxMembers: number): { subscriptionId: string; itemId: string } {
  const { subscriptionId, itemId, seats, pendingSeats } = account;
  if (!isLive(account) || subscriptionId === null || itemId === null) throw new SubscriptionRequired();
  if (!isPaid(account)) throw new SubscriptionUnpaid();
  if (pendingSeats !== null) throw new UpgradePending(pendingSeats);
  if (seats !== null && maxMembers <= seats) {
    throw new InvalidInput([{ path: "maxMembers", message: `must be more than the ${seats} seats there are` }]);
  }
  return { subscriptionId, itemId };
}

/** @throws TooManyUpgrades before Stripe would refuse another invoice. */
async function assertSeldom(requests: RequestLog): Promise<void> {
  const { inMinute, inDay } = await requests.upgradesLately();
  if (inDay >= UPGRADES_PER_DAY) throw new TooManyUpgrades(3_600);
  if (inMinute >= UPGRADES_PER_MINUTE) throw new TooManyUpgrades(60);
}

/** Without the item's id another item would be added. What is not paid at once changes nothing yet. */
const moreSeats = (id: string, item: string, quantity: number): Requests["upgrade"] => ({
  id,
  params: {
    items: [{ id: item, quantity }],
    proration_behavior: "always_invoice",
    payment_behavior: "pending_if_incomplete",
  },
});

const seatsIn = ({ params }: Pick<Requests["upgrade"], "params">): number | undefined => params.items?.[0]?.quantity;
