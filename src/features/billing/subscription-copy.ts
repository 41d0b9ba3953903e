import type Stripe from "stripe";
import { NOBODY } from "../../operation/audit.js";
import type { AuditAction } from "../../operation/audit-action.js";
import { LIMITS } from "../../limits.js";
import { lockRow } from "../../operation/lock-row-statement.js";
import { isSure } from "../../operation/retention.js";
import type { Database } from "../../platform/database/database.js";
import type { BillingMail } from "../../platform/billing/billing.js";
import { PaymentsError, isRefusal, pricesIn } from "../../platform/billing/payments.js";
import { type BillingAccount, NO_SUBSCRIPTION, isLive, isPaid } from "./account.js";
import { assertHeld, writeAccount } from "./lock.js";
import { type Grace, changeGrace, tellOwner, withdrawMails } from "./grace.js";
import { type SubscriptionValues, rankSubscriptions, readSubscription } from "./provider-subscription.js";
import type { RecordedRequest } from "./request-log.js";
import { BY_ITSELF } from "./requester.js";
import type { BillingSession } from "./session.js";

/** A reading of the subscription, apart from the subscription itself. */
interface Reading {
  /** When the provider was asked, by the database's clock. */
  readonly readAt: Date;
  /** The copy before. */
  readonly known: BillingAccount;
  /** The request that this reading closes. */
  readonly closing?: RecordedRequest | undefined;
  /** Whether the stored checkout can no longer be paid. */
  readonly checkoutIsOver: boolean;
}

/** The copy of a team's subscription at the provider. */
export class SubscriptionCopy {
  constructor(private readonly session: BillingSession) {}

  /**
   * The only function that writes the copy. It reads the customer's subscriptions again, so it does not matter how
   * often and in which order events arrive. It ends subscriptions that must not exist: a second one, which would charge
   * twice, and those of a deleted team.
   * @param closing the request whose effect this reading stores, and which it closes.
   * @throws PaymentsError or PaymentProviderError when the provider fails, or the lock was lost.
   */
  async refresh(closing?: RecordedRequest): Promise<BillingAccount> {
    const { session } = this;
    const known = await session.account();
    // Before the copy of another session is reused: that may be a server with the previous prices. Not while a request
    // is open, since no other one can be sent then.
    if (!closing && !known.hasOpenRequest) await session.checkouts.withdrawOutdated(known);
    if (!closing && session.isSinceWaiting(known.copiedAt)) return known;
    session.touch();
    const { customerId } = known;
    const readAt = session.lock.now();
    const found = customerId === null ? [] : await this.#subscriptionsOf(customerId, known);
    const [counts, ...others] = rankSubscriptions(found, known.subscriptionId);
    for (const other of others.filter(isLive)) await this.#end(other, "endSecondSubscription");
    for (const ended of found.filter(mayOwe)) await this.#voidOpenInvoices(ended.id);
    // Beside a live subscription, a checkout would create a second one.
    const checkoutIsOver = (counts && isLive(counts)) || (await session.checkouts.isOver(known, found, readAt));
    const hasTeam = await this.#write(counts, { readAt, known, closing, checkoutIsOver });
    if (hasTeam) return session.account();
    if (counts && isLive(counts)) {
      await this.#write(await this.#end(counts, "endOrphanedSubscription"), { readAt, known, checkoutIsOver });
    }
    if (customerId !== null) {
      await session.checkouts.withdraw(await session.checkouts.list(customerId), BY_ITSELF);
    }
    return session.account();
  }

  /** Marks the copy as outdated, so that it is refreshed before it is used. */
  async doubt(): Promise<void> {
    await this.session.services.database.models.billingAccount.updateMany({
      where: { teamId: this.session.lock.teamId },
      data: { copiedAt: null, checkedAt: null },
    });
  }

  /** Stripe ended the subscriptions of a customer that an operator deleted in the dashboard. */
  async #isDeleted(customer: string): Promise<boolean> {
    const known = await this.session.ask("customer", (stripe, options) =>
      stripe.customers.retrieve(customer, {}, options),
    );
    return "deleted" in known;
  }

  /**
   * None of a customer that the provider does not know, as after a change to a key of another account: unless the copy
   * is live, since that subscription may charge there.
   */
  async #subscriptionsOf(customer: string, known: BillingAccount): Promise<readonly Stripe.Subscription[]> {
    // A team cannot have more than a hundred: each begins with a checkout that a person pays.
    try {
      const { data } = await this.session.ask("list", (stripe, options) =>
        stripe.subscriptions.list({ customer, status: "all", limit: 100, expand: ["data.latest_invoice"] }, options),
      );
      return data;
    } catch (error) {
      const isMissing = error instanceof PaymentsError && error.facts.isMissing;
      if (isMissing && (!isLive(known) || (await this.#isDeleted(customer)))) return [];
      throw error;
    }
  }

  /**
   * Voids the open invoices of a subscription that has ended: Stripe leaves them open, and somebody who paid one would
   * get nothing for it. A new subscription begins with its own invoice. One that is marked as uncollectible stays, though
   * it can be paid, too: it is a debt in the operator's books, and voiding it cannot be undone. The latest one is voided
   * last: by it `mayOwe` finds those that are left when the provider fails in between.
   */
  async #voidOpenInvoices(subscription: string): Promise<void> {
    const { session } = this;
    const { data } = await session.ask("list", (stripe, options) =>
      stripe.invoices.list({ subscription, status: "open", limit: 100 }, options),
    );
    for (const { id: invoice } of data.toReversed()) {
      const facts = { team_id: session.lock.teamId, subscription, invoice };
      try {
        await session.ask("invoice", (stripe, options) => stripe.invoices.voidInvoice(invoice, {}, options));
        session.services.log.info(facts, "an open invoice of an ended subscription is voided");
      } catch (error) {
        if (!isRefusal(error)) throw error;
        const alert = "invoiceOfEndedSubscription";
        session.services.log.error({ ...facts, alert, err: error }, "it cannot be voided: check whether it was paid");
      }
    }
  }

  /**
   * Ends a subscription now, and logs it for the operator. A paid one gets a credit for the remaining time; an unpaid
   * one none, since Stripe would give it even for time that is not paid.
   */
  async #end(subscription: Stripe.Subscription, action: AuditAction): Promise<Stripe.Subscription> {
    const { session } = this;
    const { id, customer, status } = subscription;
    const facts = { alert: action, team_id: session.lock.teamId, subscription: id, customer };
    const { log, database } = session.services;
    // The request has no idempotency key, and whoever holds the lock by now may need this subscription.
    await assertHeld(database, session.lock);
    if (status === "incomplete") log.info(facts, "an unpaid subscription that must not exist is ended");
    else log.error(facts, "a subscription that must not exist is ended: check whether to refund it");
    // Without an idempotency key, which Stripe does not accept with DELETE. If it has already ended, Stripe refuses.
    const ended = await session
      .ask("subscription", (stripe, options) =>
        stripe.subscriptions.cancel(id, isPaid(subscription) ? { invoice_now: true, prorate: true } : {}, options),
      )
      .catch(async (error: unknown) => {
        if (!isRefusal(error)) throw error;
        const known = await session.ask("subscription", (stripe, options) =>
          stripe.subscriptions.retrieve(id, {}, options),
        );
        if (isLive(known)) throw error;
        return known;
      });
    await session.audit(database, { action, subject: id, door: "billing" }, NOBODY);
    if (!isPaid(subscription)) await this.#voidOpenInvoices(id);
    return ended;
  }

  #tellOwner(inner: Database, mail: BillingMail, { status, ...values }: SubscriptionValues & Grace) {
    const { freeSeats } = this.session.services.billing;
    const { graceUntil: until, hostedInvoiceUrl: invoiceUrl, periodEnd } = values;
    const lasting = status === "paused" ? "paused" : "owed";
    const outcome = isLive({ status }) ? lasting : "ended";
    return tellOwner(inner, this.session, mail, { until, periodEnd, invoiceUrl, freeSeats, outcome });
  }

  /** Returns whether the team still exists. */
  async #write(
    subscription: Stripe.Subscription | undefined,
    { readAt, known, closing, checkoutIsOver }: Reading,
  ): Promise<boolean> {
    const { services, lock, prices, requests } = this.session;
    const seatsKnownBy = { prices: pricesIn(prices), knownItemId: known.itemId };
    const values = subscription ? readSubscription(subscription, seatsKnownBy) : withoutSubscription(known);
    return services.database.transaction(async (inner) => {
      // Locks the team's row before its account's, like every change to a team.
      const hasTeam = await lockRow(inner, "team", { id: lock.teamId });
      const days = services.billing.graceDays;
      const { grace, mail } = changeGrace(known, values, { now: readAt, days, isNowSure: isSure(readAt) });
      if (isPaid(values) && !isPaid(known)) await withdrawMails(inner, lock);
      if (mail && hasTeam) await this.#tellOwner(inner, mail, { ...values, ...grace });
      await writeAccount(inner, lock, {
        ...values,
        ...grace,
        // The time before the request: the copy contains all changes up to then.
        copiedAt: readAt,
        checkedAt: readAt,
        ...(checkoutIsOver && { checkoutUrl: null }),
      });
      const givesSeats = subscription && subscription.status !== "incomplete" && isLive(subscription);
      // The seats of the next period, if they are fewer: whoever joined beyond them would lose the seat.
      const seats = values.nextSeats ?? values.seats;
      if (hasTeam && givesSeats && seats !== null) await grantSeats(inner, lock.teamId, seats);
      if (closing) await requests.closeDone(inner, closing);
      return hasTeam;
    });
  }
}

/**
 * What remains of a subscription that the provider does not show any more, since its customer was deleted, or is unknown
 * there: it has ended, and was the team's first.
 */
const withoutSubscription = ({ subscriptionId, seats, interval }: BillingAccount): SubscriptionValues =>
  subscriptionId === null
    ? NO_SUBSCRIPTION
    : { ...NO_SUBSCRIPTION, subscriptionId, seats, interval, status: "canceled" };

/**
 * Whether a subscription has ended and may have an open invoice: its latest one, or one before a draft, which Stripe
 * makes for an unpaid subscription.
 */
const mayOwe = (subscription: Stripe.Subscription): boolean => {
  const { latest_invoice: invoice } = subscription;
  return !isLive(subscription) && typeof invoice === "object" && ["open", "draft"].includes(invoice?.status ?? "");
};

/**
 * Sets the team's size to the paid seats. Must be called while the team's row is locked. If the subscription was made
 * smaller at the provider, no member is removed.
 */
async function grantSeats({ models }: Database, teamId: string, seats: number): Promise<void> {
  const { memberCount } = await models.team.findUniqueOrThrow({
    where: { id: teamId },
    select: { memberCount: true },
  });
  const maxMembers = Math.max(memberCount, Math.min(seats, LIMITS.teams.members), 1);
  await models.team.updateMany({ where: { id: teamId, maxMembers: { not: maxMembers } }, data: { maxMembers } });
}
