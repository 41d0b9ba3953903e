import { LIMITS } from "../../limits.js";
import { type BillingServices, teamOfCustomer } from "./account.js";
import { withBillingSession } from "./session.js";

const DAY_MS = 86_400_000;
/** Stripe repeats an event for three days. */
const EVENTS_KEPT_MS = 30 * DAY_MS;
/** What has ended is kept for a while, for whoever has to find out what happened. */
const REQUESTS_KEPT_MS = 90 * DAY_MS;

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
  const { paymentEvent } = database.models;
  const { id, type } = event;
  const customerId = customerOf(event);
  await paymentEvent.createMany({ data: { id, type, customerId }, skipDuplicates: true });
  const recorded = await paymentEvent.findUnique({ where: { id }, select: { processedAt: true } });
  if (recorded?.processedAt) return;
  // A customer of another service on the same account is none of our business.
  const teamId = customerId === null ? undefined : await teamOfCustomer(database, customerId);
  if (teamId !== undefined) await withBillingSession(services, teamId, ({ copy }) => copy.refresh());
  await paymentEvent.updateMany({ where: { id, processedAt: null }, data: { processedAt: new Date() } });
}

/** Whom an event is about: a customer, or something that has one. */
function customerOf({ data: { object } }: PaymentEvent): string | null {
  const customer = object.object === "customer" ? object.id : object.customer;
  const id = typeof customer === "string" ? customer : (customer as { id?: unknown } | null | undefined)?.id;
  return typeof id === "string" && /^\w{1,255}$/.test(id) ? id : null;
}

/** Deletes a batch each of what is long past; answers with whether there may be more. */
export async function forgetBillingHistory({
  database: { models },
}: Pick<BillingServices, "database">): Promise<boolean> {
  const limit = LIMITS.chores.rows;
  const before = (ms: number) => ({ lt: new Date(Date.now() - ms) });
  const events = await models.paymentEvent.deleteMany({ where: { receivedAt: before(EVENTS_KEPT_MS) }, limit });
  const requests = await models.billingRequest.deleteMany({
    where: { createdAt: before(REQUESTS_KEPT_MS), outcome: { not: null } },
    limit,
  });
  return events.count === limit || requests.count === limit;
}
