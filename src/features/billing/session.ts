import type Stripe from "stripe";
import { LIMITS } from "../../limits.js";
import type { AuditAction } from "../../operation/audit-action.js";
import { type Actor, recordAudit } from "../../operation/audit.js";
import type { Door } from "../../operation/context.js";
import { TeamNotFound } from "../../operation/standing.js";
import type { Database } from "../../platform/database/database.js";
import {
  Deadline,
  type PaymentWaits,
  type Payments,
  PaymentsError,
  isRefusal,
  type Prices,
} from "../../platform/billing/payments.js";
import { type BillingAccount, type BillingServices, accountOf } from "./account.js";
import { AccountBusy, BillingNotConfigured, PROVIDER_FAILED, PaymentProviderError } from "./failures.js";
import { type AccountLock, withAccountLock } from "./lock.js";
import { OpenCheckouts } from "./open-checkouts.js";
import { RequestLog } from "./request-log.js";
import { SubscriptionCopy } from "./subscription-copy.js";

/**
 * Works with the provider for one team while holding its lock. No database connection is held meanwhile, and the whole
 * session has the time limit of an operation.
 * @throws BillingNotConfigured without a provider.
 * @throws PaymentProviderError when the provider fails; the next session then finishes the open request.
 * @throws AccountBusy when others work for the team until the time limit.
 * @throws TeamNotFound instead, if the team was deleted meanwhile.
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
  const deadline = new Deadline(payments.waits[patience], services.waits?.of("stripe"));
  let session: BillingSession | undefined;
  try {
    return await withAccountLock(database, { teamId, deadline, payments }, (lock) =>
      work((session = new BillingSession(services, payments, lock, deadline))),
    );
  } catch (error) {
    if (error instanceof PaymentsError) {
      log.warn({ err: error, team_id: teamId, outcome: error.outcome }, PROVIDER_FAILED);
    } else if (!(error instanceof PaymentProviderError || error instanceof AccountBusy)) throw error;
    // If the team is deleted at the same time, the session can lose its account and fail.
    if ((await database.models.team.count({ where: { id: teamId } })) === 0) throw new TeamNotFound();
    throw error instanceof PaymentsError ? new PaymentProviderError(outcomeOf(error, patience, session)) : error;
  }
}

/**
 * A server error that Stripe replays ends the request, but may have had its effect. Before a session sends a request, it
 * only reads.
 */
export function outcomeOf(error: PaymentsError, patience: keyof PaymentWaits, session?: BillingSession) {
  const { isDoubtful, isKeyRefused } = error.facts;
  const hasSent = session?.requests.hasSent ?? false;
  if ((isRefusal(error) && !isDoubtful) || (isKeyRefused && !hasSent)) return "refused";
  return patience === "changeMs" && hasSent ? "unknown" : "undone";
}

/** The work for one team at the provider, by the holder of its lock. */
export class BillingSession {
  readonly requests: RequestLog;
  readonly copy: SubscriptionCopy;
  readonly checkouts: OpenCheckouts;
  /** Whether `touch` was not called yet. */
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

  /** The configured prices of a seat. */
  get prices(): Prices {
    return this.payments.prices;
  }

  account(): Promise<BillingAccount> {
    return accountOf(this.services, this.lock.teamId);
  }

  /**
   * Sends one request to the provider, within the session's time limit.
   * @throws PaymentsError when there is no answer in time, or it is not an object of this type.
   */
  ask<Answer extends { object: string }>(
    object: Answer["object"],
    send: (stripe: Stripe, options: Stripe.RequestOptions) => Promise<Stripe.Response<Answer>>,
  ): Promise<Answer> {
    return this.payments.ask(object, this.deadline, send);
  }

  /** From now on, data that other sessions read while this one waited for the lock is not reused. */
  touch(): void {
    this.#isUntouched = false;
  }

  /**
   * Whether the time is after this session began waiting for the lock, and `touch` was not called yet. One in the future
   * is of a database's clock that was ahead, and tells nothing.
   */
  isSinceWaiting(time: Date | null): boolean {
    const { waitedSince, now } = this.lock;
    if (!this.#isUntouched || !waitedSince || !time || time.getTime() > now().getTime() + LIMITS.clock.aheadMs)
      return false;
    // Times are stored in rounded milliseconds.
    return time.getTime() > waitedSince.getTime() + 1;
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
