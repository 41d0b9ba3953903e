import { NoInput, defineTeamOperation } from "../../operation/operation.js";
import { endOf } from "./account.js";
import { BillingNotConfigured, PaymentProviderError, SubscriptionRequired } from "./failures.js";
import { type LiveAccount, assertSubscribed, catchUp, withoutEnd } from "./live-subscription.js";
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

export const resumeTeamSubscription = defineTeamOperation({
  name: "resumeTeamSubscription",
  effect: "transaction",
  summary: "Takes back the cancellation of the team's subscription: it is renewed again. Repeating it changes nothing.",
  notes:
    "It charges nothing before the end of the period. A subscription that has ended cannot be resumed: buy seats again " +
    `with \`createTeamCheckout\`. ${PROVIDER_NOTE}`,
  input: NoInput,
  output: TeamSubscription,
  permission: "billing:write",
  team: { which: "own", role: "owner" },
  failures: [SubscriptionRequired, PaymentProviderError, BillingNotConfigured],
  rest: { method: "POST", path: "/billing/team-resume" },
  example: { input: {}, output: SUBSCRIPTION_EXAMPLE },
  audit: RECORDED_WHEN_DONE,
  async prepare(context, _input, { team: { id }, again }) {
    const requester = requesterOf(context);
    await withBillingSession(context, id, async (session) => {
      const account = await catchUp(session, again);
      assertSubscribed(account);
      if (endOf(account) === null || (await session.requests.wasDone("resume", requester))) return;
      await session.requests.send("resume", buildResumption(account), requester);
    });
  },
  handle: (context, _input, standing) => readTeamSubscription(context, standing),
});

const buildResumption = (account: LiveAccount): Requests["resume"] => ({
  id: account.subscriptionId,
  params: withoutEnd(account),
});
