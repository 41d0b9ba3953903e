import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Stripe } from "stripe";
import { mayBeOpen } from "../../platform/when-closed.js";

export type Metadata = Readonly<Record<string, string>>;

/** Times are in seconds since 1970, amounts in the smallest unit of the currency, as in Stripe's own objects. */
export interface CustomerRecord {
  readonly id: string;
  readonly created: number;
  email: string | null;
  name: string | null;
  metadata: Metadata;
  /** What the bank does with charges to the card on file; `challenged`: it asks the buyer to confirm each of them. */
  card: Card;
  /** What the next invoices take from the customer; negative for a credit. Undefined counts as nothing. */
  balance?: number;
  /** Undefined unless the customer gave one. */
  taxId?: string;
  invoices: number;
  /** That of the first invoice. */
  currency?: string;
  /** Only its id can be read then. */
  deleted?: boolean;
}

export type Card = "accepted" | "challenged" | "declined";

export interface ProductRecord {
  readonly id: string;
  readonly created: number;
  readonly name: string;
}

export type Interval = "day" | "week" | "month" | "year";

export interface PriceRecord {
  readonly id: string;
  readonly created: number;
  readonly currency: string;
  readonly unitAmount: number;
  readonly product: string;
  lookupKey: string | null;
  /** Null for a one-time price. */
  readonly recurring: { readonly interval: Interval; readonly intervalCount: number } | null;
}

export interface SessionRecord {
  readonly id: string;
  readonly created: number;
  readonly expiresAt: number;
  customer: string | null;
  readonly customerEmail: string | null;
  readonly lines: readonly { readonly id: string; readonly price: string; readonly quantity: number }[];
  readonly successUrl: string;
  readonly cancelUrl: string | null;
  readonly clientReferenceId: string | null;
  readonly metadata: Metadata;
  readonly subscriptionMetadata: Metadata;
  readonly trialDays: number;
  readonly isTaxed: boolean;
  readonly collectsTaxIds: boolean;
  readonly takesPromotionCodes: boolean;
  /** Undefined without a promotion code. */
  percentOff?: number | undefined;
  status: "open" | "complete" | "expired";
  subscription: string | null;
  invoice: string | null;
}

/** The settings of Stripe Tax. */
export interface TaxRecord {
  behavior: "exclusive" | "inclusive" | "inferred_by_currency" | null;
  code: string | null;
  headOffice: Stripe.Address | null;
}

export interface ItemRecord {
  readonly id: string;
  readonly created: number;
  readonly price: string;
  readonly quantity: number;
  /** What this period was debited for, if price or quantity have changed since without a proration. */
  readonly billed?: Pick<ItemRecord, "price" | "quantity"> | undefined;
}

export interface PendingUpdate {
  readonly expiresAt: number;
  readonly items: readonly ItemRecord[];
  readonly invoice: string;
  readonly metadata: Metadata | null;
  readonly cancelAtPeriodEnd: boolean | null;
}

export interface SubscriptionRecord {
  readonly id: string;
  readonly created: number;
  readonly customer: string;
  readonly currency: string;
  items: readonly ItemRecord[];
  metadata: Metadata;
  status: "trialing" | "active" | "past_due" | "unpaid" | "paused" | "incomplete" | "incomplete_expired" | "canceled";
  /** Undefined unless it is paused. */
  pausedAt?: number | undefined;
  periodStart: number;
  periodEnd: number;
  cancelAtPeriodEnd: boolean;
  /** Set without the flag, as Stripe's portal does. */
  cancelAt: number | null;
  /** Undefined without a trial. */
  trialEnd?: number | undefined;
  /** When a change to another interval began new periods; undefined before the first. */
  restartedAt?: number;
  readonly isTaxed: boolean;
  readonly percentOff?: number | undefined;
  canceledAt: number | null;
  endedAt: number | null;
  latestInvoice: string | null;
  pendingUpdate: PendingUpdate | null;
  /** Prorations for the next invoice. */
  pendingLines: readonly LineRecord[];
}

export interface LineRecord {
  readonly id: string;
  readonly item: string;
  readonly price: string;
  readonly quantity: number;
  readonly amount: number;
  readonly description: string;
  readonly proration: boolean;
  readonly start: number;
  readonly end: number;
}

export interface InvoiceRecord {
  readonly id: string;
  readonly created: number;
  /** Null for a draft. */
  readonly number: string | null;
  readonly customer: string;
  readonly subscription: string;
  readonly subscriptionMetadata: Metadata;
  readonly currency: string;
  readonly reason: "subscription_create" | "subscription_cycle" | "subscription_update" | "upcoming";
  readonly lines: readonly LineRecord[];
  readonly isTaxed: boolean;
  /** Whether prices include the tax, as the settings of Stripe Tax said. */
  readonly taxIsIncluded: boolean;
  readonly percentOff?: number | undefined;
  /** The customer's balance before this invoice. Undefined counts as nothing. */
  readonly startingBalance?: number;
  /** Drafts are previews, and the invoices of unpaid subscriptions. */
  status: "draft" | "open" | "paid" | "uncollectible" | "void";
  attempts: number;
  paidAt: number | null;
  /** Undefined counts as never. */
  uncollectibleAt?: number;
  voidedAt: number | null;
}

/** A link to the customer portal. */
export interface PortalRecord {
  readonly id: string;
  readonly created: number;
  readonly customer: string;
  readonly returnUrl: string | null;
  /** Undefined where the request named no configuration. */
  readonly settings?: string;
}

/** A configuration of the customer portal, with the features that the stand-in knows. */
export interface PortalSettingsRecord {
  readonly id: string;
  readonly created: number;
  readonly cancels: boolean;
  /** Whether a customer can pause a subscription. Undefined counts as no. */
  readonly pauses?: boolean;
  readonly updates: readonly string[];
  readonly showsInvoices: boolean;
  readonly changesPayment: boolean;
  /** The prices among which a customer can change. */
  readonly prices: readonly string[];
  /** What a customer can change of a subscription. Undefined counts as the price. */
  readonly changes?: readonly ("price" | "quantity")[];
  /** Whether such a change begins a new period. Undefined counts as unchanged. */
  readonly anchor?: "now" | "unchanged" | undefined;
  metadata: Metadata;
}

export interface EndpointRecord {
  readonly id: string;
  readonly created: number;
  /** Endpoints that were not created through the API last for one run. */
  readonly madeByApi: boolean;
  url: string;
  secret: string;
  enabledEvents: readonly string[];
  status: "enabled" | "disabled";
}

/** An event as it is sent. */
export interface EventRecord {
  readonly id: string;
  readonly created: number;
  readonly type: string;
  readonly data: { readonly object: { readonly [name: string]: unknown } };
  readonly [name: string]: unknown;
}

export interface DeliveryRecord {
  readonly id: string;
  readonly event: string;
  readonly endpoint: string;
  attempts: number;
}

export interface SavedAnswer {
  readonly at: number;
  readonly request: string;
  readonly fingerprint: string;
  readonly status: number;
  readonly body: string;
}

/** The stored state. Every table is in the order of creation. */
export interface State {
  readonly secretKey: string;
  readonly webhookSecret: string;
  /** How far the clock is ahead of the real one. */
  clockOffsetMs: number;
  readonly customers: Record<string, CustomerRecord>;
  readonly products: Record<string, ProductRecord>;
  readonly prices: Record<string, PriceRecord>;
  readonly sessions: Record<string, SessionRecord>;
  readonly subscriptions: Record<string, SubscriptionRecord>;
  readonly invoices: Record<string, InvoiceRecord>;
  readonly portals: Record<string, PortalRecord>;
  readonly portalSettings: Record<string, PortalSettingsRecord>;
  readonly tax: TaxRecord;
  readonly endpoints: Record<string, EndpointRecord>;
  readonly events: Record<string, EventRecord>;
  readonly answers: Record<string, SavedAnswer>;
  /** Deliveries that are neither completed nor given up. */
  readonly deliveries: Record<string, DeliveryRecord>;
}

/** The source of answers: the state, and the address of the stand-in's own pages. */
export interface Source {
  readonly state: State;
  readonly url: string;
}

/** A referenced record is never removed, so a missing one is a bug of the stand-in. */
export function mustFind<T>(record: T | undefined): T {
  if (record === undefined) throw new Error("A record of the stand-in's state is missing.");
  return record;
}

/** How many delivered events are stored; the oldest are removed first. */
const EVENTS_MAX = 1_000;
export const SOON_MS = 200;

/** The state, its clock and its file. */
export class Store {
  readonly state: State;
  readonly #file: string | undefined;
  #heldAt: number | undefined;
  #soon: NodeJS.Timeout | undefined;

  /** Throws if the file exists but cannot be read or is not JSON. */
  constructor(file: string | undefined, secret: string | undefined) {
    this.#file = file;
    const kept = file === undefined ? undefined : readState(file);
    this.state = { ...emptyState(), ...kept, ...(secret !== undefined && { webhookSecret: secret }) };
  }

  /** The stand-in's own time, in milliseconds since 1970. */
  nowMs(): number {
    return this.#heldAt ?? Date.now() + this.state.clockOffsetMs;
  }

  now(): number {
    return Math.floor(this.nowMs() / 1_000);
  }

  /** Stops the clock at a time while `act` runs, so that its changes get this time. */
  at<T>(timeMs: number, act: () => T): T {
    this.#heldAt = timeMs;
    try {
      return act();
    } finally {
      this.#heldAt = undefined;
    }
  }

  /** Written to a temporary file and renamed, so that the file is never incomplete. */
  save(): void {
    clearTimeout(this.#soon);
    this.#soon = undefined;
    this.#forgetEvents();
    if (this.#file === undefined) return;
    mkdirSync(dirname(this.#file), { recursive: true });
    writeFileSync(`${this.#file}.new`, JSON.stringify(this.state, undefined, 1), { mode: 0o600 });
    try {
      renameSync(`${this.#file}.new`, this.#file);
    } catch (error) {
      if (!mayBeOpen(error)) throw error;
      this.saveSoon();
    }
  }

  /** Saves later, and again if that fails, as on a full disk: for frequent changes that may be lost. */
  saveSoon(): void {
    this.#soon ??= setTimeout(() => {
      try {
        this.save();
      } catch {
        this.saveSoon();
      }
    }, SOON_MS);
  }

  #forgetEvents(): void {
    const { deliveries, events } = this.state;
    const ids = Object.keys(events);
    if (ids.length <= EVENTS_MAX) return;
    const waiting = new Set(Object.values(deliveries).map(({ event }) => event));
    for (const id of ids.slice(0, ids.length - EVENTS_MAX)) if (!waiting.has(id)) delete events[id];
  }
}

/** Undefined if there is no file. Throws if it cannot be read or is not JSON. */
function readState(file: string): Partial<State> | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Partial<State>;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

const emptyState = (): State => ({
  secretKey: `sk_test_${randomText(24)}`,
  webhookSecret: `whsec_${randomText(32)}`,
  clockOffsetMs: 0,
  customers: {},
  products: {},
  prices: {},
  sessions: {},
  subscriptions: {},
  invoices: {},
  portals: {},
  portalSettings: {},
  tax: { behavior: null, code: null, headOffice: null },
  endpoints: {},
  events: {},
  answers: {},
  deliveries: {},
});

/** An id in Stripe's format. The prefix says what it names. */
export const newId = (prefix: string): string => `${prefix}_${randomText(prefix.startsWith("cs") ? 58 : 24)}`;

const ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

export function randomText(characters: number): string {
  return Array.from(randomBytes(characters), (byte) => ALPHABET[byte % ALPHABET.length]).join("");
}

/** Merges metadata: adds or replaces names, removes those that are null; null itself removes all. */
export function mergeMetadata(
  old: Metadata,
  changes: Readonly<Record<string, string | null>> | null | undefined,
): Metadata {
  const merged = changes === null ? {} : { ...old, ...changes };
  const kept = Object.entries(merged).filter((entry): entry is [string, string] => entry[1] !== null);
  return Object.fromEntries(kept);
}
