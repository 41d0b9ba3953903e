import { NoInput, defineTeamOperation } from "../../operation/operation.js";
import { BillingNotConfigured, PaymentProviderError, SubscriptionRequired } from "./failures.js";
import { assertSubscribed, catchUp } from "./live-subscription.js";
import { requesterOf } from "./requester.js";
import { type BillingAccount, endOf, isStalled } from "./account.js";
import { withBillingSession } from "./session.js";
import {
  CANCELLED_EXAMPLE,
  PROVIDER_NOTE,
  RECORDED_WHEN_DONE,
  TeamSubscription,
  readTeamSubscription,
} from "./team-subscription.js";

export const cancelTeamSubscription = defineTeamOperation({
  name: "cancelTeamSubscription",
  effect: "transaction",
  summary: "Ends the team's subscription at the end of the paid period. Repeating it changes nothing.",
  notes:
    "Until then `resumeTeamSubscription` takes it back; after it, buy seats again with `createTeamCheckout`. An " +
    "upgrade before then is valid until the end of the period. A subscription whose `status` is `incomplete`, `unpaid` " +
    "or `paused`, or `past_due` without a `plan`, has no paid period: it ends at once. " +
    PROVIDER_NOTE,
  input: NoInput,
  output: TeamSubscription,
  permission: "billing:write",
  team: { which: "own", role: "owner" },
  failures: [SubscriptionRequired, PaymentProviderError, BillingNotConfigured],
  rest: { method: "POST", path: "/billing/team-cancel" },
  example: { input: {}, output: CANCELLED_EXAMPLE },
  audit: RECORDED_WHEN_DONE,
  async prepare(context, _input, { team: { id }, again }) {
    const requester = requesterOf(context);
    await withBillingSession(context, id, async (session) => {
      const { requests } = session;
      const account = await catchUp(session, again);
      if (await requests.wasDone("cancel", requester)) return;
      assertSubscribed(account);
      const isAtOnce = isStalled(account, session.lock.now());
      if (!isAtOnce && endsWithPeriod(account)) return;
      const params = isAtOnce ? {} : { cancel_at_period_end: true };
      await requests.send("cancel", { id: account.subscriptionId, params, isAtOnce }, requester);
    });
  },
  handle: (context, _input, standing) => readTeamSubscription(context, standing),
});

/** Whether it already ends with its period. A later end, set at the provider, does not count: it would charge again. */
function endsWithPeriod(account: BillingAccount): boolean {
  const end = endOf(account);
  return end !== null && (account.periodEnd === null || end <= account.periodEnd);
}
