import { v7 as uuidv7 } from "uuid";
import { LIMITS } from "../limits.js";
import type { Database } from "../platform/database.js";
import type { Logger } from "../platform/logger.js";
import type { Billing } from "../platform/payments.js";
import type { Budgets } from "../platform/rate-limiter.js";
import type { AnswerBudget } from "./answer-budget.js";
import { networkOf } from "./budget.js";
import { Unauthorized } from "./failure.js";
import type { Patience } from "./patience.js";
import type { Idempotency } from "./idempotency.js";
import type { Scope } from "./permission.js";
import { DatabaseShares } from "./shares.js";

export type Plan = "free" | "pro" | "team";
/** What a graph may hold: how many memories, and how many bytes in all. */
export interface GraphBounds {
  readonly memories: number;
  readonly bytes: number;
}
export type TeamRole = "owner" | "admin" | "member";
export type Door = "rest" | "graphql" | "page" | "billing" | "operator";

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
  readonly team: CallersTeam | null;
}

export interface CallersTeam {
  readonly id: string;
  readonly role: TeamRole;
  readonly graphId: string;
  /** The plan that counts for the team's graph: `team` while it pays, else its owner's. */
  readonly plan: Plan;
}

/** What operations work with besides their caller; one for the whole process. */
export interface Services {
  readonly database: Database;
  /** The database by account: what is done for somebody goes through theirs. */
  readonly shares: DatabaseShares;
  /** What may be done only so often, beside the requests that the doors count. */
  readonly budgets: Budgets;
  readonly billing: Billing;
  /** For what an operator must hear of. */
  readonly log: Logger;
  /** What graphs may hold, by the plan that counts for them. */
  readonly storage: Readonly<Record<Plan, GraphBounds>>;
  /** For how long the first result under an Idempotency-Key is kept. */
  readonly resultHours: number;
  /** Where clients reach the service, without a slash at the end. */
  publicUrl(): string;
  now(): Date;
  /** Makes ids: UUIDv7, so that later ids sort after earlier ones. */
  newId(): string;
}

/** All that one operation works with. */
export interface Context extends Services {
  /** For an operation that is open to everybody there may be none: then reading any of it throws Unauthorized. */
  readonly caller: Caller;
  /** Which way the request came in, and from which address. */
  readonly door: Door;
  readonly clientAddress: string;
  /** Set for a change that the client may ask for again without a second effect. */
  readonly idempotency?: Idempotency | undefined;
  /** What the answer may still hold, where the caller can follow fields without end. */
  readonly answer?: AnswerBudget | undefined;
  /** Asked between pieces of a request's work, so that others have their turn. */
  readonly pause?: (() => Promise<void>) | undefined;
  /** Whether the caller will see this field of the answer: work that nobody asked for is left out. */
  selects(field: string): boolean;
}

type OptionalParts = Partial<Pick<Services, "storage" | "shares" | "resultHours">>;
type Parts = Pick<Services, "database" | "budgets" | "billing" | "log" | "publicUrl"> & OptionalParts;

/** What clients are promised. */
const RESULT_HOURS = 24;

/** The services of a running process; a test gives its own clock, graphs that are soon full, and patience. */
export function createServices(
  {
    database,
    shares = new DatabaseShares(database),
    storage = LIMITS.storage,
    resultHours = RESULT_HOURS,
    ...others
  }: Parts,
  now: () => Date = () => new Date(),
): Services {
  return { database, shares, storage, resultHours, ...others, now, newId: () => uuidv7() };
}

/** What a door knows of the request that an operation is part of; unless it says else, all of the answer is seen. */
export interface RequestFacts extends Pick<Context, "door" | "clientAddress" | "idempotency"> {
  readonly caller: Caller | undefined;
  readonly selects?: Context["selects"];
  /** What all waits of the request share. */
  readonly patience?: Patience | undefined;
}

/** The context of one operation. */
export function contextOf(
  services: Services,
  { caller = NOBODY, door, clientAddress, idempotency, selects = () => true, patience }: RequestFacts,
): Context {
  const account = caller === NOBODY ? `from ${networkOf(clientAddress)}` : caller.userId;
  const database = services.shares.of(account, patience);
  // The services last: V8 takes twenty times as long for an object that first spreads another and then grows.
  return { caller, door, clientAddress, idempotency, selects, ...services, database };
}

/** The services for what is done for nobody in particular: a share of the database, like an account's. */
export const servicesFor = (services: Services, account: string): Services => ({
  ...services,
  database: services.shares.of(account),
});

/** The same context within a transaction. */
export const within = (context: Context, database: Database): Context => ({ ...context, database });

/** The caller where there is none. Contexts are copied, so having it is no failure; asking anything of it is. */
const NOBODY = new Proxy({} as Caller, {
  get() {
    throw new Unauthorized();
  },
});
