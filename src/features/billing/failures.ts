import { Failure, Unavailable } from "../../operation/failure.js";
import { countInWords } from "../../wording.js";

/** For the log: the doctor asks the provider with the same key. */
export const PROVIDER_FAILED = "the payment provider failed. `npm run doctor` says what to do";

const IF_AGAIN = "If it does so again, ask the operator of this service: its log says why.";

const WAS_LEFT = {
  unknown:
    "The payment provider failed or did not answer. Try again in a moment: the change may still be made, but only " +
    `once. ${IF_AGAIN}`,
  refused: `The payment provider refused this, and nothing was changed. ${IF_AGAIN}`,
  undone: `The payment provider failed or did not answer, so this was not done. Try again in a moment. ${IF_AGAIN}`,
} as const;

/** A provider that fails for a moment is back by then; one that refuses is not asked again without its operator. */
const RETRY_AFTER_S = 5;

/** Nothing was changed, or a retry will finish the change; nothing is charged twice. */
export class PaymentProviderError extends Failure {
  readonly kind = "payment_provider_error";
  declare readonly retryAfterSeconds?: number;

  /** @param outcome what became of the change that was asked for. */
  constructor(readonly outcome: keyof typeof WAS_LEFT = "unknown") {
    super(WAS_LEFT[outcome]);
    if (outcome !== "refused") this.retryAfterSeconds = RETRY_AFTER_S;
  }
}

/** Other changes of the team's billing took too long: nothing was done, and the turn comes with a later attempt. */
export class AccountBusy extends Unavailable {
  constructor() {
    super("collision", "Another change of the team's billing is being made.");
  }
}

export class BillingNotConfigured extends Failure {
  readonly kind = "payment_provider_error";
  override readonly reason = "billing_not_configured";

  constructor() {
    super("This service has no payment provider. Ask its operator to set one up.");
  }
}

export class SubscriptionRequired extends Failure {
  readonly kind = "conflict";
  override readonly reason = "subscription_required";

  /** @param limit if it is reached */
  constructor(limit?: SeatLimit, message = limit ? noSeat(limit) : NO_SUBSCRIPTION) {
    super(message);
  }
}

/** For the invited person. */
export class NoPaidSeat extends SubscriptionRequired {
  constructor() {
    super(
      undefined,
      "The team has no paid seat left. Ask the person who invited you: the team's owner can pay for more. Then answer " +
        "again.",
    );
  }
}

/** How many members have a free seat, and whether a subscription waits for its payment. */
export interface SeatLimit {
  readonly freeSeats: number;
  readonly isUnpaid: boolean;
}

const NO_SUBSCRIPTION = "The team has no paid subscription. The owner can buy one with `createTeamCheckout`.";

const noSeat = ({ freeSeats, isUnpaid }: SeatLimit): string =>
  `A team without a paid subscription has at most ${countInWords(freeSeats, "member", "members")}, counting pending ` +
  `invitations. ${isUnpaid ? PAY_OR_END : BUY_MORE}`;

const BUY_MORE = "The owner can buy more seats with `createTeamCheckout`.";
/** A subscription that is live but gives nothing prevents the purchase of another one. */
const PAY_OR_END =
  "The owner can pay the invoice, if `hostedInvoiceUrl` of `teamSubscription` shows one, or end the subscription with " +
  "`cancelTeamSubscription` and buy seats again.";

export class SubscriptionActive extends Failure {
  readonly kind = "conflict";
  override readonly reason = "subscription_active";

  constructor() {
    super(
      "The team has a subscription that has not ended. Cancel it with `cancelTeamSubscription`, unless that is done, " +
        "and delete the team after its end: `endsAt` of `teamSubscription`.",
    );
  }
}

export class SizeManagedByBilling extends Failure {
  readonly kind = "conflict";
  override readonly reason = "size_managed_by_billing";

  constructor() {
    super("The size of this team is set by its subscription. `upgradeTeam` buys more seats, `downgradeTeam` fewer.");
  }
}

export class SubscriptionUnpaid extends Failure {
  readonly kind = "conflict";
  override readonly reason = "subscription_unpaid";

  /** @param isTooLate whether no invoice brings the plan back any more. */
  constructor(isTooLate = false) {
    super(
      isTooLate
        ? "The team's subscription is unpaid, and paying an invoice of an earlier period does not bring the plan back. " +
            "End it at once (`cancelTeamSubscription`), and buy seats again (`createTeamCheckout`)."
        : "The team's subscription is not paid, or paused. Pay its invoice, or confirm the payment that your bank asks " +
            "about, at `hostedInvoiceUrl` of `teamSubscription` or in the customer portal (`openBillingPortal`). While " +
            "its `plan` is null, it can also be ended at once (`cancelTeamSubscription`), and bought again.",
    );
  }
}

export class UpgradePending extends Failure {
  static readonly example = new UpgradePending(8);
  readonly kind = "conflict";
  override readonly reason = "upgrade_pending";
  override readonly details: { readonly seats: number };

  constructor(seats: number) {
    super(
      `An upgrade to ${seats} seats waits for its payment. Pay its invoice, or confirm the payment that your bank asks ` +
        "about, at `hostedInvoiceUrl` of `teamSubscription`, or wait until it expires.",
    );
    this.details = { seats };
  }
}

export class DecreasePending extends Failure {
  static readonly example = new DecreasePending(8);
  readonly kind = "conflict";
  override readonly reason = "decrease_pending";

  /** @param seats the seats that are paid for. */
  constructor(seats: number) {
    super(
      "Fewer seats were chosen for the next period, so more cannot be bought now. Take that back first: call " +
        `\`downgradeTeam\` with the present ${seats} seats.`,
    );
  }
}

export class SeatsInUse extends Failure {
  static readonly example = new SeatsInUse(6);
  readonly kind = "conflict";
  override readonly reason = "seats_in_use";

  /** @param taken the seats of members and pending invitations. */
  constructor(taken: number) {
    super(
      `Members and pending invitations take ${taken} seats. Choose at least as many, or remove members or revoke ` +
        "invitations first.",
    );
  }
}
