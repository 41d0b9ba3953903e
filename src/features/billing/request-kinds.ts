import type Stripe from "stripe";

/** What may be asked of the provider, each by one request that is repeated exactly as it was. */
export interface Requests {
  customer: { readonly params: Stripe.CustomerCreateParams };
  checkout: { readonly params: Stripe.Checkout.SessionCreateParams };
  expire: { readonly id: string; readonly params: Record<string, never> };
  upgrade: {
    readonly id: string;
    readonly params: Stripe.SubscriptionUpdateParams;
    /** For the audit; missing in what was recorded by earlier releases. */
    readonly seatsBefore?: number | null;
  };
  cancel: { readonly id: string; readonly params: Stripe.SubscriptionUpdateParams };
}
export type RequestKind = keyof Requests;

/** What the provider makes or changes by it. */
export interface Answers {
  customer: Stripe.Customer;
  checkout: Stripe.Checkout.Session;
  expire: Stripe.Checkout.Session;
  upgrade: Stripe.Subscription;
  cancel: Stripe.Subscription;
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
  upgrade: {
    object: "subscription",
    send: (stripe, { id, params }, options) => stripe.subscriptions.update(id, params, options),
  },
  cancel: {
    object: "subscription",
    send: (stripe, { id, params }, options) => stripe.subscriptions.update(id, params, options),
  },
};

/**
 * After this it is known at Stripe what became of a request, and nobody should be charged for what they have given up
 * waiting for. Stripe itself forgets idempotency keys after a day.
 */
export const REPEATABLE_MS = 3_600_000;
/** The same in words. */
export const REPEATABLE = "1 hour";
