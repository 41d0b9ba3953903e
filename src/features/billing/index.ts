import { cancelTeamSubscription } from "./cancel-team-subscription.js";
import { createTeamCheckout } from "./create-team-checkout.js";
import { teamSubscription } from "./team-subscription.js";
import { upgradeTeam } from "./upgrade-team.js";

export { billingChores } from "./chores.js";
export { accountOf, isLive } from "./account.js";
export { assertBillingEnded, endBilling } from "./end-billing.js";
export {
  BillingNotConfigured,
  PaymentProviderError,
  SizeManagedByBilling,
  SubscriptionActive,
  SubscriptionRequired,
} from "./failures.js";
export { type Reconciled, reconcileAccounts } from "./reconcile.js";
export { assertMembersPaid } from "./seats.js";
export { checkoutReturned } from "./checkout-return.js";
export { type AccountSetup, type SetupWishes, setUpAccount } from "./set-up-account.js";
export { InvalidSignature, receivePaymentWebhook } from "./webhook.js";

export const billingOperations = [createTeamCheckout, teamSubscription, upgradeTeam, cancelTeamSubscription] as const;
