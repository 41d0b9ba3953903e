import type Stripe from "stripe";
import { DAY_MS } from "../../durations.js";
import { LIMITS } from "../../limits.js";
import type { AuditAction } from "../../operation/audit-action.js";
import { IdempotencyKeyReused } from "../../operation/idempotency.js";
import { lockRow } from "../../operation/lock-row-statement.js";
import type { Database } from "../../platform/database/database.js";
import { PaymentsError, isRefusal } from "../../platform/billing/payments.js";
import type { BillingRequest, Prisma } from "../../platform/prisma/client.js";
import { AccountBusy, PaymentProviderError } from "./failures.js";
import { assertHeld } from "./lock.js";
import { keepCustomer } from "./payer.js";
import { type Answers, CALLS, REPEATABLE_MS, type RequestKind, type Requests } from "./request-kinds.js";
import type { Requester } from "./requester.js";
import type { BillingSession } from "./session.js";

/** A stored request, which is sent now and resent until its outcome is known. */
export type RecordedRequest<Kind extends RequestKind = RequestKind> = Omit<BillingRequest, "kind" | "request"> & {
  readonly kind: Kind;
  readonly request: Requests[Kind];
};

/** The audit action of each kind of request. Other kinds are not recorded. */
const AUDITED: Partial<Readonly<Record<RequestKind, AuditAction>>> = {
  checkout: "createTeamCheckout",
  upgrade: "upgradeTeam",
  downgrade: "downgradeTeam",
  cancel: "cancelTeamSubscription",
  resume: "resumeTeamSubscription",
};

/** The requests to the provider for a team, and their outcomes. */
export class RequestLog {
  /** Whether this session sent a request, or sent one again. */
  hasSent = false;

  constructor(private readonly session: BillingSession) {}

  /**
   * Resends the recorded request whose outcome is unknown, under its original idempotency key, so that it has one
   * effect however often it arrives. One older than `REPEATABLE_MS` is abandoned instead.
   * @throws PaymentsError when the outcome is still unknown.
   * @throws AccountBusy for a request of a newer server, which alone knows how to send it.
   * @throws PaymentProviderError when the lock was lost.
   */
  async resend(): Promise<void> {
    const { models } = this.#database;
    const row = await models.billingRequest.findFirst({ where: { teamId: this.#teamId, outcome: null } });
    if (!row) return;
    const open = recordedOf(row);
    // One in the future is of a database's clock that was ahead: Stripe may have forgotten its key by now.
    if (open.createdAt < this.#ago(REPEATABLE_MS) || open.createdAt > this.#ago(-LIMITS.clock.aheadMs)) {
      // The next refresh of the copy shows whether it had an effect.
      await this.#giveUp(open, "abandoned");
      return;
    }
    if (!(open.kind in CALLS)) throw new AccountBusy();
    await this.#complete(open).catch((error: unknown) => {
      if (!isRefusal(error)) throw error;
    });
  }

  /**
   * Whether the same client sent the same request with the same Idempotency-Key before, and it was done. What the
   * provider refused leaves the key free, and so does what only prepared a change, such as creating the customer.
   * @throws IdempotencyKeyReused when the key was used for another request.
   */
  async wasDone(kind: RequestKind, { clientKeyHash, clientRequestHash }: Requester): Promise<boolean> {
    if (!clientKeyHash || !clientRequestHash) return false;
    const asked = await this.#database.models.billingRequest.findMany({
      where: {
        teamId: this.#teamId,
        clientKeyHash,
        createdAt: { gt: this.#ago(DAY_MS) },
        kind: { in: Object.keys(AUDITED) },
        outcome: { not: "refused" },
      },
      select: { kind: true, outcome: true, clientRequestHash: true },
    });
    const isSame = (hash: Uint8Array | null) => hash !== null && Buffer.compare(hash, clientRequestHash) === 0;
    if (!asked.every((earlier) => isSame(earlier.clientRequestHash))) throw new IdempotencyKeyReused();
    return asked.some((earlier) => earlier.kind === kind && earlier.outcome === "done");
  }

  /** How many milliseconds ago each upgrade of the last day was requested, oldest first; at most 100. */
  async agesOfUpgrades(): Promise<readonly number[]> {
    const rows = await this.#database.models.billingRequest.findMany({
      where: { teamId: this.#teamId, kind: "upgrade", createdAt: { gt: this.#ago(DAY_MS) } },
      select: { createdAt: true },
      orderBy: { createdAt: "desc" },
      take: 100,
    });
    return rows.map(({ createdAt }) => this.#ago(0).getTime() - createdAt.getTime()).reverse();
  }

  /**
   * Stores the request, sends it, and stores its outcome. No other request may be open: call `resend` first.
   * @param alongside runs in the transaction that stores the request, while the team's row is locked.
   * @throws PaymentsError when the provider refuses; also when the outcome is unknown, and the request stays open.
   * @throws PaymentProviderError when the team was deleted, unless it expires a checkout, or the lock was lost.
   */
  async send<Kind extends RequestKind>(
    kind: Kind,
    request: Requests[Kind],
    requester: Requester,
    alongside?: (inner: Database) => Promise<void>,
  ): Promise<Answers[Kind]> {
    const teamId = this.#teamId;
    const row = await this.#database.transaction(async (inner) => {
      // Locked, so that the team is not deleted in between: nothing may be sold to a deleted team.
      const hasTeam = await lockRow(inner, "team", { id: teamId });
      if (!hasTeam && kind !== "expire") throw new PaymentProviderError();
      await assertHeld(inner, this.session.lock);
      await alongside?.(inner);
      const what = { id: this.session.services.newId(), teamId, kind, request: asJson(request) };
      return inner.models.billingRequest.create({ data: { ...what, ...requester } });
    });
    return this.#complete<Kind>(recordedOf<Kind>(row));
  }

  /** Sends a stored request. A refusal closes it; otherwise it stays open until its effect is in the database. */
  async #complete<Kind extends RequestKind>(recorded: RecordedRequest<Kind>): Promise<Answers[Kind]> {
    const { kind, request, idempotencyKey } = recorded;
    this.hasSent = true;
    this.session.touch();
    const { object, send } = CALLS[kind];
    const answer = await this.session
      .ask<Answers[Kind]>(object, (stripe, options) => send(stripe, request, { ...options, idempotencyKey }))
      .catch(async (error: unknown) => {
        if (isRefusal(error)) {
          // A server error that Stripe replays for the key may have had an effect.
          if (error.facts.isDoubtful) await this.session.copy.doubt();
          await this.#giveUp(recorded, "refused");
        }
        throw error;
      });
    if ("id" in request && request.id !== answer.id)
      throw new PaymentsError("unknown", "Stripe answered with another object.");
    if (answer.object === "subscription") {
      await this.session.copy.refresh(recorded).catch((error: unknown) => {
        // The change was made: a refusal of this reading is none of the request, which stays open.
        throw error instanceof PaymentsError ? new PaymentsError("unknown", error.message) : error;
      });
      return answer;
    }
    await this.#database.transaction(async (inner) => {
      await this.#keep(inner, answer, request);
      await this.closeDone(inner, recorded);
    });
    return answer;
  }

  async #keep(
    inner: Database,
    answer: Stripe.Customer | Stripe.Checkout.Session,
    { params }: Requests[RequestKind],
  ): Promise<void> {
    const { lock, checkouts } = this.session;
    if (answer.object === "checkout.session") await checkouts.keep(answer, inner);
    else if ("email" in params) await keepCustomer(inner, lock, { id: answer.id, email: params.email });
  }

  /** Closes a request as done and records it in the audit. Must be called in the transaction that stores the effect. */
  async closeDone(inner: Database, recorded: RecordedRequest): Promise<void> {
    const { kind, request, actorId, keyId, door } = recorded;
    const isClosed = await this.#close(inner, recorded, "done");
    const action = AUDITED[kind];
    if (!isClosed || action === undefined) return;
    const subject = "id" in request ? request.id : null;
    const change = { action, subject, door, detail: detailOf(recorded) };
    await this.session.audit(inner, change, { userId: actorId, keyId });
  }

  /**
   * Closes a request that had no effect, as far as is known.
   * @throws PaymentProviderError when the lock was lost: its holder may have sent the same request with success.
   */
  #giveUp(open: RecordedRequest, outcome: Outcome): Promise<boolean> {
    return this.#database.transaction(async (inner) => {
      await assertHeld(inner, this.session.lock);
      return this.#close(inner, open, outcome);
    });
  }

  /** Stores the outcome of a request; returns whether the request was open. */
  async #close({ models }: Database, { id, kind }: RecordedRequest, outcome: Outcome): Promise<boolean> {
    // A customer's address is not needed any more, and its user may have been deleted.
    const forgotten = kind === "customer" || kind === "payer" ? { request: {} } : {};
    const data = { outcome, endedAt: this.#ago(0), ...forgotten };
    const { count } = await models.billingRequest.updateMany({ where: { id, outcome: null }, data });
    return count > 0;
  }

  get #database(): Database {
    return this.session.services.database;
  }

  get #teamId(): string {
    return this.session.lock.teamId;
  }

  /** By the database's clock, like the times of requests. */
  #ago(ms: number): Date {
    return new Date(this.session.lock.now().getTime() - ms);
  }
}

type Outcome = "done" | "refused" | "abandoned";

/** Only `send` writes requests, with the type of their kind. */
const recordedOf = <Kind extends RequestKind>(row: BillingRequest): RecordedRequest<Kind> =>
  row as unknown as RecordedRequest<Kind>;

/** Requests consist only of JSON values. */
const asJson = (request: Requests[RequestKind]): Prisma.InputJsonObject => request as unknown as Prisma.InputJsonObject;

function itemsOf(params: Requests[RequestKind]["params"]) {
  if ("line_items" in params) return params.line_items;
  return "items" in params ? params.items : undefined;
}

/** For the audit: the number of seats, or when the subscription ends, or that it is renewed. */
function detailOf({ kind, request }: RecordedRequest): string {
  if (kind === "resume") return "it is renewed again";
  if ("isAtOnce" in request && request.isAtOnce) return "at once";
  const seats = itemsOf(request.params)?.[0]?.quantity;
  if (seats === undefined) return "at the end of the period";
  const before = "seatsBefore" in request ? request.seatsBefore : null;
  return before === null ? `seats: ${seats}` : `seats: ${before} → ${seats}`;
}
