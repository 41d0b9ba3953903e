import type Stripe from "stripe";
import { HOUR_MS } from "../../durations.js";
import type { Database } from "../../platform/database/database.js";
import { PaymentsError, isRefusal, pricesIn } from "../../platform/billing/payments.js";
import type { BillingAccount } from "./account.js";
import { PaymentProviderError } from "./failures.js";
import { writeAccount } from "./lock.js";
import { readCheckout } from "./provider-subscription.js";
import { BY_ITSELF, type Requester } from "./requester.js";
import type { BillingSession } from "./session.js";

/** How long after its expiry a checkout is over: Stripe may show a payment at the last moment only later. */
const OVER_AFTER_MS = HOUR_MS;

/** A team's open checkouts at the provider. */
export class OpenCheckouts {
  constructor(private readonly session: BillingSession) {}

  /**
   * At most a hundred; none for a customer that was deleted.
   * @throws PaymentsError when the provider fails.
   */
  async list(customer: string): Promise<readonly Stripe.Checkout.Session[]> {
    const open = this.session.ask("list", (stripe, options) =>
      stripe.checkout.sessions.list({ customer, status: "open", limit: 100 }, options),
    );
    return (await open.catch(ignoreMissing))?.data ?? [];
  }

  /** Whether another request opened a checkout while this one waited for the lock; it can be reused. */
  isNew({ checkoutUrl, checkoutSeenAt }: BillingAccount): boolean {
    return checkoutUrl !== null && this.session.isSinceWaiting(checkoutSeenAt);
  }

  /**
   * Stores the checkout, or removes the stored one if the checkout is no longer open.
   * @throws PaymentProviderError when the lock was lost.
   */
  async keep(checkout: Stripe.Checkout.Session, database: Database = this.session.services.database): Promise<void> {
    const { lock } = this.session;
    await writeAccount(database, lock, { ...readCheckout(checkout), checkoutSeenAt: lock.now() });
  }

  /**
   * Expires these checkouts, so that nobody can pay them; returns whether somebody has paid one.
   * @throws PaymentsError when the provider fails.
   * @throws PaymentProviderError when one is still open although the provider refuses to expire it, or the lock was lost.
   */
  async withdraw(
    checkouts: readonly Stripe.Checkout.Session[],
    requester: Requester,
  ): Promise<{ readonly wasPaid: boolean }> {
    let wasPaid = false;
    // All of them, even if one was paid.
    for (const { id } of checkouts) {
      const { isPaid } = await this.#withdrawOne(id, requester);
      wasPaid ||= isPaid;
    }
    return { wasPaid };
  }

  /**
   * Withdraws the stored checkout if its price is no longer configured. Those of earlier releases have no price.
   * @throws what `withdraw` throws, except for a checkout that the provider does not know.
   */
  async withdrawOutdated({ checkoutId, checkoutUrl, checkoutPriceId }: BillingAccount): Promise<void> {
    if (checkoutId === null || checkoutUrl === null || checkoutPriceId === null) return;
    if (pricesIn(this.session.prices).includes(checkoutPriceId)) return;
    await this.#withdrawOne(checkoutId, BY_ITSELF).catch(ignoreMissing);
  }

  async #withdrawOne(id: string, requester: Requester): Promise<{ readonly isPaid: boolean }> {
    try {
      await this.session.requests.send("expire", { id, params: {} }, requester);
      return { isPaid: false };
    } catch (error) {
      if (!isRefusal(error)) throw error;
    }
    const { status } = await this.#read(id);
    if (status === "open") throw new PaymentProviderError();
    return { isPaid: status === "complete" };
  }

  /**
   * Whether the stored checkout can no longer be paid: the provider says so, whose clock decides, or does not know it and
   * it expired a while ago. A paid one is not over until its subscription is found, which the provider creates a moment
   * later.
   * @param found the customer's subscriptions, read before; none of them is live.
   * @throws PaymentsError when the provider fails.
   */
  async isOver(account: BillingAccount, found: readonly Stripe.Subscription[], now: Date): Promise<boolean> {
    const { checkoutId, checkoutUrl, checkoutExpiresAt } = account;
    if (checkoutId === null || checkoutUrl === null) return false;
    const checkout = await this.#read(checkoutId).catch(ignoreMissing);
    const bought = checkout?.subscription;
    const boughtId = typeof bought === "string" ? bought : bought?.id;
    if (checkout?.status === "expired" || found.some(({ id }) => id === boughtId)) return true;
    return checkout?.status !== "open" && +now - Number(checkoutExpiresAt) >= OVER_AFTER_MS;
  }

  #read(checkoutId: string): Promise<Stripe.Checkout.Session> {
    return this.session.ask("checkout.session", (stripe, options) =>
      stripe.checkout.sessions.retrieve(checkoutId, {}, options),
    );
  }
}

/** The provider does not know a checkout or a customer of another Stripe account, where it may still be paid. */
function ignoreMissing(error: unknown): undefined {
  if (error instanceof PaymentsError && error.facts.isMissing) return undefined;
  throw error;
}
