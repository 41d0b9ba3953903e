import type Stripe from "stripe";
import type { AuditAction } from "../../operation/audit-action.js";
import { lockRow } from "../../operation/lock-row-statement.js";
import type { Database } from "../../platform/database.js";
import { PaymentsError } from "../../platform/payments.js";
import { type BillingAccount, NO_SUBSCRIPTION, isLive } from "./account.js";
import { writeAccount } from "./lock.js";
import { rankSubscriptions, readSubscription } from "./provider-subscription.js";
import type { RecordedRequest } from "./request-log.js";
import { BY_ITSELF, NOBODY } from "./requester.js";
import type { BillingSession } from "./session.js";

/** The bound of a team. */
const SEATS_MAX = 1_000;

/** When the provider was asked, for which request, and whether what it said ends the checkout. */
interface Reading {
  readonly readAt: Date;
  readonly closing?: RecordedRequest | undefined;
  readonly checkoutIsOver: boolean;
}

/** What is known here of a team's subscription at the provider. */
export class SubscriptionCopy {
  constructor(private readonly session: BillingSession) {}

  /**
   * Writes the copy: the only function that does. It reads the customer's subscriptions anew, so the order in which
   * events arrive does not matter, nor how often. What must not be is ended: a second subscription, which would charge
   * twice, and any of a team that is gone.
   */
  async refresh(closing?: RecordedRequest): Promise<BillingAccount> {
    const { session } = this;
    const known = await session.account();
    if (!closing && session.isSinceWaiting(known.copiedAt)) return known;
    session.touch();
    const { customerId } = known;
    const readAt = session.lock.now();
    const found = customerId === null ? [] : await this.#subscriptionsOf(customerId);
    const [counts, ...others] = rankSubscriptions(found);
    for (const other of others.filter(isLive)) await this.#end(other, "endSecondSubscription");
    // One that lives would be doubled by the checkout.
    const checkoutIsOver = (counts && isLive(counts)) || (await session.checkouts.isOver(known, readAt));
    const hasTeam = await this.#write(counts, { readAt, closing, checkoutIsOver });
    if (hasTeam) return session.account();
    if (counts && isLive(counts)) {
      await this.#write(await this.#end(counts, "endOrphanedSubscription"), { readAt, checkoutIsOver });
    }
    if (customerId !== null) {
      await session.checkouts.withdraw(await session.checkouts.list(customerId), BY_ITSELF);
    }
    return session.account();
  }

  /** Makes sure that what the copy says is read anew before it is believed. */
  async doubt(): Promise<void> {
    await this.session.services.database.models.billingAccount.updateMany({
      where: { teamId: this.session.lock.teamId },
      data: { copiedAt: null, checkedAt: null },
    });
  }

  async #subscriptionsOf(customer: string): Promise<readonly Stripe.Subscription[]> {
    // More than a hundred of one team is out of reach: each begins with a checkout that a person pays.
    const { data } = await this.session.ask("list", (stripe, options) =>
      stripe.subscriptions.list({ customer, status: "all", limit: 100, expand: ["data.latest_invoice"] }, options),
    );
    return data;
  }

  /** Ends a subscription now, what was paid for the time left being credited, and tells the operator. */
  async #end({ id, customer, status }: Stripe.Subscription, action: AuditAction): Promise<Stripe.Subscription> {
    const { session } = this;
    const facts = { alert: action, team_id: session.lock.teamId, subscription: id, customer };
    const { log, database } = session.services;
    if (status === "incomplete") log.info(facts, "a subscription that nobody has paid is ended");
    else log.error(facts, "a subscription that must not be is ended: see whether to refund it");
    // Without a key, since Stripe takes none with this method. What has ended already is refused, and read then.
    const ended = await session
      .ask("subscription", (stripe, options) =>
        stripe.subscriptions.cancel(id, { invoice_now: true, prorate: true }, options),
      )
      .catch(async (error: unknown) => {
        if (!(error instanceof PaymentsError && error.outcome === "refused")) throw error;
        const known = await session.ask("subscription", (stripe, options) =>
          stripe.subscriptions.retrieve(id, {}, options),
        );
        if (isLive(known)) throw error;
        return known;
      });
    await session.audit(database, { action, subject: id, door: "billing" }, NOBODY);
    return ended;
  }

  /** Answers with whether there is a team still. */
  async #write(
    subscription: Stripe.Subscription | undefined,
    { readAt, closing, checkoutIsOver }: Reading,
  ): Promise<boolean> {
    const { services, lock, priceId, requests } = this.session;
    const values = subscription ? readSubscription(subscription, priceId) : NO_SUBSCRIPTION;
    return services.database.transaction(async (inner) => {
      // The team's row before its account's, as every change to a team does.
      const hasTeam = await lockRow(inner, "team", { id: lock.teamId });
      await writeAccount(inner, lock, {
        ...values,
        // What happened at the provider before it was asked is in the copy.
        copiedAt: readAt,
        checkedAt: readAt,
        ...(checkoutIsOver && { checkoutUrl: null }),
      });
      const paysFor = subscription && subscription.status !== "incomplete" && isLive(subscription);
      if (hasTeam && paysFor && values.seats !== null) await grantSeats(inner, lock.teamId, values.seats);
      if (closing) await requests.closeDone(inner, closing);
      return hasTeam;
    });
  }
}

/**
 * As many seats as are paid for, in a team whose row is locked; where somebody made the subscription smaller at the
 * provider itself, nobody is removed.
 */
async function grantSeats({ models }: Database, teamId: string, seats: number): Promise<void> {
  const { memberCount } = await models.team.findUniqueOrThrow({
    where: { id: teamId },
    select: { memberCount: true },
  });
  const maxMembers = Math.max(memberCount, Math.min(seats, SEATS_MAX), 1);
  await models.team.updateMany({ where: { id: teamId, maxMembers: { not: maxMembers } }, data: { maxMembers } });
}
