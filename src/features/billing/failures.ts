import { Failure } from "../../operation/failure.js";

/** Nothing was changed, or what was begun is brought to its end by asking again; nothing is charged twice. */
export class PaymentProviderError extends Failure {
  readonly kind = "payment_provider_error";

  constructor() {
    super(
      "The payment provider failed or did not answer. Try again in a moment: what was asked may still be carried out, once.",
    );
  }
}

export class BillingNotConfigured extends Failure {
  readonly kind = "payment_provider_error";
  override readonly reason = "billing_not_configured";

  constructor() {
    super("This service has no payment provider. Its operator has to set one up.");
  }
}

export class SubscriptionRequired extends Failure {
  readonly kind = "conflict";
  override readonly reason = "subscription_required";

  /** @param freeSeats how many members a team may have without one, where that is what was reached. */
  constructor(freeSeats?: number) {
    super(
      freeSeats === undefined
        ? "The team has no paid subscription. The owner buys one with `createTeamCheckout`."
        : `A team without a paid subscription has at most ${freeSeats} members, counting open invitations. The owner ` +
            "buys more seats with `createTeamCheckout`.",
    );
  }
}

export class SubscriptionActive extends Failure {
  readonly kind = "conflict";
  override readonly reason = "subscription_active";

  constructor() {
    super(
      "The team has a subscription that may charge again. Cancel it with `cancelTeamSubscription`, and delete the team when it has ended.",
    );
  }
}

export class SizeManagedByBilling extends Failure {
  readonly kind = "conflict";
  override readonly reason = "size_managed_by_billing";

  constructor() {
    super("The team has as many seats as its subscription pays for. Buy more with `upgradeTeam`.");
  }
}
