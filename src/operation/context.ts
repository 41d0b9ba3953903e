import { v7 as uuidv7 } from "uuid";
import type { Database } from "../platform/database.js";
import type { Billing } from "../platform/payments.js";
import type { Budgets } from "../platform/rate-limiter.js";
import { Unauthorized } from "./failure.js";
import type { Idempotency } from "./idempotency.js";
import type { Scope } from "./permission.js";

export type Plan = "free" | "pro" | "team";
export type TeamRole = "owner" | "admin" | "member";
export type Door = "rest" | "graphql" | "page" | "billing";

/** Who asks: resolved from the API key once a request, by every door alike. */
export interface Caller {
  readonly userId: string;
  readonly email: string;
  readonly emailIsVerified: boolean;
  readonly keyId: string;
  readonly plan: Plan;
  readonly scopes: ReadonlySet<Scope>;
  readonly personalGraphId: string;
  /** The caller's place in their one team; null for a caller in none. */
  readonly team: { readonly id: string; readonly role: TeamRole; readonly graphId: string } | null;
}

/** What operations work with besides their caller; one for the whole process. */
export interface Services {
  readonly database: Database;
  /** What may be done only so often, beside the requests that the doors count. */
  readonly budgets: Budgets;
  readonly billing: Billing;
  now(): Date;
  /** Makes ids: UUIDv7, so that later ids sort after earlier ones. */
  newId(): string;
}

/** All that one operation works with. */
export interface Context extends Services {
  /** For an operation that is open to everybody there may be none: then this throws Unauthorized. */
  readonly caller: Caller;
  /** Which way the request came in, and from which address. */
  readonly door: Door;
  readonly clientAddress: string;
  /** Set for a change that the client may ask for again without a second effect. */
  readonly idempotency?: Idempotency | undefined;
  /** Whether the caller will see this field of the answer: work that nobody asked for is left out. */
  selects(field: string): boolean;
}

/** The services of a running process; a test gives its own clock. */
export function createServices(
  { database, budgets, billing }: Pick<Services, "database" | "budgets" | "billing">,
  now: () => Date = () => new Date(),
): Services {
  return { database, budgets, billing, now, newId: () => uuidv7() };
}

/** What a door knows of the request that an operation is part of. */
export interface RequestFacts extends Pick<Context, "door" | "clientAddress" | "idempotency" | "selects"> {
  readonly caller: Caller | undefined;
}

/** The context of one operation. */
export const contextOf = (services: Services, facts: RequestFacts): Context => new OperationContext(services, facts);

class OperationContext implements Context {
  readonly database: Database;
  readonly budgets: Budgets;
  readonly billing: Billing;
  readonly now: Services["now"];
  readonly newId: Services["newId"];
  readonly door: Door;
  readonly clientAddress: string;
  readonly idempotency: Idempotency | undefined;
  readonly selects: Context["selects"];
  private readonly known: Caller | undefined;

  constructor({ database, budgets, billing, now, newId }: Services, { caller, ...facts }: RequestFacts) {
    this.database = database;
    this.budgets = budgets;
    this.billing = billing;
    this.now = now;
    this.newId = newId;
    this.door = facts.door;
    this.clientAddress = facts.clientAddress;
    this.idempotency = facts.idempotency;
    this.selects = facts.selects;
    this.known = caller;
  }

  get caller(): Caller {
    if (!this.known) throw new Unauthorized();
    return this.known;
  }
}

/** The same context within a transaction. */
export const within = (context: Context, database: Database): Context =>
  // Not a copy: that would ask for the caller, of whom an operation that is open to everybody may know nothing.
  Object.create(context, { database: { value: database, enumerable: true } }) as Context;
