import type Stripe from "stripe";
import { HOUR_MS } from "../../durations.js";
import { PaymentsError } from "../../platform/billing/payments.js";
import { isLive, isPaid } from "./account.js";

/** The requests to the provider that change something. Each is resent exactly as it was. */
export interface Requests {
  customer: { readonly params: Stripe.CustomerCreateParams & { readonly email: string } };
  checkout: { readonly params: Stripe.Checkout.SessionCreateParams };
  expire: { readonly id: string; readonly params: Record<string, never> };
  upgrade: {
    readonly id: string;
    readonly params: Stripe.SubscriptionUpdateParams;
    /** For the audit. */
    readonly seatsBefore: number | null;
  };
  downgrade: {
    readonly id: string;
    readonly params: Stripe.SubscriptionUpdateParams;
    /** For the audit. */
    readonly seatsBefore: number | null;
    /** The end of the period that it is meant for, in Stripe's seconds, and what undoes it in a later period. */
    readonly period?: { readonly end: number; readonly undo: Stripe.SubscriptionUpdateParams };
  };
  cancel: {
    readonly id: string;
    readonly params: Stripe.SubscriptionUpdateParams;
    /** Whether to end it now, since nothing is paid for it. */
    readonly isAtOnce: boolean;
  };
  resume: { readonly id: string; readonly params: Stripe.SubscriptionUpdateParams };
  payer: { readonly id: string; readonly params: { readonly email: string } };
}
export type RequestKind = keyof Requests;

/** The object that the provider creates or changes for each kind. */
export interface Answers {
  customer: Stripe.Customer;
  checkout: Stripe.Checkout.Session;
  expire: Stripe.Checkout.Session;
  upgrade: Stripe.Subscription;
  downgrade: Stripe.Subscription;
  cancel: Stripe.Subscription;
  resume: Stripe.Subscription;
  payer: Stripe.Customer;
}

type Calls = {
  readonly [Kind in RequestKind]: {
    readonly object: Answers[Kind]["object"];
    send(
      stripe: Stripe,
      request: Requests[Kind],
      options: Stripe.RequestOptions,
    ): Promise<Stripe.Response<Answers[Kind]>>;
  };
};

const UPDATE: Calls["resume"] = {
  object: "subscription",
  send: (stripe, { id, params }, options) => stripe.subscriptions.update(id, params, options),
};

/**
 * Ends a subscription for which nothing is paid. Stripe accepts no idempotency key with DELETE, and the request may be
 * resent later. So it reads the subscription first: one that was paid meanwhile must not end, and one that has already
 * ended is returned as it is.
 */
async function endStalled(
  stripe: Stripe,
  id: string,
  { idempotencyKey: _none, ...options }: Stripe.RequestOptions,
): Promise<Stripe.Response<Stripe.Subscription>> {
  const known = await stripe.subscriptions.retrieve(id, {}, options);
  if (!isLive(known)) return known;
  if (isPaid(known)) throw new PaymentsError("refused", "The subscription was paid or resumed meanwhile.");
  return stripe.subscriptions.cancel(id, {}, options);
}

/**
 * Changes the seats of the next period. If the renewal came first, the change would apply to the new period, without a
 * charge or a credit, so it is undone. A resent request gets Stripe's first answer again, so it undoes the change, too.
 */
async function changeNextSeats(
  stripe: Stripe,
  { id, params, period }: Requests["downgrade"],
  options: Stripe.RequestOptions,
): Promise<Stripe.Response<Stripe.Subscription>> {
  const answer = await stripe.subscriptions.update(id, params, options);
  if (!period || answer.items.data.some(({ current_period_end: end }) => end === period.end)) return answer;
  const undo = { ...options, idempotencyKey: `${options.idempotencyKey}-undo` };
  await stripe.subscriptions.update(id, period.undo, undo).catch((error: unknown) => {
    // The request must stay open, so that it is resent until the change is undone.
    throw new PaymentsError("unknown", `A change that came after the renewal could not be undone: ${String(error)}`);
  });
  throw new PaymentsError("refused", "The subscription was renewed before its next seats were changed.");
}

export const CALLS: Calls = {
  customer: { object: "customer", send: (stripe, { params }, options) => stripe.customers.create(params, options) },
  checkout: {
    object: "checkout.session",
    send: (stripe, { params }, options) => stripe.checkout.sessions.create(params, options),
  },
  expire: {
    object: "checkout.session",
    send: (stripe, { id, params }, options) => stripe.checkout.sessions.expire(id, params, options),
  },
  upgrade: UPDATE,
  downgrade: { object: "subscription", send: changeNextSeats },
  cancel: {
    object: "subscription",
    send: (stripe, request, options) =>
      request.isAtOnce ? endStalled(stripe, request.id, options) : UPDATE.send(stripe, request, options),
  },
  resume: UPDATE,
  payer: {
    object: "customer",
    send: (stripe, { id, params }, options) => stripe.customers.update(id, params, options),
  },
};

/**
 * How long a request is resent. Afterwards its outcome can be read at Stripe, and nobody should be charged for a change
 * that they no longer expect. Stripe forgets idempotency keys after a day.
 */
export const REPEATABLE_MS = HOUR_MS;
