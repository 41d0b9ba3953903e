import { Field, InputType, Int } from "type-graphql";
import { DAY_MS, MINUTE_MS } from "../../durations.js";
import { LIMITS } from "../../limits.js";
import { Between } from "../../operation/bounds.js";
import { RateLimited } from "../../operation/budget.js";
import { InvalidInput } from "../../operation/failure.js";
import { defineTeamOperation } from "../../operation/operation.js";
import { type UseLimit, describeLimits, secondsUntilAllowed } from "../../operation/use-limit.js";
import { type BillingAccount, isLive } from "./account.js";
import {
  BillingNotConfigured,
  DecreasePending,
  PaymentProviderError,
  SubscriptionRequired,
  SubscriptionUnpaid,
  UpgradePending,
} from "./failures.js";
import { type ResizableAccount, assertResizable, catchUp } from "./live-subscription.js";
import type { RequestLog } from "./request-log.js";
import type { Requests } from "./request-kinds.js";
import { requesterOf } from "./requester.js";
import { withBillingSession } from "./session.js";
import {
  PROVIDER_NOTE,
  RECORDED_WHEN_DONE,
  SUBSCRIPTION_EXAMPLE,
  TeamSubscription,
  readTeamSubscription,
} from "./team-subscription.js";

/** Stripe creates at most 10 invoices a minute and 20 a day for one subscription; this leaves room for renewals. */
const UPGRADE_LIMITS: readonly UseLimit[] = [
  { limit: 8, windowMs: MINUTE_MS, name: "upgrade", of: "upgrades of a team", by: "handler" },
  { limit: 16, windowMs: DAY_MS, name: "upgrade", of: "upgrades of a team", by: "handler" },
];

@InputType({ description: "The new size of a team." })
export class UpgradeTeamInput {
  @Field(() => Int, { description: `The new number of seats: more than now, up to ${LIMITS.teams.members}.` })
  @Between(1, LIMITS.teams.members)
  maxMembers!: number;
}

export class TooManyUpgrades extends RateLimited {
  static override readonly example = new TooManyUpgrades(60);
  override readonly reason = "too_many_upgrades";

  constructor(retryAfterSeconds: number) {
    super(retryAfterSeconds, describeLimits(UPGRADE_LIMITS));
  }
}

export const upgradeTeam = defineTeamOperation({
  name: "upgradeTeam",
  effect: "transaction",
  summary: "Buys more seats, charged at once for the rest of the period. They count when they are paid.",
  notes:
    "Asking for the present size changes and charges nothing. Fewer seats are refused: `downgradeTeam` buys them " +
    "from the next period on. If the card is declined, or the bank wants the owner to confirm the payment, the answer " +
    "has a `pendingUpdate`: the owner pays or confirms at `hostedInvoiceUrl`. Until then, the same size gets the same " +
    "answer again, and another size is refused with `upgrade_pending`. While an invoice is unpaid, upgrades are " +
    "refused with `subscription_unpaid`. " +
    PROVIDER_NOTE,
  input: UpgradeTeamInput,
  output: TeamSubscription,
  permission: "billing:write",
  team: { which: "own", role: "owner" },
  failures: [
    SubscriptionRequired,
    SubscriptionUnpaid,
    UpgradePending,
    DecreasePending,
    TooManyUpgrades,
    PaymentProviderError,
    BillingNotConfigured,
  ],
  limits: UPGRADE_LIMITS,
  rest: { method: "POST", path: "/billing/team-upgrade" },
  example: { input: { maxMembers: 8 }, output: { ...SUBSCRIPTION_EXAMPLE, seats: 8 } },
  audit: RECORDED_WHEN_DONE,
  async prepare(context, { maxMembers }, { team: { id }, again }) {
    const requester = requesterOf(context);
    await withBillingSession(context, id, async (session) => {
      const { requests } = session;
      const account = await catchUp(session, again);
      const wasDone = await requests.wasDone("upgrade", requester);
      // The same upgrade was requested before, and perhaps its client got no answer.
      if (wasDone || account.pendingSeats === maxMembers || (isLive(account) && account.seats === maxMembers)) return;
      assertUpgradable(account, maxMembers);
      await assertBelowLimits(requests);
      await requests.send("upgrade", buildUpgrade(account, maxMembers), requester);
      // If the provider's answer lacks the new seats, it did not make the upgrade.
      const { seats, pendingSeats } = await session.account();
      if (seats !== maxMembers && pendingSeats !== maxMembers) throw new PaymentProviderError();
    });
  },
  handle: (context, _input, standing) => readTeamSubscription(context, standing),
});

/** @throws the failure that says why this upgrade is not possible. */
function assertUpgradable(account: BillingAccount, maxMembers: number): asserts account is ResizableAccount {
  assertResizable(account);
  const { seats, nextSeats } = account;
  if (seats !== null && maxMembers < seats) {
    const message = `must not be less than the present ${seats} seats; \`downgradeTeam\` buys fewer from the next period on`;
    throw InvalidInput.at("maxMembers", message);
  }
  if (seats !== null && nextSeats !== null) throw new DecreasePending(seats);
}

/** @throws TooManyUpgrades at a limit that is below Stripe's. */
async function assertBelowLimits(requests: RequestLog): Promise<void> {
  const ages = await requests.agesOfUpgrades();
  const waits = await Promise.all(UPGRADE_LIMITS.map((limit) => secondsUntilAllowed(limit, async () => ages)));
  const seconds = Math.max(...waits);
  if (seconds > 0) throw new TooManyUpgrades(seconds);
}

/** Without the item's id, Stripe would add another item. If the payment fails, the change waits for a payment. */
const buildUpgrade = (
  { subscriptionId: id, itemId, seats: seatsBefore }: ResizableAccount,
  quantity: number,
): Requests["upgrade"] => ({
  id,
  params: {
    items: [{ id: itemId, quantity }],
    proration_behavior: "always_invoice",
    payment_behavior: "pending_if_incomplete",
  },
  seatsBefore,
});
