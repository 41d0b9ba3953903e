import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type pg from "pg";
import { inject } from "vitest";
import { type RunningApp, startApp } from "../../src/app.js";
import { graphqlSchema } from "../../src/operations.js";
import { readConfig } from "../../src/config.js";
import { LIMITS } from "../../src/limits.js";
import { normalEmail } from "../../src/features/access/email.js";
import { apiKeyPrefix, newApiKey } from "../../src/features/access/key-text.js";
import { hashCode } from "../../src/features/access/sign-up-code.js";
import type { Meaning } from "../../src/platform/meaning/meaning.js";
import { timeOf } from "../../src/operation/clock-statement.js";
import { type Caller, type Services, contextOf, createServices } from "../../src/operation/context.js";
import { execute } from "../../src/operation/execute.js";
import { Failure } from "../../src/operation/failure.js";
import type { Idempotency } from "../../src/operation/idempotency.js";
import { inputReader, inputTypeOf } from "../../src/operation/input.js";
import type { Operation } from "../../src/operation/operation.js";
import { sha256 } from "../../src/operation/sha256.js";
import { DatabaseShares } from "../../src/operation/shares.js";
import { SCOPES, type Scope } from "../../src/operation/permission.js";
import type { OpenDatabase, WaitBounds } from "../../src/platform/database/database.js";
import { sqlStateOf } from "../../src/platform/database/database-errors.js";
import { type Logger, loggerTo } from "../../src/platform/telemetry/logger.js";
import type { Billing } from "../../src/platform/billing/billing.js";
import { type PaymentWaits, Payments } from "../../src/platform/billing/payments.js";
import { ProcessBudgets } from "../../src/platform/rate-limit/rate-limiter.js";
import { idsBy } from "../../src/platform/database/shared-clock.js";
import { callerOf } from "../../src/features/access/caller.js";
import type { HttpLimits } from "../../src/surfaces/http-limits.js";
import { onServer } from "../bench/on-server.js";
import { giveBack, takeDatabase } from "./databases.js";
import { PATIENT, PATIENT_DOORS } from "./patience.js";
import { plainNames } from "./operations.js";
import { assertTellsOfNobody } from "./told-of-people.js";

/** The result of an operation. */
export type Verdict<Output> = { ok: true; output: Output } | { ok: false; failure: Failure };

/** A separate database with the users that a test creates; removed when the test ends. */
export interface World extends AsyncDisposable {
  readonly database: OpenDatabase;
  readonly databaseUrl: string;
  readonly services: Services;
  /** The log lines of the servers. */
  readonly log: string[];
  /** The log lines at level `error`. Each is a bug. */
  readonly bugs: unknown[];
  /** Moves the clock of operations forward. */
  travel(milliseconds: number): void;
  /** Adds a user to a team as a member, as if they had been invited. */
  seat(actor: Actor, teamId: string): Promise<void>;
  /** Stores a code for an address, as if a mail had sent it. */
  giveCode(email: string, code: string): Promise<void>;
  /** Stores a token for an invitation, as if a mail had sent it. */
  giveToken(invitationId: string, token: string): Promise<void>;
  user(wishes?: { email?: string; plan?: "free" | "pro"; scopes?: readonly Scope[] }): Promise<Actor>;
  /** Refuses all connections to the database from now on. */
  breakConnections(): Promise<void>;
  /** A server on a free port over the same database, by another URL and with other bounds if they are given. */
  serve(
    environment?: Record<string, string>,
    url?: string,
    http?: Partial<HttpLimits>,
    waits?: WaitBounds,
  ): Promise<RunningApp>;
}

/** A user with a key, who runs operations. */
export class Actor {
  constructor(
    private readonly services: Services,
    readonly caller: Caller,
    readonly email: string,
    readonly key: string,
  ) {}

  /** Runs an operation as every door does; `input` has names as in code and values as in REST. */
  async does<Input extends object, Output extends object>(
    operation: Operation<Input, Output>,
    input: object = {},
    idempotency?: Idempotency,
  ): Promise<Verdict<Output>> {
    try {
      // Read again for each request, because roles change.
      const caller = await callerOf(`Bearer ${this.key}`, this.services.database);
      const context = contextOf(this.services, { caller, door: "rest", clientAddress: "127.0.0.1", idempotency });
      const read = inputReader(inputTypeOf(await graphqlSchema(), operation as Operation), operation);
      const body = plainNames(input);
      return { ok: true, output: await execute(operation, context, read({ path: {}, query: {}, body })) };
    } catch (failure) {
      if (failure instanceof Failure) return { ok: false, failure };
      throw failure;
    }
  }

  /** Runs an operation and expects success. */
  async did<Input extends object, Output extends object>(
    operation: Operation<Input, Output>,
    input: object = {},
  ): Promise<Output> {
    const verdict = await this.does(operation, input);
    if (!verdict.ok) throw verdict.failure;
    return verdict.output;
  }

  /** The same user with another key. */
  async withKey(key: string): Promise<Actor> {
    const caller = await callerOf(`Bearer ${key}`, this.services.database);
    return new Actor(this.services, caller, this.email, key);
  }
}

/** The payment provider of a world, and its settings. */
export interface WorldsStripe {
  readonly url: string;
  readonly secretKey: string;
  readonly webhookSecret: string;
  readonly priceId: string;
  readonly yearlyPriceId?: string;
}

export interface WorldsWishes {
  readonly stripe?: WorldsStripe;
  /** The maximum size of graphs, by plan. */
  readonly storage?: Services["storage"];
  /** A new database without autovacuum, for tests that read PostgreSQL's counters. */
  readonly fresh?: boolean;
  /** How long to wait for the payment provider. */
  readonly paymentWaits?: PaymentWaits;
  /** The same for its servers only, so that the test's own calls are not hurried. */
  readonly serversPaymentWaits?: PaymentWaits;
  /** Other billing settings, for operations that do not go through a server. */
  readonly billing?: Partial<Billing>;
  readonly meaning?: Meaning;
}

/** By default without a payment provider, and with the documented maximum size of graphs. */
export async function createWorld(wishes: WorldsWishes = {}): Promise<World> {
  const { stripe, storage, fresh = false, paymentWaits, billing: billingWishes, meaning } = wishes;
  const { serversPaymentWaits = paymentWaits } = wishes;
  const taken = await takeDatabase({ fresh });
  const { name, url: databaseUrl } = taken;
  // Copies, so a spy of one test does not remain for the next.
  const database = { ...taken.database };
  let forServer: OpenDatabase | undefined = { ...taken.forServer };
  let offsetMs = 0;
  const log: string[] = [];
  const bugs: unknown[] = [];
  const billing = {
    payments: stripe && new Payments({ ...stripe, apiBase: stripe.url }, paymentWaits),
    freeSeats: 5,
    graceDays: 7,
    mails: new Set(["payment_failed", "plan_suspended"] as const),
    checkout: { tax: false, promotionCodes: false, trialDays: 0 },
    returnOrigins: ["https://app.example.com"],
    ...billingWishes,
  };
  const now = () => new Date(Date.now() + offsetMs);
  const parts = {
    now,
    newId: idsBy(now),
    database,
    shares: new DatabaseShares(database, PATIENT),
    budgets: new ProcessBudgets(),
    billing,
    log: logTo(log, bugs),
    publicUrl: () => "https://memory.example.com",
    ...(storage && { storage }),
    ...(meaning && { meaning }),
  };
  const services = createServices(parts);
  const apps: RunningApp[] = [];
  const dataDir = await mkdtemp(join(tmpdir(), "memory-graph-world-"));
  return {
    database,
    databaseUrl,
    services,
    log,
    bugs,
    travel: (milliseconds) => void (offsetMs += milliseconds),
    user: (wishes) => makeUser(services, database, wishes),
    async seat({ caller: { userId } }, teamId) {
      await database.models.teamMember.create({ data: { userId, teamId, role: "member" } });
    },
    async giveCode(email, code) {
      const hash = hashCode(email, code);
      const longHash = sha256(randomUUID());
      const data = {
        mailId: randomUUID(),
        email,
        hash,
        longHash,
        expiresAt: new Date((await timeOf(database)).getTime() + 900_000),
      };
      await database.models.signUpCode.create({ data });
    },
    async giveToken(invitationId, token) {
      await database.models.invitationToken.create({ data: { invitationId, hash: sha256(token) } });
    },
    async breakConnections() {
      await onServer(inject("databaseServer").url, async (server) => {
        await server.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
        // A connection that is being opened may have passed the check without being listed yet, so check again.
        do {
          await server.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", [name]);
        } while (!(await isDeserted(server, name)));
      });
    },
    async serve(environment = {}, way = databaseUrl, http = {}, waits = PATIENT) {
      const config = readConfig({
        PORT: "0",
        NODE_ENV: "test",
        DATA_DIR: dataDir,
        ...(stripe ? environmentOf(stripe) : {}),
        ...environment,
      });
      const isUsual = way === databaseUrl && waits === PATIENT;
      const app = await startApp(config, (isUsual && forServer) || way, logTo(log, bugs), {
        // No load balancer is in front, so nothing needs time to notice the stop.
        http: { ...LIMITS.http, ...PATIENT_DOORS, ...http },
        waits,
        leaveMs: 0,
        ...(storage && { storage }),
        ...(serversPaymentWaits && { paymentWaits: serversPaymentWaits }),
      });
      if (isUsual) forServer = undefined;
      apps.push(app);
      return app;
    },
    async [Symbol.asyncDispose]() {
      for (const app of apps) await app[Symbol.asyncDispose]();
      await rm(dataDir, { recursive: true });
      await meaning?.[Symbol.asyncDispose]();
      await giveBack(taken);
      assertTellsOfNobody(log);
    },
  };
}

/** The environment variables for a payment provider. */
export const environmentOf = ({ url, secretKey, webhookSecret, priceId }: WorldsStripe): Record<string, string> => ({
  STRIPE_API_BASE: url,
  STRIPE_SECRET_KEY: secretKey,
  STRIPE_WEBHOOK_SECRET: webhookSecret,
  STRIPE_TEAM_PRICE_ID: priceId,
  ALLOWED_ORIGINS: "https://app.example.com",
});

/** Creates a user by SQL: tests need several, and `createUser` takes a transaction of seven statements for each. */
async function makeUser(
  services: Services,
  database: OpenDatabase,
  { email = `${randomUUID()}@example.com`, plan = "pro", scopes = SCOPES }: Parameters<World["user"]>[0] = {},
): Promise<Actor> {
  const key = newApiKey();
  const account = [services.newId(), normalEmail(email), plan, services.now(), services.newId()];
  await database.pool.query(
    `WITH person AS (INSERT INTO user_account (id, email, plan, email_verified_at) VALUES ($1, $2, $3::plan, $4)),
       place AS (INSERT INTO graph (id, user_id) VALUES ($5, $1))
     INSERT INTO api_key (id, user_id, name, prefix, hash, scopes) VALUES ($6, $1, 'First key', $7, $8, $9)`,
    [...account, services.newId(), apiKeyPrefix(key), sha256(key), scopes],
  );
  return new Actor(services, await callerOf(`Bearer ${key}`, database), email, key);
}

/** Whether no connection to a database is open or being opened. Otherwise PostgreSQL refuses to rename it after 5 s. */
async function isDeserted(server: pg.Client, name: string): Promise<boolean> {
  try {
    await server.query(`ALTER DATABASE ${name} RENAME TO ${name}_deserted`);
  } catch (error) {
    if (sqlStateOf(error) === OBJECT_IN_USE) return false;
    throw error;
  }
  await server.query(`ALTER DATABASE ${name}_deserted RENAME TO ${name}`);
  return true;
}

const OBJECT_IN_USE = "55006";

/** Collects a server's log lines for the test, with its errors in a separate list. */
function logTo(log: string[], bugs: unknown[]): Logger {
  const write = (line: string): void => {
    log.push(line);
    const { level, ...rest } = JSON.parse(line) as { level: string };
    if (level === "error" || level === "fatal") bugs.push(rest);
  };
  return loggerTo({ write }, "trace");
}
