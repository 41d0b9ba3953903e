import { Failure } from "../../operation/failure.js";
import { BillingNotConfigured, type BillingServices, receivePaymentEvent } from "../subscriptions/index.js";

/** Not from Stripe, changed on the way, or older than five minutes. */
export class InvalidSignature extends Failure {
  readonly kind = "bad_request";
  override readonly reason = "invalid_signature";

  constructor() {
    super("The header Stripe-Signature does not fit the body.");
  }
}

/**
 * Takes what Stripe sends to the webhook.
 * @throws BillingNotConfigured, InvalidSignature, or why it could not be acted upon: then it must be sent again.
 */
export async function receivePaymentWebhook(services: BillingServices, body: Buffer, signature: string): Promise<void> {
  const { payments } = services.billing;
  if (!payments) throw new BillingNotConfigured();
  const event = payments.event(body, signature);
  if (!event) throw new InvalidSignature();
  await receivePaymentEvent(services, event);
}
