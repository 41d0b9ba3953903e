import { Field, InputType, Int } from "type-graphql";
import { LIMITS } from "../../limits.js";
import { Between } from "../../operation/bounds.js";
import { InvalidInput } from "../../operation/failure.js";
import { defineTeamOperation } from "../../operation/operation.js";
import type { Database } from "../../platform/database/database.js";
import { isRefusal } from "../../platform/billing/payments.js";
import {
  BillingNotConfigured,
  PaymentProviderError,
  SeatsInUse,
  SubscriptionRequired,
  SubscriptionUnpaid,
  UpgradePending,
} from "./failures.js";
import { type ResizableAccount, assertResizable, catchUp } from "./live-subscription.js";
import { KEPT_SEATS } from "./provider-subscription.js";
import type { Requests } from "./request-kinds.js";
import { requesterOf } from "./requester.js";
import { countSeatsInUse } from "./seats-in-use.js";
import { withBillingSession } from "./session.js";
import {
  PROVIDER_NOTE,
  RECORDED_WHEN_DONE,
  SUBSCRIPTION_EXAMPLE,
  TeamSubscription,
  readTeamSubscription,
} from "./team-subscription.js";

@InputType({ description: "The size of a team from the next period on." })
export class DowngradeTeamInput {
  @Field(() => Int, {
    description:
      "The number of seats from the next period on, at most the present number. The present number takes back a " +
      "decrease.",
  })
  @Between(1, LIMITS.teams.members)
  maxMembers!: number;
}

export const downgradeTeam = defineTeamOperation({
  name: "downgradeTeam",
  effect: "transaction",
  summary: "Buys fewer seats from the next period on. Nothing is charged or paid back now.",
  notes:
    "Until the end of the period the paid seats stay (`seats`), but new members can join only up to the new number " +
    "(`nextSeats`). It must leave a seat for every member and pending invitation: otherwise it is refused with " +
    "`seats_in_use`. The present number of seats takes the decrease back. Repeating it changes nothing. " +
    PROVIDER_NOTE,
  input: DowngradeTeamInput,
  output: TeamSubscription,
  permission: "billing:write",
  team: { which: "own", role: "owner" },
  failures: [
    SubscriptionRequired,
    SubscriptionUnpaid,
    UpgradePending,
    SeatsInUse,
    PaymentProviderError,
    BillingNotConfigured,
  ],
  rest: { method: "POST", path: "/billing/team-downgrade" },
  example: { input: { maxMembers: 4 }, output: { ...SUBSCRIPTION_EXAMPLE, nextSeats: 4 } },
  audit: RECORDED_WHEN_DONE,
  async prepare(context, { maxMembers }, { team: { id }, again }) {
    const requester = requesterOf(context);
    await withBillingSession(context, id, async (session) => {
      const account = await catchUp(session, again);
      assertResizable(account);
      const { seats, nextSeats } = account;
      if (seats !== null && maxMembers > seats) {
        const message = `must be at most ${seats}, the present number of seats; \`upgradeTeam\` buys more`;
        throw InvalidInput.at("maxMembers", message);
      }
      if (maxMembers === (nextSeats ?? seats)) return;
      const { requests, copy } = session;
      if (await requests.wasDone("downgrade", requester)) return;
      await requests
        .send("downgrade", buildDowngrade(account, maxMembers), requester, (inner) => lowerTeam(inner, id, maxMembers))
        .catch(async (error: unknown) => {
          // Stripe refused: the refresh gives the team its size back.
          if (isRefusal(error)) await copy.refresh();
          throw error;
        });
    });
  },
  handle: (context, _input, standing) => readTeamSubscription(context, standing),
});

/** The renewal charges the smaller quantity. Until then, the metadata at Stripe says how many seats are paid. */
function buildDowngrade(account: ResizableAccount, quantity: number): Requests["downgrade"] {
  const { subscriptionId: id, seats, nextSeats, periodEnd } = account;
  const end = periodEnd && periodEnd.getTime() / 1_000;
  const keptSeats = seats !== null && quantity < seats && end !== null ? { seats, until: end } : undefined;
  const seatsBefore = nextSeats ?? seats;
  const canBeUndone = end !== null && seatsBefore !== null;
  return {
    id,
    params: withNextSeats(account, quantity, keptSeats),
    seatsBefore,
    ...(canBeUndone && { period: { end, undo: withNextSeats(account, seatsBefore) } }),
  };
}

const withNextSeats = (
  { itemId }: ResizableAccount,
  quantity: number,
  kept?: { readonly seats: number; readonly until: number },
): Requests["downgrade"]["params"] => ({
  items: [{ id: itemId, quantity }],
  proration_behavior: "none",
  metadata: {
    [KEPT_SEATS.seats]: kept ? String(kept.seats) : "",
    [KEPT_SEATS.until]: kept ? String(kept.until) : "",
  },
});

/**
 * Lowers the team's size before Stripe is asked, while the team's row is locked: whoever joined in between would have
 * no paid seat.
 * @throws SeatsInUse when members and pending invitations take more.
 */
async function lowerTeam(database: Database, teamId: string, seats: number): Promise<void> {
  const taken = await countSeatsInUse(database, teamId);
  if (taken > seats) throw new SeatsInUse(taken);
  const isLarger = { id: teamId, maxMembers: { gt: seats } };
  await database.models.team.updateMany({ where: isLarger, data: { maxMembers: seats } });
}
