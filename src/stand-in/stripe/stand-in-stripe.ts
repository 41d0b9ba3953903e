import type { StandInRequest } from "./api.js";
import type { DeliveryMode } from "./delivery.js";
import type { Fault } from "./faults.js";
import type { Card } from "./state.js";

export interface StandInOptions {
  /** Any free port by default, and for 0. */
  readonly port?: number;
  /** The file that stores the state as JSON between runs. Without it, the state is lost at the end. */
  readonly stateFile?: string;
  /** The first address for events. */
  readonly webhook?: { readonly url: string; readonly secret: string };
  /** Sends each event once and in order, or (the default) twice and shuffled, the worst that Stripe may do. */
  readonly delivery?: DeliveryMode;
}

export interface StandInStripe extends AsyncDisposable {
  /** Without a slash at the end. */
  readonly url: string;
  /** The only key that is accepted. */
  readonly secretKey: string;
  /** Signs events to the endpoint of the options, and to endpoints without their own secret. */
  readonly webhookSecret: string;
  /** A prepared monthly price per seat, of a prepared product. */
  readonly priceId: string;
  /** The file of its state, as in the options. */
  readonly stateFile: string | undefined;
  /** The last 10,000 API requests, oldest first. */
  readonly requests: readonly StandInRequest[];
  /** Sends events to this address too, signed with this secret. */
  sendEventsTo(url: string, secret?: string): void;
  /** Sends this address no further events, nor those that wait. Returns whether it got any. */
  sendNoEventsTo(url: string): boolean;
  /** Makes the next matching requests fail. */
  fail(fault: Fault): void;
  clearFaults(): void;
  /**
   * Moves the clock forward. Everything that becomes due happens at once, with its own time. Resolves when the events
   * are queued. Rejects with a RangeError for more than five years.
   */
  advance(milliseconds: number): Promise<void>;
  now(): Date;
  /** Resolves when every event was delivered or given up. */
  delivered(): Promise<void>;
  /** Pays at the session's page, with any card on file. Throws when the session has ended, or the code is invalid. */
  pay(sessionId: string, given?: { promotionCode?: string; taxId?: string }): Promise<void>;
  /** Cancels in the customer portal: the subscription ends with its period, without `cancel_at_period_end`. */
  cancelInPortal(subscriptionId: string): Promise<void>;
  /** Gives up the retries of a failed payment: the subscription is unpaid, until its latest invoice is paid. */
  giveUp(subscriptionId: string): Promise<void>;
  /** Pauses a subscription, as in the dashboard: it makes no invoices, and its period does not end. */
  pause(subscriptionId: string): Promise<void>;
  /** Sets what the bank does with further charges to the customer's card on file. */
  setCard(customerId: string, card: Card): void;
  /** Pays an open invoice at its page, with any card on file, confirmed if need be. Throws when it is not open. */
  payInvoice(invoiceId: string): Promise<void>;
}
