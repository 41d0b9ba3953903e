import { createHash } from "node:crypto";
import type Stripe from "stripe";
import type { Context } from "../../operation/context.js";
import type { Statement } from "../../platform/database.js";

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

/** On whose behalf something is asked, and under which of their own Idempotency-Keys. */
export interface Asker {
  readonly actorId: string | null;
  readonly keyId: string | null;
  readonly door: string;
  readonly askedUnder: Uint8Array | null;
  /** What makes it the same request; null without such a key. */
  readonly askedFor: Uint8Array | null;
}

/** The caller of an operation. */
export function askerOf({ caller, door, idempotency }: Context): Asker {
  const { userId, keyId } = caller;
  const asker = { actorId: userId, keyId, door, askedUnder: null, askedFor: null };
  if (!idempotency) return asker;
  const { key, part, request } = idempotency;
  return { ...asker, askedUnder: sha256(`${userId}\n${part}\n${key}`), askedFor: sha256(request) };
}

const sha256 = (text: string): Uint8Array => createHash("sha256").update(text).digest();

/** A request that is written down, to be sent now and, while nobody knows what became of it, again. */
export interface RecordedRequest<Kind extends RequestKind = RequestKind> extends Asker {
  readonly id: string;
  readonly kind: Kind;
  readonly idempotencyKey: string;
  readonly request: Requests[Kind];
  /** Whether it must not be sent again: what became of it is read off Stripe. */
  readonly isOld: boolean;
}

/**
 * After this it is known at Stripe what became of a request, and nobody should be charged for what they have given up
 * waiting for. Stripe itself forgets idempotency keys after a day.
 */
export const REPEATABLE = "1 hour";

const COLUMNS = `o.id, o.kind, o.idempotency_key AS "idempotencyKey", o.request, o.actor_id AS "actorId",
  o.key_id AS "keyId", o.door, o.asked_under AS "askedUnder", o.asked_for AS "askedFor",
  o.created_at < now() - interval '${REPEATABLE}' AS "isOld"`;

/** Nothing is written by a server that has lost the account's lock. */
export const recordRequest: Statement = {
  name: "record_billing_operation",
  text: `INSERT INTO billing_operation AS o
      (id, team_id, kind, request, actor_id, key_id, door, asked_under, asked_for)
    SELECT $3::uuid, b.team_id, $4, $5::json, $6::uuid, $7::uuid, $8, $9::bytea, $10::bytea
      FROM billing_account b WHERE b.team_id = $1::uuid AND b.locked_by = $2::uuid
    RETURNING ${COLUMNS}`,
};

export const openRequest: Statement = {
  name: "open_billing_operation",
  text: `SELECT ${COLUMNS} FROM billing_operation o WHERE o.team_id = $1::uuid AND o.outcome IS NULL`,
};

export const closeRequest: Statement = {
  name: "close_billing_operation",
  text: `UPDATE billing_operation SET outcome = $2, ended_at = now() WHERE id = $1::uuid AND outcome IS NULL
    RETURNING id`,
};

export const requestsAskedUnder: Statement = {
  name: "billing_operations_asked_under",
  text: `SELECT kind, outcome = 'done' AS "isDone", asked_for = $3 AS "isSame" FROM billing_operation
    WHERE team_id = $1::uuid AND asked_under = $2 AND created_at > now() - interval '24 hours'`,
};

/** What has ended is kept for a while, for whoever has to find out what happened. */
export const forgetRequests: Statement = {
  name: "forget_billing_operations",
  text: `
    WITH old AS (
      SELECT id FROM billing_operation WHERE created_at < now() - interval '90 days' AND outcome IS NOT NULL
      LIMIT 1000 FOR UPDATE SKIP LOCKED
    ), gone AS (DELETE FROM billing_operation USING old WHERE billing_operation.id = old.id RETURNING 1)
    SELECT count(*)::int AS count FROM gone`,
};

/** Makes sure that what the copy says is read anew before it is believed. */
export const doubtMirror: Statement = {
  name: "doubt_billing_mirror",
  text: "UPDATE billing_account SET mirrored_at = NULL, checked_at = NULL WHERE team_id = $1::uuid",
};

export interface UpgradesLately {
  readonly inMinute: number;
  readonly inDay: number;
}

/** How many upgrades were asked for lately: Stripe makes so many invoices of one subscription and no more. */
export const upgradesLately: Statement = {
  name: "billing_upgrades_lately",
  text: `SELECT
      count(*) FILTER (WHERE created_at > now() - interval '1 minute')::int AS "inMinute",
      count(*)::int AS "inDay"
    FROM billing_operation
    WHERE team_id = $1::uuid AND kind = 'upgrade' AND created_at > now() - interval '1 day'`,
};
