import type Stripe from "stripe";
import type { AuditAction } from "../../operation/audit-action.js";
import { type Actor, recordAudit } from "../../operation/audit.js";
import type { Door } from "../../operation/context.js";
import { TeamNotFound } from "../../operation/standing.js";
import type { Database } from "../../platform/database.js";
import { Deadline, type Payments, PaymentsError } from "../../platform/payments.js";
import { type BillingAccount, type BillingServices, accountOf } from "./account.js";
import { BillingNotConfigured, PaymentProviderError } from "./failures.js";
import { type AccountLock, withAccountLock } from "./lock.js";
import { OpenCheckouts } from "./open-checkouts.js";
import { RequestLog } from "./request-log.js";
import { SubscriptionCopy } from "./subscription-copy.js";

/**
 * Deals with the provider about one team while nobody else does: no connection of the database is held meanwhile, and
 * all of it together takes no longer than an operation may.
 * @throws BillingNotConfigured without a provider.
 * @throws PaymentProviderError when the provider fails; what was begun is then finished by the next session.
 * @throws TeamNotFound when that is because the team was deleted meanwhile.
 */
export async function withBillingSession<T>(
  services: BillingServices,
  teamId: string,
  work: (session: BillingSession) => Promise<T>,
  patience: "changeMs" | "readMs" = "changeMs",
): Promise<T> {
  const { database, billing, log } = services;
  const { payments } = billing;
  if (!payments) throw new BillingNotConfigured();
  await database.models.billingAccount.createMany({ data: { teamId }, skipDuplicates: true });
  const deadline = new Deadline(payments.waits[patience]);
  try {
    return await withAccountLock(database, { teamId, deadline }, (lock) =>
      work(new BillingSession(services, payments, lock, deadline)),
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

/** What is done for one team at the provider, by whoever holds its lock. */
export class BillingSession {
  readonly requests: RequestLog;
  readonly copy: SubscriptionCopy;
  readonly checkouts: OpenCheckouts;
  /** Nothing was asked here yet that could have changed something. */
  #isUntouched = true;

  constructor(
    readonly services: BillingServices,
    private readonly payments: Payments,
    readonly lock: AccountLock,
    private readonly deadline: Deadline,
  ) {
    this.requests = new RequestLog(this);
    this.copy = new SubscriptionCopy(this);
    this.checkouts = new OpenCheckouts(this);
  }

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

  /** From here on, what others have read while this one waited is no longer new. */
  touch(): void {
    this.#isUntouched = false;
  }

  /** Whether it was after this session began to wait for the lock, and nothing was asked in it yet. */
  isSinceWaiting(time: Date | null): boolean {
    const { waitedSince } = this.lock;
    // Times are kept in milliseconds, rounded.
    return this.#isUntouched && !!waitedSince && !!time && time.getTime() > waitedSince.getTime() + 1;
  }

  async audit(database: Database, { action, door, ...note }: AuditedChange, actor: Actor): Promise<void> {
    const { newId } = this.services;
    await recordAudit({ database, newId, door: door as Door }, action, { teamId: this.lock.teamId, ...note }, actor);
  }
}

interface AuditedChange {
  readonly action: AuditAction;
  readonly subject: string | null;
  readonly door: string;
  readonly detail?: string;
}
