import { NoInput, defineOperation } from "../../operation/operation.js";
import {
  BillingNotConfigured,
  PaymentProviderError,
  SubscriptionRequired,
  askerOf,
  isLive,
  withAccountDesk,
} from "../subscriptions/index.js";
import { RoleTooSmall, TeamNotFound } from "../teams/index.js";
import { SUBSCRIPTION_EXAMPLE, TeamSubscription, callersTeam, subscriptionNow } from "./team-subscription.js";

export const cancelTeamSubscription = defineOperation({
  name: "cancelTeamSubscription",
  kind: "mutation",
  summary: "Lets the team's subscription end with the period that is paid for; done again, nothing changes.",
  input: NoInput,
  output: TeamSubscription,
  permission: "billing:write",
  failures: [TeamNotFound, RoleTooSmall, SubscriptionRequired, PaymentProviderError, BillingNotConfigured],
  rest: { method: "POST", path: "/billing/team-cancel" },
  example: { input: {}, output: { ...SUBSCRIPTION_EXAMPLE, cancelAtPeriodEnd: true } },
  async prepare(context) {
    const { id } = await callersTeam(context, "owner");
    await withAccountDesk(context, id, async (desk) => {
      await desk.settle();
      // Others may have been waited for: the team may have another owner by now.
      await callersTeam(context, "owner");
      const account = await desk.mirror();
      const { subscriptionId, cancelAtPeriodEnd } = account;
      if (!isLive(account) || subscriptionId === null) throw new SubscriptionRequired();
      if (cancelAtPeriodEnd) return;
      await desk.perform("cancel", { id: subscriptionId, params: { cancel_at_period_end: true } }, askerOf(context));
    });
  },
  handle: subscriptionNow,
});
