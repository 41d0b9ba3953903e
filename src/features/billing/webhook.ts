import { Failure, InvalidInput } from "../../operation/failure.js";
import { warnSeldom } from "../../platform/telemetry/warn-seldom.js";
import { BillingNotConfigured } from "./failures.js";
import type { BillingServices } from "./account.js";
import { type PaymentEvent, receivePaymentEvent } from "./events.js";

/** The event is not from Stripe, was changed on its way, or is older than five minutes. */
export class InvalidSignature extends Failure {
  readonly kind = "bad_request";
  override readonly reason = "invalid_signature";

  constructor() {
    super(
      "The header Stripe-Signature does not match the body, or is older than five minutes: then send the event again " +
        "from Stripe. Otherwise check that STRIPE_WEBHOOK_SECRET is the secret of this webhook, and that PostgreSQL's " +
        "clock is right.",
    );
  }
}

/** Checks only the parts that are used. */
function isEvent(event: unknown): event is PaymentEvent {
  const { id, type, data } = (event ?? {}) as { id?: unknown; type?: unknown; data?: { object?: unknown } | null };
  const isText = (value: unknown) => typeof value === "string" && /^[\w.]{1,255}$/.test(value);
  return isText(id) && isText(type) && typeof data?.object === "object" && data.object !== null;
}

/** https://docs.stripe.com/changelog/endive/2026-09-30/thin-events-for-api-v1-resources-generally-available */
const isThin = (event: unknown): boolean => (event as { object?: unknown } | null)?.object === "v2.core.event";

const THIN = "It is a thin event: choose snapshots for this webhook, as `npm run billing -- setup` does.";

/**
 * Receives what Stripe sends to the webhook.
 * @throws BillingNotConfigured, InvalidSignature, InvalidInput, or an error of the processing, after which Stripe
 * retries.
 */
export async function receivePaymentWebhook(services: BillingServices, body: Buffer, signature: string): Promise<void> {
  const { payments } = services.billing;
  if (!payments) throw new BillingNotConfigured();
  const event = payments.event(body, signature, services.now());
  if (event === undefined) {
    const failure = new InvalidSignature();
    const refused = `an event for Stripe's webhook was refused. ${failure.message}`;
    // Otherwise only Stripe's dashboard would show that every event is refused.
    if (signature !== "") warnSeldom(services.log, "signature of an event", {}, refused);
    throw failure;
  }
  if (isThin(event)) {
    warnSeldom(services.log, "thin event", {}, `an event for Stripe's webhook was refused. ${THIN}`);
    throw InvalidInput.at("", THIN);
  }
  if (!isEvent(event)) throw InvalidInput.at("", "The body must be an event.");
  await receivePaymentEvent(services, event);
}
