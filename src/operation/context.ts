import { setImmediate as nextTurn } from "node:timers/promises";
import { LIMITS } from "../limits.js";
import type { Database } from "../platform/database/database.js";
import type { Logger } from "../platform/telemetry/logger.js";
import type { Meaning } from "../platform/meaning/meaning.js";
import type { Meter } from "../platform/telemetry/meter.js";
import type { Billing } from "../platform/billing/billing.js";
import type { Plan as OwnPlan } from "../platform/prisma/client.js";
import type { Budgets } from "../platform/rate-limit/rate-limiter.js";
import type { Tracer } from "../platform/telemetry/tracer.js";
import type { AnswerBudget } from "./answer-budget.js";
import { spendRequests } from "./budget.js";
import { networkOf } from "./network.js";
import { Unauthorized } from "./failure.js";
import type { OlderRead, OlderReads, ReadAfter } from "./older-reads.js";
import type { Patience } from "./patience.js";
import type { Idempotency } from "./idempotency.js";
import type { Scope } from "./permission.js";
import { DatabaseShares } from "./shares.js";
import type { Waits } from "./waits.js";

/** A user has paid for the own plan; a team that pays gives its members the plan `team`. */
export type Plan = OwnPlan | "team";
/** The maximum size of a graph: the number of memories, and bytes in total. */
export interface GraphBounds {
  readonly memories: number;
  readonly bytes: number;
}
export const TEAM_ROLES = ["owner", "admin", "member"] as const;
export type TeamRole = (typeof TEAM_ROLES)[number];
export type Door = "rest" | "graphql" | "mcp" | "page" | "billing" | "operator";

/** The user who sends the request: found by the API key once per request, in the same way at every door. */
export interface Caller {
  readonly userId: string;
  readonly email: string;
  readonly emailIsVerified: boolean;
  readonly keyId: string;
  readonly plan: Plan;
  readonly scopes: ReadonlySet<Scope>;
  readonly personalGraphId: string;
  /** The caller's team and role in it; null for a caller without a team. */
  readonly team: CallersTeam | null;
}

export interface CallersTeam {
  readonly id: string;
  readonly role: TeamRole;
  readonly graphId: string;
  /** The plan that counts for the team's graph: `team` while the team pays, otherwise its owner's. */
  readonly plan: Plan;
}

/** What operations use besides their caller; one object for the whole process. */
export interface Services {
  readonly database: Database;
  /** Each account's share of the database. */
  readonly shares: DatabaseShares;
  /** Rate limits, in addition to the requests that the doors count. */
  readonly budgets: Budgets;
  readonly billing: Billing;
  /** For events that an operator must know. */
  readonly log: Logger;
  /** Counts what operators watch; undefined unless metrics are served. */
  readonly meter?: Meter | undefined;
  /** Records the parts of requests; undefined unless OpenTelemetry is configured. */
  readonly tracer?: Tracer | undefined;
  /** A replica for callers who take older answers; undefined unless one is configured. */
  readonly older?: OlderReads | undefined;
  /** For finding memories by meaning; undefined without an embeddings server. */
  readonly meaning?: Meaning | undefined;
  /** The maximum size of graphs, by the plan that counts for them. */
  readonly storage: Readonly<Record<Plan, GraphBounds>>;
  /** How long the first result under an Idempotency-Key is kept. */
  readonly resultHours: number;
  /** The URL at which clients reach the service, without a slash at the end. */
  publicUrl(): string;
  now(): Date;
  /** Makes ids: UUIDv7, so that later ids sort after earlier ones. */
  newId(): string;
}

/** Everything that one operation uses. */
export interface Context extends Services {
  /** In a public operation there may be no caller: then reading any property throws Unauthorized. */
  readonly caller: Caller;
  /** The door through which the request came in. */
  readonly door: Door;
  readonly clientAddress: string;
  /** Set for a change that the client may repeat without a second effect. */
  readonly idempotency?: Idempotency | undefined;
  /** The remaining size of the answer, in GraphQL, where one request can follow many fields. */
  readonly answer?: AnswerBudget | undefined;
  /** Set for a caller who takes answers that are a little old. */
  readonly readAfter?: OlderRead | undefined;
  /** What the request has waited for so far; undefined outside of requests. */
  readonly waits?: Waits | undefined;
  /** Called between parts of a request's work, so that other requests get their turn. */
  pause(this: void): Promise<void>;
  /**
   * Waits until the process has memory for a large answer: call it before many items are read.
   * @throws TooManyAtOnce or Unavailable when it has none in time.
   */
  admitLarge(this: void): Promise<void>;
  /** Whether the answer, or its field `within`, contains this field: work for other fields can be skipped. */
  selects(field: string, within?: string): boolean;
  /**
   * Takes further requests from the caller's budget.
   * @throws RateLimited when fewer are left; then none is taken.
   */
  charge(requests: number): Promise<void>;
}

type OptionalParts = Partial<
  Pick<Services, "storage" | "shares" | "resultHours" | "meter" | "tracer" | "older" | "meaning">
>;
type RequiredParts = Pick<Services, "database" | "budgets" | "billing" | "log" | "publicUrl" | "now" | "newId">;

/** The services of a process. A test gives its own clock, small graphs and short waits. */
export function createServices({
  database,
  shares = new DatabaseShares(database),
  storage = LIMITS.storage,
  resultHours = LIMITS.idempotency.keptHours,
  ...others
}: RequiredParts & OptionalParts): Services {
  return { database, shares, storage, resultHours, ...others };
}

/** What a door knows about the request of an operation. Without `selects`, the answer contains all fields. */
export interface RequestFacts extends Pick<Context, "door" | "clientAddress" | "idempotency"> {
  readonly caller: Caller | undefined;
  readonly selects?: Context["selects"] | undefined;
  /** Set for a caller who takes answers that are a little old. */
  readonly readAfter?: ReadAfter | undefined;
  /** Set by a door that itself charges the budget, in order to tell the client what is left of it. */
  readonly charge?: Context["charge"];
  /** The time limit that all waits of the request share. */
  readonly patience?: Patience | undefined;
  /** Set by a door, whose requests share the turns of the event loop: otherwise each continues in the next one. */
  readonly pause?: Context["pause"];
  /** Set by a door, whose requests share the memory of the process. */
  readonly admitLarge?: Context["admitLarge"];
}

/** The context of one operation. */
export function contextOf(
  services: Services,
  {
    caller = NOBODY,
    door,
    clientAddress,
    idempotency,
    selects = () => true,
    patience,
    charge,
    readAfter,
    pause = nextTurn,
    admitLarge = admitAll,
  }: RequestFacts,
): Context {
  const account = caller === NOBODY ? `from ${networkOf(clientAddress)}` : caller.userId;
  const database = services.shares.of(account, patience);
  // The services last: in V8, properties after a spread make it twenty times as slow.
  const further = charge ?? ((requests) => spendRequests(services, caller, requests));
  const { older } = services;
  // The replica has its own patience: after a failure there, the request may still wait for the primary.
  const olderRead = older && readAfter && { ...readAfter, database: older.shares.of(account) };
  return {
    caller,
    door,
    clientAddress,
    idempotency,
    selects,
    pause,
    admitLarge,
    charge: further,
    waits: patience?.waits,
    readAfter: olderRead,
    ...services,
    database,
  };
}

const admitAll = (): Promise<void> => Promise.resolve();

/** The same services with a separate share of the database, for work that belongs to no account. */
export const servicesFor = (services: Services, account: string): Services => ({
  ...services,
  database: services.shares.of(account),
});

/** The same context within a transaction. */
export const within = (context: Context, database: Database): Context => ({ ...context, database });

/** Placeholder for an anonymous caller: may be copied, but reading any property throws Unauthorized. */
const NOBODY = new Proxy({} as Caller, {
  get() {
    throw new Unauthorized();
  },
});
