import type Stripe from "stripe";

/** The requests to the provider that change something. Each is resent exactly as it was. */
export interface Requests {
  customer: { readonly params: Stripe.CustomerCreateParams };
  checkout: { readonly params: Stripe.Checkout.SessionCreateParams };
  expire: { readonly id: string; readonly params: Record<string, never> };
  upgrade: {
    readonly id: string;
    readonly params: Stripe.SubscriptionUpdateParams;
    /** For the audit; missing in requests of earlier releases. */
    readonly seatsBefore?: number | null;
  };
  downgrade: {
    readonly id: string;
    readonly params: Stripe.SubscriptionUpdateParams;
    /** For the audit. */
    readonly seatsBefore?: number | null;
  };
  cancel: { readonly id: string; readonly params: Stripe.SubscriptionUpdateParams };
  resume: { readonly id: string; readonly params: Stripe.SubscriptionUpdateParams };
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

const UPDATE: Calls["upgrade"] & Calls["cancel"] = {
  object: "subscription",
  send: (stripe, { id, params }, options) => stripe.subscriptions.update(id, params, options),
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
  upgrade: UPDATE,
  downgrade: UPDATE,
  cancel: UPDATE,
  resume: UPDATE,
};

/**
 * How long a request is resent. After this, its outcome can be read at Stripe, and nobody should be charged for a
 * change that they no longer expect. Stripe forgets idempotency keys after a day.
 */
export const REPEATABLE_MS = 3_600_000;
