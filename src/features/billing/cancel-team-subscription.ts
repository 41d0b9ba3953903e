import { NoInput, defineTeamOperation } from "../../operation/operation.js";
import { BillingNotConfigured, PaymentProviderError, SubscriptionRequired } from "./failures.js";
import { requesterOf } from "./requester.js";
import { isLive } from "./account.js";
import { withBillingSession } from "./session.js";
import {
  PROVIDER_NOTE,
  RECORDED_WHEN_DONE,
  SUBSCRIPTION_EXAMPLE,
  TeamSubscription,
  subscriptionNow,
} from "./team-subscription.js";

export const cancelTeamSubscription = defineTeamOperation({
  name: "cancelTeamSubscription",
  effect: "transaction",
  summary: "Lets the team's subscription end with the period that is paid for; done again, nothing changes.",
  notes:
    "It cannot be taken back here. The service's operator can do so at the payment provider or in its customer " +
    "portal, and that counts at once; or buy seats again with `createTeamCheckout` when the period is over. An " +
    `upgrade before then counts to the end of the period. ${PROVIDER_NOTE}`,
  input: NoInput,
  output: TeamSubscription,
  permission: "billing:write",
  team: { which: "own", role: "owner" },
  failures: [SubscriptionRequired, PaymentProviderError, BillingNotConfigured],
  rest: { method: "POST", path: "/billing/team-cancel" },
  example: { input: {}, output: { ...SUBSCRIPTION_EXAMPLE, cancelAtPeriodEnd: true } },
  audit: RECORDED_WHEN_DONE,
  async prepare(context, _input, { team: { id }, again }) {
    await withBillingSession(context, id, async ({ requests, copy }) => {
      await requests.resend();
      // Others may have been waited for: the team may have another owner by now.
      await again();
      const account = await copy.refresh();
      const { subscriptionId, cancelAtPeriodEnd } = account;
      if (!isLive(account) || subscriptionId === null) throw new SubscriptionRequired();
      if (cancelAtPeriodEnd) return;
      const request = { id: subscriptionId, params: { cancel_at_period_end: true } };
      await requests.send("cancel", request, requesterOf(context));
    });
  },
  handle: (context, _input, standing) => subscriptionNow(context, standing),
});
