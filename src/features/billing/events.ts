import { TeamNotFound } from "../../operation/standing.js";
import type { Payments } from "../../platform/billing/payments.js";
import { type BillingServices, teamOfCustomer } from "./account.js";
import { BillingNotConfigured, PaymentProviderError } from "./failures.js";
import { withBillingSession } from "./session.js";

/** The parts of an event that are used. */
export interface PaymentEvent {
  readonly id: string;
  readonly type: string;
  readonly data: { readonly object: { readonly object?: unknown; readonly id?: unknown; readonly customer?: unknown } };
}

/**
 * Processes an event that Stripe has signed. Its content may be outdated, so the event only says which team's copy to
 * refresh. Therefore events may come twice, late and in any order, and one that fails may be sent again.
 * @throws PaymentProviderError, AccountBusy, or an error of the database: Stripe must send the event again.
 */
export async function receivePaymentEvent(services: BillingServices, event: PaymentEvent): Promise<void> {
  const { database, now } = services;
  const { paymentEvent } = database.models;
  const { id, type } = event;
  const customerId = customerOf(event);
  await paymentEvent.createMany({ data: { id, type, customerId }, skipDuplicates: true });
  const recorded = await paymentEvent.findUnique({ where: { id }, select: { processedAt: true } });
  if (recorded?.processedAt) return;
  // Customers of other services in the same Stripe account are ignored.
  const teamId = customerId === null ? undefined : await teamOfCustomer(database, customerId);
  if (teamId !== undefined) await refreshTogether(services, teamId);
  await paymentEvent.updateMany({ where: { id, processedAt: null }, data: { processedAt: now() } });
}

/** A refresh that has not begun: events that come meanwhile share it. */
interface Refresh {
  isShared: boolean;
  readonly done: Promise<unknown>;
}

const upcomingOf = new WeakMap<Payments, Map<string, Refresh>>();

/**
 * Refreshes a team's copy, once for all events of a burst: one session for each would take the database's connections
 * for so long that most events fail.
 */
async function refreshTogether(services: BillingServices, teamId: string): Promise<void> {
  const { payments } = services.billing;
  if (!payments) throw new BillingNotConfigured();
  const upcoming = upcomingOf.get(payments) ?? new Map<string, Refresh>();
  upcomingOf.set(payments, upcoming);
  const shared = upcoming.get(teamId);
  if (shared) {
    shared.isShared = true;
    await shared.done;
    return;
  }
  const begin = () => void (upcoming.get(teamId) === refresh && upcoming.delete(teamId));
  const done = withBillingSession(services, teamId, (session) => {
    begin();
    // A copy that others read while this session waited may be older than an event that came later.
    if (refresh.isShared) session.touch();
    return session.copy.refresh();
  }).catch((error: unknown) => {
    // A 404 of the team means nothing to Stripe, which must send the event again.
    throw error instanceof TeamNotFound ? new PaymentProviderError() : error;
  });
  const refresh: Refresh = { isShared: false, done: done.finally(begin) };
  upcoming.set(teamId, refresh);
  await refresh.done;
}

/** The customer of an event: its object, or the customer of its object. */
function customerOf({ data: { object } }: PaymentEvent): string | null {
  const customer = object.object === "customer" ? object.id : object.customer;
  const id = typeof customer === "string" ? customer : (customer as { id?: unknown } | null | undefined)?.id;
  return typeof id === "string" && /^\w{1,255}$/.test(id) ? id : null;
}
