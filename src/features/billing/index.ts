import { cancelTeamSubscription } from "./cancel-team-subscription.js";
import { createTeamCheckout } from "./create-team-checkout.js";
import { teamSubscription } from "./team-subscription.js";
import { upgradeTeam } from "./upgrade-team.js";

export { checkoutReturned } from "./checkout-return.js";
export { type AccountSetup, type SetupWishes, setUpAccount } from "./set-up-account.js";
export { InvalidSignature, receivePaymentWebhook } from "./webhook.js";

export const billingOperations = [createTeamCheckout, teamSubscription, upgradeTeam, cancelTeamSubscription] as const;
