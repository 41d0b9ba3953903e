import { setTimeout as sleep } from "node:timers/promises";
import { Stripe } from "stripe";
import { LIMITS } from "../limits.js";
import type { Logger } from "./logger.js";

/** What billing works with. */
export interface Billing {
  /** Undefined: billing is not configured. */
  readonly payments: Payments | undefined;
  /** How many members a team may have without a paid subscription, where billing is configured. */
  readonly freeSeats: number;
  /** Origins to which a checkout may return, beside the service's own. */
  readonly returnOrigins: readonly string[];
}

export interface PaymentSettings {
  readonly secretKey: string;
  readonly webhookSecret: string;
  /** The price of one seat. */
  readonly priceId: string;
  /** Undefined: Stripe itself. */
  readonly apiBase: string | undefined;
}

/** What an operator may set of it. */
export interface BillingSettings {
  readonly stripeSecretKey: string | undefined;
  readonly stripeWebhookSecret: string | undefined;
  readonly stripePriceId: string | undefined;
  readonly stripeApiBase: string | undefined;
  readonly freeTeamSeats: number;
  readonly allowedOrigins: readonly string[];
}

/** How long Stripe is waited for. */
export type PaymentWaits = { readonly [Name in keyof typeof LIMITS.payments]: number };

/** Billing through Stripe, where all is given that it takes. */
export function billingOf(settings: BillingSettings, log: Logger, waits: PaymentWaits = LIMITS.payments): Billing {
  const { stripeSecretKey: secretKey, stripeWebhookSecret: webhookSecret, stripePriceId: priceId } = settings;
  const isComplete = secretKey !== undefined && webhookSecret !== undefined && priceId !== undefined;
  if (secretKey !== undefined && !isComplete) {
    log.warn("STRIPE_SECRET_KEY needs STRIPE_WEBHOOK_SECRET and STRIPE_TEAM_PRICE_ID beside it: billing is off");
  }
  return {
    payments: isComplete
      ? new Payments({ secretKey, webhookSecret, priceId, apiBase: settings.stripeApiBase }, waits)
      : undefined,
    freeSeats: settings.freeTeamSeats,
    returnOrigins: settings.allowedOrigins,
  };
}

/**
 * Stripe did not do what it was asked. `refused`: it said so, and did nothing. `unknown`: it may have done it; whether
 * it did is found out by asking the same again under the same idempotency key.
 */
export class PaymentsError extends Error {
  constructor(
    readonly outcome: "refused" | "unknown",
    message: string,
    /** Refused by telling again how an earlier try failed on Stripe's side, of which nobody knows what it did. */
    readonly isDoubtful = false,
    /** Refused since there is nothing of this id. */
    readonly isMissing = false,
  ) {
    super(message);
  }
}

/** By when changes and reads are answered, whatever Stripe does: `LIMITS.payments`, and what comes around the calls. */
export const ANSWERED_WITHIN_S = { change: 15, read: 4 } as const;

/** How long to wait before asking again what Stripe is at work on. */
const BUSY_WAIT_MS = 300;

/** The end of an operation's patience. */
export class Deadline {
  readonly #end: number;

  constructor(patienceMs: number) {
    this.#end = performance.now() + patienceMs;
  }

  get remainingMs(): number {
    return Math.max(0, this.#end - performance.now());
  }
}

type Send<Answer> = (stripe: Stripe, options: Stripe.RequestOptions) => Promise<Stripe.Response<Answer>>;

/** Stripe, with answers that can be believed: in time, of a good status, and of the kind that was asked for. */
export class Payments {
  readonly priceId: string;
  readonly #stripe: Stripe;
  readonly #webhookSecret: string;

  constructor(
    { secretKey, webhookSecret, priceId, apiBase }: PaymentSettings,
    readonly waits: PaymentWaits = LIMITS.payments,
  ) {
    this.priceId = priceId;
    this.#webhookSecret = webhookSecret;
    this.#stripe = stripeClient(secretKey, apiBase);
  }

  /**
   * Sends one request, once more if the connection fails, and again while Stripe is at work on an earlier one under
   * the same idempotency key.
   * @throws PaymentsError when there is no answer in time, or another than an object of this kind.
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
        // What the package itself stumbles over is an answer that it did not expect.
        if (!(error instanceof Stripe.errors.StripeError)) throw new PaymentsError("unknown", String(error));
        if (error.code !== "idempotency_key_in_use" || deadline.remainingMs < BUSY_WAIT_MS) throw paymentsError(error);
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
      // The client's own timeout is for silence; an answer that trickles in must end as well.
      const answer = await Promise.race([send(this.#stripe, { timeout }), tooLate(deadline, late.signal)]);
      // An error of a proxy is JSON as well, and has no `error` by which the client would know it.
      const { statusCode } = answer.lastResponse;
      if (statusCode >= 300 || answer.object !== object || !isWhole(answer)) {
        throw new PaymentsError("unknown", `Stripe answered ${statusCode} with something else than a ${object}.`);
      }
      return answer;
    } finally {
      late.abort();
    }
  }

  /** What a webhook's body says; undefined unless Stripe has signed it within the last five minutes. */
  event(body: Buffer, signature: string): unknown {
    try {
      return this.#stripe.webhooks.constructEvent(body, signature, this.#webhookSecret);
    } catch {
      // Plain errors too: the library throws them for a signature without a value, and for kinds of events not read here.
      return undefined;
    }
  }
}

/** A list has its items, and everything else its id. */
const isWhole = (answer: { readonly object: string; readonly id?: unknown; readonly data?: unknown }): boolean =>
  answer.object === "list" ? Array.isArray(answer.data) : typeof answer.id === "string" && answer.id !== "";

/** A client of Stripe, or of what stands in for it at another address. */
export function stripeClient(secretKey: string, apiBase: string | undefined): Stripe {
  const { protocol, hostname, port } = new URL(apiBase ?? "https://api.stripe.com");
  return new Stripe(secretKey, {
    protocol: protocol === "http:" ? "http" : "https",
    host: hostname,
    port: port || (protocol === "http:" ? "80" : "443"),
    timeout: LIMITS.payments.requestMs,
    maxNetworkRetries: 1,
    telemetry: false,
    httpClient: objectsOnly(Stripe.createNodeHttpClient()),
    appInfo: { name: "memory-graph-gateway" },
  });
}

type HttpClient = ReturnType<typeof Stripe.createNodeHttpClient>;

/** Stripe's package takes any JSON for an object, and what is none (`5`) makes it throw where nobody can catch it. */
function objectsOnly(client: HttpClient): HttpClient {
  return {
    getClientName: () => client.getClientName(),
    async makeRequest(...request) {
      const response = await client.makeRequest(...request);
      const read = response.toJSON.bind(response);
      response.toJSON = async () => {
        const json: unknown = await read();
        if (typeof json !== "object" || json === null) throw new SyntaxError("The answer is no JSON object.");
        return json;
      };
      return response;
    },
  };
}

async function tooLate(deadline: Deadline, signal: AbortSignal): Promise<never> {
  await sleep(deadline.remainingMs, undefined, { signal });
  throw new PaymentsError("unknown", "Stripe did not answer in time.");
}

/**
 * What an error says about the effect. A conflict or too many requests were stopped before any effect, but may be
 * asked again under the same key; a wrong API key says nothing of an earlier try. A server error is kept by Stripe
 * under the idempotency key: when it is told a second time, asking again will tell nothing new.
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
