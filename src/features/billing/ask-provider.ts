import type Stripe from "stripe";
import { MINUTE_MS } from "../../durations.js";
import type { UseLimit } from "../../operation/use-limit.js";
import { Deadline, PaymentsError } from "../../platform/billing/payments.js";
import type { BillingServices } from "./account.js";
import { BillingNotConfigured, PROVIDER_FAILED, PaymentProviderError } from "./failures.js";
import { outcomeOf } from "./session.js";

/** For operations that ask the provider at each call, without the account's lock. */
export const PROVIDER_READS: UseLimit = {
  limit: 30,
  windowMs: MINUTE_MS,
  name: "read-provider",
  of: "portal links, price previews and pages of invoices of one user",
  by: "account",
};

/**
 * Sends one request that changes no subscription, and so needs no lock, within the time limit of a read.
 * @throws BillingNotConfigured without a provider.
 * @throws PaymentProviderError when the provider fails or refuses.
 * @throws the error that `onMissing` makes, when the provider does not know the object.
 */
export async function askProvider<Answer extends { object: string }>(
  { billing, log, waits }: Pick<BillingServices, "billing" | "log" | "waits">,
  object: Answer["object"],
  send: (stripe: Stripe, options: Stripe.RequestOptions) => Promise<Stripe.Response<Answer>>,
  onMissing?: () => Error,
): Promise<Answer> {
  const { payments } = billing;
  if (!payments) throw new BillingNotConfigured();
  try {
    return await payments.ask<Answer>(object, new Deadline(payments.waits.readMs, waits?.of("stripe")), send);
  } catch (error) {
    if (!(error instanceof PaymentsError)) throw error;
    if (error.facts.isMissing && onMissing) throw onMissing();
    log.warn({ err: error, outcome: error.outcome }, PROVIDER_FAILED);
    // The package retries under one key: Stripe then replays a server error, which the next call does not get.
    throw new PaymentProviderError(outcomeOf(error, "readMs"));
  }
}
