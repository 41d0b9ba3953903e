export { type BillingAccount, type BillingServices, accountOf, isLive, isPaid, isUnsure } from "./account.js";
export { type AccountDesk, withAccountDesk } from "./account-desk.js";
export { assertBillingEnded, endBilling } from "./end-billing.js";
export { type PaymentEvent, forgetBillingHistory, receivePaymentEvent } from "./events.js";
export {
  BillingNotConfigured,
  PaymentProviderError,
  SizeManagedByBilling,
  SubscriptionActive,
  SubscriptionRequired,
} from "./failures.js";
export { type Reconciled, reconcileAccount, reconcileAccounts, reconcileDueAccount } from "./reconcile.js";
export { REPEATABLE, type Requests, askerOf } from "./requests.js";
export { assertMembersPaid } from "./seats.js";
