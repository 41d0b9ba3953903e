import type { Statement } from "../../platform/database.js";
import { type BillingServices, teamOfCustomer } from "./account.js";
import { withAccountDesk } from "./account-desk.js";
import { forgetRequests } from "./requests.js";

const recordEvent: Statement = {
  name: "record_payment_event",
  text: `INSERT INTO payment_event AS e (id, type, customer_id) VALUES ($1, $2, $3)
    ON CONFLICT (id) DO UPDATE SET type = e.type RETURNING processed_at IS NOT NULL AS "isProcessed"`,
};

const markEventProcessed: Statement = {
  name: "mark_payment_event_processed",
  text: "UPDATE payment_event SET processed_at = now() WHERE id = $1 AND processed_at IS NULL",
};

/** Stripe repeats an event for three days. */
const forgetEvents: Statement = {
  name: "forget_payment_events",
  text: `
    WITH old AS (
      SELECT id FROM payment_event WHERE received_at < now() - interval '30 days' LIMIT 1000 FOR UPDATE SKIP LOCKED
    ), gone AS (DELETE FROM payment_event USING old WHERE payment_event.id = old.id RETURNING 1)
    SELECT count(*)::int AS count FROM gone`,
};

/** What is looked at of an event. */
export interface PaymentEvent {
  readonly id: string;
  readonly type: string;
  readonly data: { readonly object: { readonly object?: unknown; readonly id?: unknown; readonly customer?: unknown } };
}

/**
 * Acts upon an event that Stripe has signed. What it says is old news; that it came says whose subscription to read
 * anew. So events may come twice, late and in any order, and one whose handling fails may be sent again.
 * @throws PaymentProviderError, or what the database throws: the sender has to repeat it.
 */
export async function receivePaymentEvent(services: BillingServices, event: PaymentEvent): Promise<void> {
  const { database } = services;
  const customerId = customerOf(event);
  const [recorded] = await database.run<{ isProcessed: boolean }>(recordEvent, [event.id, event.type, customerId]);
  if (recorded?.isProcessed) return;
  // A customer of another service on the same account is none of our business.
  const teamId = customerId === null ? undefined : await teamOfCustomer(database, customerId);
  if (teamId !== undefined) await withAccountDesk(services, teamId, (desk) => desk.mirror());
  await database.run(markEventProcessed, [event.id]);
}

/** Whom an event is about: a customer, or something that has one. */
function customerOf({ data: { object } }: PaymentEvent): string | null {
  const customer = object.object === "customer" ? object.id : object.customer;
  const id = typeof customer === "string" ? customer : (customer as { id?: unknown } | null | undefined)?.id;
  return typeof id === "string" && /^\w{1,255}$/.test(id) ? id : null;
}

/** Deletes up to 1,000 each of what is long past; answers with whether there may be more. */
export async function forgetBillingHistory({ database }: Pick<BillingServices, "database">): Promise<boolean> {
  const [events] = await database.run<{ count: number }>(forgetEvents, []);
  const [requests] = await database.run<{ count: number }>(forgetRequests, []);
  return events?.count === 1_000 || requests?.count === 1_000;
}
