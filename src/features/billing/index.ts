import { accountOf, isLive, isPaid } from "./account.js";
import { cancelTeamSubscription } from "./cancel-team-subscription.js";
import { createTeamCheckout } from "./create-team-checkout.js";
import { downgradeTeam } from "./downgrade-team.js";
import { openBillingPortal } from "./open-billing-portal.js";
import { resumeTeamSubscription } from "./resume-team-subscription.js";
import { teamInvoices } from "./team-invoices.js";
import { teamSubscription } from "./team-subscription.js";
import { teamUpgradePreview } from "./team-upgrade-preview.js";
import { upgradeTeam } from "./upgrade-team.js";

export { billingChores } from "./chores.js";
export { accountOf, isLive };
export { assertBillingEnded, assertNoSmallerCheckout, endBilling, withdrawSmallerCheckout } from "./end-billing.js";
export {
  BillingNotConfigured,
  NoPaidSeat,
  PaymentProviderError,
  SizeManagedByBilling,
  SubscriptionActive,
  SubscriptionRequired,
} from "./failures.js";
export { type Reconciled, reconcileAccounts } from "./reconcile.js";
export { noteFormerPayer } from "./payer.js";
export { assertMembersPaid, assertPaidSeat } from "./seats.js";
export { refreshCheckout } from "./checkout-return.js";
export {
  type AccountSetup,
  FIRST_PRICES,
  type SetupOptions,
  listEndpoints,
  restartsPeriod,
  setUpAccount,
} from "./set-up-account.js";
export { type UnknownSubscription, findUnknownSubscriptions } from "./unknown-subscriptions.js";
export { InvalidSignature, receivePaymentWebhook } from "./webhook.js";

/** What the page of a team and its billing runs. */
export const billingByPage = {
  teamSubscription,
  teamInvoices,
  teamUpgradePreview,
  createTeamCheckout,
  upgradeTeam,
  downgradeTeam,
  cancelTeamSubscription,
  resumeTeamSubscription,
  openBillingPortal,
  isLive,
  isPaid,
} as const;

export const billingOperations = [
  createTeamCheckout,
  teamSubscription,
  teamUpgradePreview,
  upgradeTeam,
  downgradeTeam,
  cancelTeamSubscription,
  resumeTeamSubscription,
  openBillingPortal,
  teamInvoices,
] as const;
