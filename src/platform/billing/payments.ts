import { setTimeout as sleep } from "node:timers/promises";
import { Stripe } from "stripe";
import { LIMITS } from "../../limits.js";
import { type Watchers, stripeClient } from "./stripe-client.js";
import { withinTime } from "../../within-time.js";

/** The ids of the prices of a seat, by billing period. */
export interface Prices {
  readonly month: string;
  readonly year: string | undefined;
}

export const pricesIn = ({ month, year }: Prices): readonly string[] => (year === undefined ? [month] : [month, year]);

export interface PaymentSettings {
  readonly secretKey: string;
  readonly webhookSecret: string;
  /** The price of one seat per month, and that per year; undefined: seats are not sold by the year. */
  readonly priceId: string;
  readonly yearlyPriceId?: string | undefined;
  /** The configuration of the customer portal; undefined: the account's own. */
  readonly portalId?: string | undefined;
  /** Undefined: Stripe itself. */
  readonly apiBase: string | undefined;
}

/** How long to wait for Stripe. */
export type PaymentWaits = { readonly [Name in keyof typeof LIMITS.payments]: number };

/** What else is known of a failed request. */
interface FailureFacts {
  /** Stripe replayed the server error of an earlier attempt, whose effect is unknown. */
  readonly isDoubtful?: boolean;
  /** Refused because no object has this id. */
  readonly isMissing?: boolean;
  /** Refused because there is nothing to invoice, neither now nor at the end of the period. */
  readonly isNothingDue?: boolean;
  /** The secret key is wrong, or may not do this: the request had no effect, but an earlier attempt may have. */
  readonly isKeyRefused?: boolean;
}

/**
 * A request to Stripe failed. `refused`: Stripe did nothing. `unknown`: Stripe may have done it; to find out, send the
 * same request again under the same idempotency key.
 */
export class PaymentsError extends Error {
  constructor(
    readonly outcome: "refused" | "unknown",
    message: string,
    readonly facts: FailureFacts = {},
  ) {
    // Stripe repeats an address that it refuses, and messages are logged.
    super(
      message
        .slice(0, 2 * LIMITS.log.messageLength)
        .replaceAll(/\S+@\S+/g, "…@…")
        .slice(0, LIMITS.log.messageLength),
    );
  }
}

export const isRefusal = (error: unknown): error is PaymentsError =>
  error instanceof PaymentsError && error.outcome === "refused";

/**
 * The longest time to answer changes and reads, even if Stripe hangs: `LIMITS.payments` plus the work around the calls.
 */
export const ANSWERED_WITHIN_S = { change: 15, read: 4 } as const;

/** How long to wait before a retry while Stripe is busy. */
const BUSY_WAIT_MS = 300;
/** Stripe still processes the same request, or another one holds the object: https://docs.stripe.com/error-codes */
const BUSY = ["idempotency_key_in_use", "lock_timeout"];

/** Measures how long Stripe is waited for. */
interface Stopwatch {
  during<T>(work: () => Promise<T>): Promise<T>;
}

/** The time limit of an operation. */
export class Deadline {
  readonly #end: number;

  constructor(
    limitMs: number,
    readonly stopwatch?: Stopwatch,
  ) {
    this.#end = performance.now() + limitMs;
  }

  get remainingMs(): number {
    return Math.max(0, this.#end - performance.now());
  }
}

type Send<Answer> = (stripe: Stripe, options: Stripe.RequestOptions) => Promise<Stripe.Response<Answer>>;

/** A client of Stripe that checks answers: they must arrive in time, succeed, and have the expected type. */
export class Payments {
  readonly prices: Prices;
  readonly portalId: string | undefined;
  readonly #stripe: Stripe;
  readonly #webhookSecret: string;

  constructor(
    { secretKey, webhookSecret, priceId, yearlyPriceId, portalId, apiBase }: PaymentSettings,
    readonly waits: PaymentWaits = LIMITS.payments,
    watchers: Watchers = {},
  ) {
    this.prices = { month: priceId, year: yearlyPriceId };
    this.portalId = portalId;
    this.#webhookSecret = webhookSecret;
    this.#stripe = stripeClient(secretKey, apiBase, watchers, waits.changeMs);
  }

  /**
   * Sends one request. Retries once if the connection fails, and repeatedly while Stripe still processes an earlier
   * request under the same idempotency key, or another one for the same object.
   * @throws PaymentsError when there is no answer in time, or it is not an object of this type.
   */
  async ask<Answer extends { object: string }>(
    object: Answer["object"],
    deadline: Deadline,
    send: Send<Answer>,
  ): Promise<Answer> {
    const ask = () => this.#ask(object, deadline, send);
    return deadline.stopwatch ? deadline.stopwatch.during(ask) : ask();
  }

  async #ask<Answer extends { object: string }>(
    object: Answer["object"],
    deadline: Deadline,
    send: Send<Answer>,
  ): Promise<Answer> {
    for (;;) {
      try {
        return await this.#askOnce(object, deadline, send);
      } catch (error) {
        if (error instanceof PaymentsError) throw error;
        // The package fails with other errors when it gets an unexpected answer.
        if (!(error instanceof Stripe.errors.StripeError)) throw new PaymentsError("unknown", String(error));
        if (!BUSY.includes(error.code ?? "") || deadline.remainingMs < BUSY_WAIT_MS) throw paymentsError(error);
      }
      await sleep(BUSY_WAIT_MS);
    }
  }

  async #askOnce<Answer extends { object: string }>(
    object: Answer["object"],
    deadline: Deadline,
    send: Send<Answer>,
  ): Promise<Answer> {
    // As after a pause of this process: others may have done the work by now.
    if (deadline.remainingMs === 0) throw new PaymentsError("unknown", "There is no time left to ask Stripe.");
    const timeout = Math.max(1, Math.round(Math.min(this.waits.requestMs, deadline.remainingMs)));
    // The client's own timeout covers only silence; an answer that arrives very slowly must end too.
    const answer = await withinTime(send(this.#stripe, { timeout }), deadline.remainingMs, () => {
      throw new PaymentsError("unknown", "Stripe did not answer in time.");
    });
    // A proxy's error may be JSON too, without the `error` by which the client recognises errors.
    const { statusCode } = answer.lastResponse;
    if (statusCode >= 300 || answer.object !== object || !isWhole(answer)) {
      throw new PaymentsError("unknown", `Stripe answered ${statusCode}, but not with a ${object}.`);
    }
    return answer;
  }

  /**
   * The JSON in a webhook's body, or null; undefined unless Stripe has signed it within five minutes before `now`. The
   * package's `constructEvent` would not tell a wrong signature from an event of another kind.
   */
  event(body: Buffer, signature: string, now: Date): unknown {
    const { webhooks } = this.#stripe;
    const { DEFAULT_TOLERANCE: seconds } = webhooks;
    try {
      // Throws plain errors, too, as for an empty signature.
      const isSigned = webhooks.signature?.verifyHeader(
        body,
        signature,
        this.#webhookSecret,
        seconds,
        undefined,
        now.getTime(),
      );
      if (isSigned !== true) return undefined;
    } catch {
      return undefined;
    }
    try {
      return JSON.parse(body.toString());
    } catch {
      return null;
    }
  }
}

/** Whether a list has its items, and any other object its id. */
const isWhole = (answer: { readonly object: string; readonly id?: unknown; readonly data?: unknown }): boolean =>
  answer.object === "list" ? Array.isArray(answer.data) : typeof answer.id === "string" && answer.id !== "";

/**
 * Decides from an error what effect the request had. 409 and 429 had no effect, but can be retried under the same key;
 * a wrong API key says nothing about an earlier attempt. Stripe stores a server error under the idempotency key: when
 * it is returned a second time, further retries return the same.
 */
function paymentsError(error: InstanceType<typeof Stripe.errors.StripeError>): PaymentsError {
  const { statusCode = 0, type, code, param, requestId, message, headers } = error;
  const isDoubtful = headers?.["idempotent-replayed"] === "true" && statusCode >= 500;
  const isKeyRefused = [401, 403].includes(statusCode);
  const isRefused = statusCode >= 400 && statusCode < 500 && !isKeyRefused && ![409, 429].includes(statusCode);
  const details = [type, statusCode || undefined, code, param, requestId].filter(Boolean).join(" ");
  const [isMissing, isNothingDue] = [code === "resource_missing", code === "invoice_upcoming_none"];
  const facts = { isDoubtful, isMissing, isNothingDue, isKeyRefused };
  return new PaymentsError(isRefused || isDoubtful ? "refused" : "unknown", `${details}: ${message}`, facts);
}
