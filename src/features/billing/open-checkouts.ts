import type Stripe from "stripe";
import type { Database } from "../../platform/database.js";
import { PaymentsError } from "../../platform/payments.js";
import type { BillingAccount } from "./account.js";
import { PaymentProviderError } from "./failures.js";
import { writeAccount } from "./lock.js";
import { readCheckout } from "./provider-subscription.js";
import type { Requester } from "./requester.js";
import type { BillingSession } from "./session.js";

/** Stripe may tell of a payment that came in the last moment a while later. */
const OVER_AFTER_MS = 3_600_000;

/** The pages on which a team's seats can be bought at this moment. */
export class OpenCheckouts {
  constructor(private readonly session: BillingSession) {}

  /** As the provider says. */
  async list(customer: string): Promise<readonly Stripe.Checkout.Session[]> {
    const { data } = await this.session.ask("list", (stripe, options) =>
      stripe.checkout.sessions.list({ customer, status: "open", limit: 100 }, options),
    );
    return data;
  }

  /** Whether somebody who was waited for has left an open checkout: that one need not be asked for again. */
  isNew({ checkoutUrl, checkoutSeenAt }: BillingAccount): boolean {
    return checkoutUrl !== null && this.session.isSinceWaiting(checkoutSeenAt);
  }

  /** Notes which checkout may be paid; for a team that has none any more, none. */
  async keep(checkout: Stripe.Checkout.Session, database: Database = this.session.services.database): Promise<void> {
    const { lock } = this.session;
    await writeAccount(database, lock, { ...readCheckout(checkout), checkoutSeenAt: lock.now() });
  }

  /** From here on nobody can pay these checkouts; answers with whether somebody has paid one of them. */
  async withdraw(
    checkouts: readonly Stripe.Checkout.Session[],
    requester: Requester,
  ): Promise<{ readonly wasPaid: boolean }> {
    let wasPaid = false;
    // Each of them, whatever became of those before.
    for (const { id } of checkouts) {
      const { isPaid } = await this.#withdrawOne(id, requester);
      wasPaid ||= isPaid;
    }
    return { wasPaid };
  }

  async #withdrawOne(id: string, requester: Requester): Promise<{ readonly isPaid: boolean }> {
    try {
      await this.session.requests.send("expire", { id, params: {} }, requester);
      return { isPaid: false };
    } catch (error) {
      if (!(error instanceof PaymentsError && error.outcome === "refused")) throw error;
    }
    const status = await this.#statusOf(id);
    if (status === "open") throw new PaymentProviderError();
    return { isPaid: status === "complete" };
  }

  /**
   * Whether the checkout that is thought to be open can never be paid any more: its time has been for a while, or
   * somebody has ended it before its time. One that was paid is not over until its subscription is seen, which the
   * provider makes a moment later.
   */
  async isOver({ checkoutId, checkoutUrl, checkoutExpiresAt }: BillingAccount, now: Date): Promise<boolean> {
    if (checkoutId === null || checkoutUrl === null) return false;
    const status = await this.#statusOf(checkoutId).catch((error: unknown) => {
      // Of another account at the provider, where it may still be paid.
      if (error instanceof PaymentsError && error.isMissing) return undefined;
      throw error;
    });
    return status === "expired" || (checkoutExpiresAt !== null && +now - +checkoutExpiresAt >= OVER_AFTER_MS);
  }

  async #statusOf(checkoutId: string): Promise<Stripe.Checkout.Session["status"]> {
    const { status } = await this.session.ask("checkout.session", (stripe, options) =>
      stripe.checkout.sessions.retrieve(checkoutId, {}, options),
    );
    return status;
  }
}
