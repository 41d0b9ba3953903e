import type { IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { Stripe } from "stripe";
import { LIMITS } from "../limits.js";
import type { Tracer } from "./tracer.js";

/** What billing needs at run time. */
export interface Billing {
  /** Undefined: billing is not configured. */
  readonly payments: Payments | undefined;
  /** How many members a team may have without a paid subscription, if billing is configured. */
  readonly freeSeats: number;
  /** How many days a failed payment keeps the plan and the seats. */
  readonly graceDays: number;
  /** Which mails owners get. */
  readonly mails: ReadonlySet<BillingMail>;
  readonly checkout: CheckoutSettings;
  /** Origins to which a checkout may return, in addition to the service's own. */
  readonly returnOrigins: readonly string[];
}

/** What a payment page offers. */
export interface CheckoutSettings {
  /** Stripe computes taxes, and asks for the address and the VAT id. */
  readonly tax: boolean;
  readonly promotionCodes: boolean;
  /** How many days a team's first subscription is free; 0: none. */
  readonly trialDays: number;
}

/** The ids of the prices of a seat, by billing period. */
export interface Prices {
  readonly month: string;
  readonly year: string | undefined;
}

export const pricesIn = ({ month, year }: Prices): readonly string[] => (year === undefined ? [month] : [month, year]);

/** A mail to the owner of a team: when a payment failed, and when the plan falls back because of it. */
export type BillingMail = "payment_failed" | "plan_suspended";

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

/** The settings of an operator. */
export interface BillingSettings {
  readonly stripeSecretKey: string | undefined;
  readonly stripeWebhookSecret: string | undefined;
  readonly stripePriceId: string | undefined;
  readonly stripeYearlyPriceId: string | undefined;
  readonly stripePortalId: string | undefined;
  readonly stripeApiBase: string | undefined;
  readonly freeTeamSeats: number;
  readonly billingGraceDays: number;
  readonly billingTax: boolean;
  readonly billingPromotionCodes: boolean;
  readonly billingTrialDays: number;
  readonly billingMails: readonly BillingMail[];
  readonly allowedOrigins: readonly string[];
}

/** How long to wait for Stripe. */
export type PaymentWaits = { readonly [Name in keyof typeof LIMITS.payments]: number };

/** Billing through Stripe, or without `payments` if a setting is missing. */
export function billingOf(settings: BillingSettings, waits: PaymentWaits = LIMITS.payments, tracer?: Tracer): Billing {
  const { stripeSecretKey: secretKey, stripeWebhookSecret: webhookSecret, stripePriceId: priceId } = settings;
  const isComplete = secretKey !== undefined && webhookSecret !== undefined && priceId !== undefined;
  return {
    payments: isComplete
      ? new Payments(
          {
            ...{ secretKey, webhookSecret, priceId },
            ...{ yearlyPriceId: settings.stripeYearlyPriceId, portalId: settings.stripePortalId },
            apiBase: settings.stripeApiBase,
          },
          waits,
          tracer,
        )
      : undefined,
    freeSeats: settings.freeTeamSeats,
    graceDays: settings.billingGraceDays,
    mails: new Set(settings.billingMails),
    checkout: {
      tax: settings.billingTax,
      promotionCodes: settings.billingPromotionCodes,
      trialDays: settings.billingTrialDays,
    },
    returnOrigins: settings.allowedOrigins,
  };
}

/**
 * A request to Stripe failed. `refused`: Stripe did nothing. `unknown`: Stripe may have done it; to find out, send the
 * same request again under the same idempotency key.
 */
export class PaymentsError extends Error {
  constructor(
    readonly outcome: "refused" | "unknown",
    message: string,
    /** Stripe replayed the server error of an earlier attempt, whose effect is unknown. */
    readonly isDoubtful = false,
    /** Refused because no object has this id. */
    readonly isMissing = false,
  ) {
    super(message);
  }
}

/**
 * The longest time to answer changes and reads, even if Stripe hangs: `LIMITS.payments` plus the work around the calls.
 */
export const ANSWERED_WITHIN_S = { change: 15, read: 4 } as const;

/** Many times the largest answer: a hundred subscriptions with an invoice each. */
const ANSWER_MAX_BYTES = 33_554_432;
/** How long to wait before a retry while Stripe is busy. */
const BUSY_WAIT_MS = 300;
/** Stripe still processes the same request, or another one holds the object: https://docs.stripe.com/error-codes */
const BUSY = ["idempotency_key_in_use", "lock_timeout"];

/** The time limit of an operation. */
export class Deadline {
  readonly #end: number;

  constructor(limitMs: number) {
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
    tracer?: Tracer,
  ) {
    this.prices = { month: priceId, year: yearlyPriceId };
    this.portalId = portalId;
    this.#webhookSecret = webhookSecret;
    this.#stripe = stripeClient(secretKey, apiBase, tracer, waits.changeMs);
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
    const timeout = Math.max(1, Math.round(Math.min(this.waits.requestMs, deadline.remainingMs)));
    const late = new AbortController();
    try {
      // The client's own timeout covers only silence; an answer that arrives very slowly must end too.
      const answer = await Promise.race([send(this.#stripe, { timeout }), tooLate(deadline, late.signal)]);
      // A proxy's error may be JSON too, without the `error` by which the client recognises errors.
      const { statusCode } = answer.lastResponse;
      if (statusCode >= 300 || answer.object !== object || !isWhole(answer)) {
        throw new PaymentsError("unknown", `Stripe answered ${statusCode}, but not with a ${object}.`);
      }
      return answer;
    } finally {
      late.abort();
    }
  }

  /** The event in a webhook's body; undefined unless Stripe has signed it within the last five minutes. */
  event(body: Buffer, signature: string): unknown {
    try {
      return this.#stripe.webhooks.constructEvent(body, signature, this.#webhookSecret);
    } catch {
      // Catches all errors: the library throws plain ones for an empty signature and for unknown kinds of events.
      return undefined;
    }
  }
}

/** Whether a list has its items, and any other object its id. */
const isWhole = (answer: { readonly object: string; readonly id?: unknown; readonly data?: unknown }): boolean =>
  answer.object === "list" ? Array.isArray(answer.data) : typeof answer.id === "string" && answer.id !== "";

/** A client of Stripe, or of the stand-in at another address. */
export function stripeClient(
  secretKey: string,
  apiBase: string | undefined,
  tracer?: Tracer,
  longestMs: number = LIMITS.payments.changeMs,
): Stripe {
  const { protocol, hostname, port } = new URL(apiBase ?? "https://api.stripe.com");
  return new Stripe(secretKey, {
    protocol: protocol === "http:" ? "http" : "https",
    host: hostname,
    port: port || (protocol === "http:" ? "80" : "443"),
    timeout: LIMITS.payments.requestMs,
    maxNetworkRetries: 1,
    telemetry: false,
    httpClient: traceRequests(boundedObjects(Stripe.createNodeHttpClient(), longestMs), tracer),
    appInfo: { name: "memory-graph-gateway" },
  });
}

type HttpClient = ReturnType<typeof Stripe.createNodeHttpClient>;

/**
 * Stripe's package expects a JSON object; for other JSON (`5`) it throws an error that cannot be caught. It also keeps
 * whatever arrives, so an answer of any size or length would use up the memory, even after nobody waits for it.
 */
function boundedObjects(client: HttpClient, longestMs: number): HttpClient {
  return {
    getClientName: () => client.getClientName(),
    async makeRequest(...request) {
      const response = await client.makeRequest(...request);
      const read = response.toJSON.bind(response);
      response.toJSON = async () => {
        boundAnswer(response.getRawResponse() as IncomingMessage, longestMs);
        const json: unknown = await read();
        if (typeof json !== "object" || json === null) throw new SyntaxError("The answer is not a JSON object.");
        return json;
      };
      return response;
    },
  };
}

/** Cuts an answer that is too large, or still incomplete after `longestMs`, when no operation waits for it any more. */
function boundAnswer(answer: IncomingMessage, longestMs: number): void {
  const cut = () => answer.destroy(new Error("The answer is too large or too slow."));
  const late = setTimeout(cut, longestMs);
  answer.once("close", () => clearTimeout(late));
  let size = 0;
  answer.on("data", (part: Buffer | string) => {
    size += part.length;
    if (size > ANSWER_MAX_BYTES) cut();
  });
}

/** Gives each request a span, also each retry. Its name contains no ids. */
function traceRequests(client: HttpClient, tracer: Tracer | undefined): HttpClient {
  if (!tracer) return client;
  return {
    getClientName: () => client.getClientName(),
    makeRequest(...request) {
      const [, , path, method] = request;
      const route = path.replace(/\?.*/, "").replaceAll(/\/[a-z]+_\w*[A-Z0-9]\w*/g, "/:id");
      return tracer.during({ name: `Stripe ${method} ${route}`, isElsewhere: true }, async (note) => {
        const response = await client.makeRequest(...request);
        note({ "http.response.status_code": response.getStatusCode() });
        return response;
      });
    },
  };
}

async function tooLate(deadline: Deadline, signal: AbortSignal): Promise<never> {
  await sleep(deadline.remainingMs, undefined, { signal });
  throw new PaymentsError("unknown", "Stripe did not answer in time.");
}

/**
 * Decides from an error what effect the request had. 409 and 429 had no effect, but can be retried under the same key;
 * a wrong API key says nothing about an earlier attempt. Stripe stores a server error under the idempotency key: when
 * it is returned a second time, further retries return the same.
 */
function paymentsError(error: InstanceType<typeof Stripe.errors.StripeError>): PaymentsError {
  const { statusCode = 0, type, code, param, requestId, message, headers } = error;
  const isReplayed = headers?.["idempotent-replayed"] === "true";
  const isRefusal = statusCode >= 400 && statusCode < 500 && ![401, 403, 409, 429].includes(statusCode);
  const facts = [type, statusCode || undefined, code, param, requestId].filter(Boolean).join(" ");
  const isDoubtful = isReplayed && statusCode >= 500;
  const outcome = isRefusal || isDoubtful ? "refused" : "unknown";
  return new PaymentsError(outcome, `${facts}: ${message}`, isDoubtful, code === "resource_missing");
}
