import type { StandInRequest } from "./api.js";
import type { DeliveryMode } from "./delivery.js";
import type { Fault } from "./faults.js";

export interface StandInOptions {
  /** 127.0.0.1, when it is not said. */
  readonly host?: string;
  /** Any that is free, when it is not said or zero. */
  readonly port?: number;
  /** Where the state is kept between runs, as JSON; when it is not said, it ends with the stand-in. */
  readonly stateFile?: string;
  /** Where events are sent at first. */
  readonly webhook?: { readonly url: string; readonly secret: string };
  /** Each event once and in order, or twice and shuffled, which is the worst that Stripe does and the default. */
  readonly delivery?: DeliveryMode;
}

export interface StandInStripe extends AsyncDisposable {
  /** Without a slash at its end. */
  readonly url: string;
  /** The only key that is accepted. */
  readonly secretKey: string;
  /** What signs events to the endpoint of the options, and to those that are given no secret of their own. */
  readonly webhookSecret: string;
  /** A ready monthly price of a ready product, per seat. */
  readonly priceId: string;
  /** Every API request received, oldest first, of the last 10,000. */
  readonly requests: readonly StandInRequest[];
  /** From now on events go there too, signed by this secret. */
  sendEventsTo(url: string, secret?: string): void;
  /** Lets the next requests that match fail. */
  fail(fault: Fault): void;
  clearFaults(): void;
  /**
   * Moves the clock on; what is due until then happens at once, each at its own time. Returns when the events of it
   * are on their way. Raises a RangeError for a time that is longer than five years.
   */
  advance(milliseconds: number): Promise<void>;
  now(): Date;
  /** Resolves when every event has been delivered, or given up. */
  delivered(): Promise<void>;
  /** Pays at the session's page, whatever the card on file is. Raises an error when the session is over. */
  pay(sessionId: string): Promise<void>;
  /** Tries to pay at the session's page with a card that is declined: nothing comes of it. */
  decline(sessionId: string): Promise<void>;
  /** Whether what the customer owes from now on can be taken from the card on file. */
  setCard(customerId: string, card: "accepted" | "declined"): void;
  /** Pays an open invoice at its page, whatever the card on file is. Raises an error when it is not open. */
  payInvoice(invoiceId: string): Promise<void>;
}
