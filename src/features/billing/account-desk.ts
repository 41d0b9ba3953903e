import type Stripe from "stripe";
import type { AuditAction } from "../../operation/audit-action.js";
import { type Actor, recordAudit } from "../../operation/audit.js";
import type { Door } from "../../operation/context.js";
import { IdempotencyKeyReused } from "../../operation/idempotency.js";
import type { Database, Statement } from "../../platform/database.js";
import { Deadline, type Payments, PaymentsError } from "../../platform/payments.js";
import { type BillingAccount, type BillingServices, accountOf, isLive } from "./account.js";
import { BillingNotConfigured, PaymentProviderError } from "./failures.js";
import { type AccountLock, readClock, withAccountLock } from "./lock.js";
import {
  checkoutValues,
  grantSeats,
  lockTeamOfAccount,
  mirrorValues,
  rankSubscriptions,
  readSubscription,
  writeMirror,
} from "./mirror.js";
import {
  type Answers,
  type Asker,
  CALLS,
  type RecordedRequest,
  type RequestKind,
  type Requests,
  type UpgradesLately,
  closeRequest,
  doubtMirror,
  openRequest,
  recordRequest,
  requestsAskedUnder,
  upgradesLately,
} from "./requests.js";
import { TeamNotFound } from "../../operation/standing.js";

const ensureAccount: Statement = {
  name: "ensure_billing_account",
  text: "INSERT INTO billing_account (team_id) VALUES ($1::uuid) ON CONFLICT (team_id) DO NOTHING",
};

const keepCustomer: Statement = {
  name: "keep_billing_customer",
  text: `UPDATE billing_account SET customer_id = $3 WHERE team_id = $1::uuid AND locked_by = $2::uuid
    RETURNING team_id`,
};

const keepCheckout: Statement = {
  name: "keep_billing_checkout",
  text: `UPDATE billing_account
    SET checkout_id = $3, checkout_url = $4, checkout_seats = $5::int, checkout_expires_at = $6::timestamptz,
      checkout_seen_at = now()
    WHERE team_id = $1::uuid AND locked_by = $2::uuid RETURNING team_id`,
};

/** How requests that somebody asked for are called in the team's audit. */
const AUDITED: Partial<Readonly<Record<RequestKind, AuditAction>>> = {
  checkout: "createTeamCheckout",
  upgrade: "upgradeTeam",
  cancel: "cancelTeamSubscription",
};

/**
 * Deals with the provider about one team while nobody else does: no connection of the database is held meanwhile, and
 * all of it together takes no longer than an operation may.
 * @throws BillingNotConfigured without a provider.
 * @throws PaymentProviderError when the provider fails; what was begun is then brought to its end by the next call.
 * @throws TeamNotFound when that is because the team was deleted meanwhile.
 */
export async function withAccountDesk<T>(
  services: BillingServices,
  teamId: string,
  work: (desk: AccountDesk) => Promise<T>,
  patience: "changeMs" | "readMs" = "changeMs",
): Promise<T> {
  const { database, billing, log } = services;
  const { payments } = billing;
  if (!payments) throw new BillingNotConfigured();
  await database.run(ensureAccount, [teamId]);
  const deadline = new Deadline(payments.waits[patience]);
  try {
    return await withAccountLock(database, { teamId, deadline }, (lock) =>
      work(new AccountDesk(services, payments, lock, deadline)),
    );
  } catch (error) {
    if (error instanceof PaymentsError) {
      log.warn({ err: error, team_id: teamId, outcome: error.outcome }, "the payment provider failed");
    } else if (!(error instanceof PaymentProviderError)) throw error;
    // Whoever deletes a team takes its account away from those who deal with the provider at that moment.
    if ((await database.models.team.count({ where: { id: teamId } })) === 0) throw new TeamNotFound();
    throw new PaymentProviderError();
  }
}

/** What may be done for one team at the provider, by whoever holds its lock. */
export class AccountDesk {
  /** Nothing was asked here yet that could have changed something. */
  #isUntouched = true;

  constructor(
    private readonly services: BillingServices,
    private readonly payments: Payments,
    private readonly lock: AccountLock,
    private readonly deadline: Deadline,
  ) {}

  get priceId(): string {
    return this.payments.priceId;
  }

  account(): Promise<BillingAccount> {
    return accountOf(this.services, this.lock.teamId);
  }

  /** Reads from the provider. */
  ask<Answer extends { object: string }>(
    object: Answer["object"],
    send: (stripe: Stripe, options: Stripe.RequestOptions) => Promise<Stripe.Response<Answer>>,
  ): Promise<Answer> {
    return this.payments.ask(object, this.deadline, send);
  }

  /**
   * Brings to its end what was asked before and of which nobody knows what became: the same request under the same key
   * has one effect, however often it arrives. Answers with it, if it was done.
   */
  async settle(): Promise<RecordedRequest | undefined> {
    const [open] = await this.services.database.run<RecordedRequest>(openRequest, [this.lock.teamId]);
    if (!open) return undefined;
    if (open.isOld) {
      // Whether it had an effect is read off the provider by whoever goes on from here.
      await this.services.database.run(closeRequest, [open.id, "abandoned"]);
      return undefined;
    }
    try {
      await this.#complete(open);
      return open;
    } catch (error) {
      if (error instanceof PaymentsError && error.outcome === "refused") return undefined;
      throw error;
    }
  }

  /**
   * Whether the same client has asked for this under the same Idempotency-Key, and it was done.
   * @throws IdempotencyKeyReused when something else was asked for under it.
   */
  async wasDone(kind: RequestKind, { askedUnder, askedFor }: Asker): Promise<boolean> {
    if (!askedUnder) return false;
    const asked = await this.services.database.run<{ kind: RequestKind; isDone: boolean | null; isSame: boolean }>(
      requestsAskedUnder,
      [this.lock.teamId, askedUnder, askedFor],
    );
    if (asked.some(({ isSame }) => !isSame)) throw new IdempotencyKeyReused();
    return asked.some((earlier) => earlier.kind === kind && earlier.isDone === true);
  }

  /** Whether somebody who was waited for has left an open checkout: that one need not be asked for again. */
  isCheckoutNew({ checkoutUrl, checkoutSeenAt }: BillingAccount): boolean {
    return checkoutUrl !== null && this.#isSinceWaiting(checkoutSeenAt);
  }

  /** Whether it was after this one began to wait for the lock, and nothing was asked here yet. */
  #isSinceWaiting(time: Date | null): boolean {
    const { waitedSince } = this.lock;
    // Times are kept in milliseconds, rounded.
    return this.#isUntouched && !!waitedSince && !!time && time.getTime() > waitedSince.getTime() + 1;
  }

  async upgradesLately(): Promise<UpgradesLately> {
    const [lately] = await this.services.database.run<UpgradesLately>(upgradesLately, [this.lock.teamId]);
    return lately ?? { inMinute: 0, inDay: 0 };
  }

  /** Writes the request down, sends it, and takes note of what came of it. Nothing may be open any more: `settle`. */
  async perform<Kind extends RequestKind>(kind: Kind, request: Requests[Kind], asker: Asker): Promise<Answers[Kind]> {
    const { teamId, holder } = this.lock;
    const { actorId, keyId, door, askedUnder, askedFor } = asker;
    const values = [teamId, holder, this.services.newId(), kind, JSON.stringify(request)];
    const recorded = await this.services.database.transaction(async (inner) => {
      // Locked, so that the team is not deleted in between: then nothing may be sold to it.
      const [team] = await inner.run(lockTeamOfAccount, [teamId]);
      if (!team && kind !== "expire") return undefined;
      const all = [...values, actorId, keyId, door, askedUnder, askedFor];
      return (await inner.run<RecordedRequest<Kind>>(recordRequest, all))[0];
    });
    if (!recorded) throw new PaymentProviderError();
    return this.#complete<Kind>(recorded);
  }

  /**
   * Writes the local copy: the only function that does. It reads the customer's subscriptions anew, so the order in
   * which events arrive does not matter, nor how often. What must not be is ended: a second subscription, which would
   * charge twice, and any of a team that is gone.
   */
  async mirror(closing?: RecordedRequest): Promise<BillingAccount> {
    const known = await this.account();
    if (!closing && this.#isSinceWaiting(known.mirroredAt)) return known;
    this.#isUntouched = false;
    const { customerId } = known;
    const [clock] = await this.services.database.run<{ now: Date }>(readClock, []);
    const readAt = clock?.now ?? new Date(0);
    const found = customerId === null ? [] : await this.#subscriptionsOf(customerId);
    const [counts, ...others] = rankSubscriptions(found);
    for (const other of others.filter(isLive)) await this.#end(other, "endSecondSubscription");
    // One that lives ends the checkout in the copy by itself.
    const checkoutIsOver = !(counts && isLive(counts)) && (await this.#hasExpired(known));
    const hasTeam = await this.#write(counts, { readAt, closing, checkoutIsOver });
    if (hasTeam) return this.account();
    if (counts && isLive(counts)) {
      await this.#write(await this.#end(counts, "endOrphanedSubscription"), { readAt });
    }
    if (customerId !== null) await this.withdraw(await this.openCheckouts(customerId), BY_ITSELF);
    return this.account();
  }

  /**
   * Whether the provider knows the customer: not if somebody has deleted it there, or the key is another account's. A
   * team whose subscription lives there would be charged twice if it had another one.
   */
  async hasCustomer(customer: string): Promise<boolean> {
    const account = await this.account();
    try {
      const known = await this.ask("customer", (stripe, options) => stripe.customers.retrieve(customer, {}, options));
      if (!("deleted" in known)) return true;
    } catch (error) {
      const isMissing = error instanceof PaymentsError && error.isMissing && !isLive(account);
      if (!isMissing) throw error;
    }
    const facts = { alert: "customerIsGone", team_id: this.lock.teamId, customer };
    this.services.log.error(facts, "the provider knows a team's customer no more: another one is made");
    return false;
  }

  /**
   * Whether the checkout that is thought to be open can never be paid any more: somebody may have ended it before its
   * time. One that was paid is not over until its subscription is seen, which the provider makes a moment later.
   */
  async #hasExpired({ checkoutId, checkoutUrl }: BillingAccount): Promise<boolean> {
    if (checkoutId === null || checkoutUrl === null) return false;
    const status = await this.#statusOf(checkoutId).catch((error: unknown) => {
      // Of another account at the provider, where it may still be paid.
      if (error instanceof PaymentsError && error.isMissing) return undefined;
      throw error;
    });
    return status === "expired";
  }

  async #statusOf(checkoutId: string): Promise<Stripe.Checkout.Session["status"]> {
    const { status } = await this.ask("checkout.session", (stripe, options) =>
      stripe.checkout.sessions.retrieve(checkoutId, {}, options),
    );
    return status;
  }

  /** The checkouts that can be paid at this moment, as the provider says. */
  async openCheckouts(customer: string): Promise<readonly Stripe.Checkout.Session[]> {
    const { data } = await this.ask("list", (stripe, options) =>
      stripe.checkout.sessions.list({ customer, status: "open", limit: 100 }, options),
    );
    return data;
  }

  /** From here on nobody can pay these checkouts; answers with whether somebody has paid one of them. */
  async withdraw(checkouts: readonly Stripe.Checkout.Session[], asker: Asker): Promise<{ readonly wasPaid: boolean }> {
    let wasPaid = false;
    // Each of them, whatever became of those before.
    for (const { id } of checkouts) {
      const { isPaid } = await this.#withdrawOne(id, asker);
      wasPaid ||= isPaid;
    }
    return { wasPaid };
  }

  async #withdrawOne(id: string, asker: Asker): Promise<{ readonly isPaid: boolean }> {
    try {
      await this.perform("expire", { id, params: {} }, asker);
      return { isPaid: false };
    } catch (error) {
      if (!(error instanceof PaymentsError && error.outcome === "refused")) throw error;
    }
    const status = await this.#statusOf(id);
    if (status === "open") throw new PaymentProviderError();
    return { isPaid: status === "complete" };
  }

  async #subscriptionsOf(customer: string): Promise<readonly Stripe.Subscription[]> {
    // More than a hundred of one team is out of reach: each begins with a checkout that a person pays.
    const { data } = await this.ask("list", (stripe, options) =>
      stripe.subscriptions.list({ customer, status: "all", limit: 100, expand: ["data.latest_invoice"] }, options),
    );
    return data;
  }

  /** Ends a subscription now, what was paid for the time left being credited, and tells the operator. */
  async #end({ id, customer, status }: Stripe.Subscription, action: AuditAction): Promise<Stripe.Subscription> {
    const { teamId } = this.lock;
    const facts = { alert: action, team_id: teamId, subscription: id, customer };
    const { log } = this.services;
    if (status === "incomplete") log.info(facts, "a subscription that nobody has paid is ended");
    else log.error(facts, "a subscription that must not be is ended: see whether to refund it");
    // Without a key, since Stripe takes none with this method. What has ended already is refused, and read then.
    const ended = await this.ask("subscription", (stripe, options) =>
      stripe.subscriptions.cancel(id, { invoice_now: true, prorate: true }, options),
    ).catch(async (error: unknown) => {
      if (!(error instanceof PaymentsError && error.outcome === "refused")) throw error;
      const known = await this.ask("subscription", (stripe, options) => stripe.subscriptions.retrieve(id, {}, options));
      if (isLive(known)) throw error;
      return known;
    });
    await this.#audit(this.services.database, { action, subject: id, door: "billing" }, NOBODY);
    return ended;
  }

  /** Answers with whether there is a team still. */
  async #write(
    subscription: Stripe.Subscription | undefined,
    { readAt, closing, checkoutIsOver = false }: Reading,
  ): Promise<boolean> {
    const { teamId, holder } = this.lock;
    const values = mirrorValues(subscription && readSubscription(subscription, this.priceId), checkoutIsOver);
    return this.services.database.transaction(async (inner) => {
      const [team] = await inner.run(lockTeamOfAccount, [teamId]);
      held(await inner.run(writeMirror, [teamId, holder, ...values, readAt]));
      const paysFor = subscription && subscription.status !== "incomplete" && isLive(subscription);
      const { seats } = await accountOf({ database: inner }, teamId);
      if (team && paysFor && seats !== null) await inner.run(grantSeats, [teamId, seats]);
      if (closing) await this.#close(inner, closing);
      return team !== undefined;
    });
  }

  /** Sends what is written down. Refused, it is done with; else it stays open until its effect is in the database. */
  async #complete<Kind extends RequestKind>(recorded: RecordedRequest<Kind>): Promise<Answers[Kind]> {
    const { kind, request, idempotencyKey } = recorded;
    this.#isUntouched = false;
    const { object, send } = CALLS[kind];
    const answer = await this.ask<Answers[Kind]>(object, (stripe, options) =>
      send(stripe, request, { ...options, idempotencyKey }),
    ).catch(async (error: unknown) => {
      if (error instanceof PaymentsError && error.outcome === "refused") {
        // A failure of Stripe's that it repeats from memory may have had its effect.
        if (error.isDoubtful) await this.services.database.run(doubtMirror, [this.lock.teamId]);
        await this.services.database.run(closeRequest, [recorded.id, "refused"]);
      }
      throw error;
    });
    if ("id" in request && request.id !== answer.id) throw new PaymentsError("unknown", "Stripe answered of another.");
    if (answer.object === "subscription") {
      await this.mirror(recorded);
      return answer;
    }
    await this.services.database.transaction(async (inner) => {
      await this.#keep(inner, answer);
      await this.#close(inner, recorded);
    });
    return answer;
  }

  async #keep(inner: Database, answer: Stripe.Customer | Stripe.Checkout.Session): Promise<void> {
    const { teamId, holder } = this.lock;
    if (answer.object === "customer") held(await inner.run(keepCustomer, [teamId, holder, answer.id]));
    else held(await inner.run(keepCheckout, [teamId, holder, ...checkoutValues(answer)]));
  }

  async #close(inner: Database, { id, kind, request, actorId, keyId, door }: RecordedRequest): Promise<void> {
    const [closed] = await inner.run(closeRequest, [id, "done"]);
    const action = AUDITED[kind];
    if (!closed || action === undefined) return;
    const subject = "id" in request ? request.id : null;
    await this.#audit(inner, { action, subject, door, detail: detailOf(request) }, { userId: actorId, keyId });
  }

  async #audit(database: Database, { action, door, ...note }: AuditedChange, actor: Actor): Promise<void> {
    const { newId } = this.services;
    await recordAudit({ database, newId, door: door as Door }, action, { teamId: this.lock.teamId, ...note }, actor);
  }

  /** Notes which checkout may be paid; for a team that has none any more, none. */
  async keepCheckout(session: Stripe.Checkout.Session): Promise<void> {
    await this.#keep(this.services.database, session);
  }
}

/** When the provider was asked, for which request, and what it said of the checkout. */
interface Reading {
  readonly readAt: Date;
  readonly closing?: RecordedRequest | undefined;
  readonly checkoutIsOver?: boolean;
}

interface AuditedChange {
  readonly action: AuditAction;
  readonly subject: string | null;
  readonly door: string;
  readonly detail?: string;
}

/** What the service does by itself. */
const NOBODY: Actor = { userId: null, keyId: null };
const BY_ITSELF: Asker = { actorId: null, keyId: null, door: "billing", askedUnder: null, askedFor: null };

/** @throws PaymentProviderError when nothing was written because another server holds the lock by now. */
function held(rows: readonly unknown[]): void {
  if (rows.length === 0) throw new PaymentProviderError();
}

/** How many seats it is about, for the audit. */
function detailOf(request: Requests[RequestKind]): string {
  const { params } = request;
  const items = "line_items" in params ? params.line_items : "items" in params ? params.items : undefined;
  const seats = items?.[0]?.quantity;
  if (seats === undefined) return "at the end of the period";
  const before = "seatsBefore" in request ? request.seatsBefore : undefined;
  return before == null ? `seats: ${seats}` : `seats: ${before} → ${seats}`;
}
