import "reflect-metadata";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import cors from "cors";
import express, { type Express, type Handler } from "express";
import type { GraphQLSchema } from "graphql";
import type { Config } from "./config.js";
import { raisedFailures } from "./failures.js";
import { LIMITS } from "./limits.js";
import { billingOperations, checkoutReturned, receivePaymentWebhook } from "./features/billing/index.js";
import { accountOperations } from "./features/accounts/index.js";
import { accessOperations, forgetEndedCodes, forgetEndedKeys } from "./features/access/index.js";
import {
  forgetOldAllowances,
  forgetOldInvitations,
  invitationOperations,
  invitationRelations,
} from "./features/invitations/index.js";
import { forgetUselessMails, sendDueMails } from "./features/mail/index.js";
import { memberOperations, memberRelations } from "./features/members/index.js";
import {
  countWordsOfGraph,
  forgetAbandonedGraph,
  forgetWords,
  memoryOperations,
  memoryRelations,
} from "./features/memories/index.js";
import { relationshipOperations, relationshipRelations } from "./features/relationships/index.js";
import { forgetBillingHistory, reconcileDueAccount } from "./features/subscriptions/index.js";
import { forgetOldAudit, teamOperations, teamRelations } from "./features/teams/index.js";
import { AccountSuspended, type Failure, Unauthorized } from "./operation/failure.js";
import { forgetOldIdempotentResults } from "./operation/idempotency.js";
import { type Services, createServices, servicesFor } from "./operation/context.js";
import type { Operation } from "./operation/operation.js";
import { DatabaseShares } from "./operation/shares.js";
import { type Chore, startChores } from "./platform/chores.js";
import type { DatabaseUrl } from "./platform/bounded-pool.js";
import { whyUnavailable } from "./platform/database-errors.js";
import { type WaitBounds, openDatabase } from "./platform/database.js";
import type { Logger } from "./platform/logger.js";
import { createMailer } from "./platform/mailer.js";
import { billingOf } from "./platform/payments.js";
import { StartError } from "./platform/start-error.js";
import { warnSeldom } from "./platform/warn-seldom.js";
import { type Budgets, ProcessBudgets, RedisBudgets } from "./platform/rate-limiter.js";
import { admitAddress, admitGraphQL, admitKey } from "./surfaces/admission.js";
import { callerOf } from "./surfaces/caller.js";
import { graphqlDoor } from "./surfaces/graphql/door.js";
import { GRAPHQL_CODES, graphqlError } from "./surfaces/graphql/errors.js";
import { buildGraphQLSchema } from "./surfaces/graphql/schema.js";
import { type Health, healthRoutes } from "./surfaces/health.js";
import type { HttpLimits } from "./surfaces/http-limits.js";
import { assertHeadFits, errorAnswer, requestScope, scopeOf } from "./surfaces/http.js";
import { accessPage } from "./surfaces/pages/access.js";
import { billingPages } from "./surfaces/pages/billing.js";
import { errorsPage } from "./surfaces/pages/errors.js";
import { graphqlPage } from "./surfaces/pages/graphql.js";
import { homePage } from "./surfaces/pages/home.js";
import { limitsPage } from "./surfaces/pages/limits.js";
import { invitationPages } from "./surfaces/pages/routes.js";
import { playgroundRoutes } from "./surfaces/playground/routes.js";
import { chargeCaller, chargeFailure, chargeKeyless } from "./surfaces/rate-limit.js";
import { docsRoutes } from "./surfaces/rest/docs.js";
import { noSuchPage, noSuchPath, restError, routesOf } from "./surfaces/rest/errors.js";
import { paymentWebhook } from "./surfaces/rest/payment-webhook.js";
import { restRoutes } from "./surfaces/rest/routes.js";
import { createExpressServer } from "./surfaces/server.js";
import { Work } from "./surfaces/work.js";

/** Everything the service can do. */
export const operations: readonly Operation[] = [
  ...accessOperations,
  ...accountOperations,
  ...memoryOperations,
  ...relationshipOperations,
  ...teamOperations,
  ...memberOperations,
  ...invitationOperations,
  ...billingOperations,
];

const relations = [
  ...memoryRelations,
  ...relationshipRelations,
  ...teamRelations,
  ...memberRelations,
  ...invitationRelations,
];

/** The schema is the same for every app of a process, and building it takes a while. */
export const graphqlSchema = (): Promise<GraphQLSchema> => (schema ??= buildGraphQLSchema(operations, relations));
let schema: Promise<GraphQLSchema> | undefined;

const routes = routesOf(operations);
const tellInRest = (failure: Failure | undefined): object => restError(failure, routes);

export interface AppParts {
  readonly config: Pick<Config, "allowedOrigins" | "development" | "publicUrl" | "trustedProxies">;
  readonly services: Services;
  readonly budgets: Budgets;
  readonly http: HttpLimits;
  readonly work: Work;
  readonly health: Health;
  readonly log: Logger;
  /** How long a request waits in all. */
  readonly waitMs: number;
}

/** The HTTP application: every door, in the order in which a request passes them. */
export async function createApp(parts: AppParts): Promise<Express> {
  const { config, services, budgets, http, work, health, log, waitMs } = parts;
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.enable("case sensitive routing");
  app.enable("strict routing");
  app.set("query parser", "simple");
  app.set("trust proxy", config.trustedProxies);

  const schema = await graphqlSchema();
  const isPublic = ({ permission }: Operation) => permission === "public";
  const admitsKey = admitKey(http);
  app.use(requestScope({ log, work, waitMs }));
  app.use(closeWhenStopping(health));
  app.use(assertHeadFits(http));
  app.use(knownMethods);
  app.use(cors({ origin: originsOf(config), exposedHeaders: EXPOSED_HEADERS, maxAge: 600 }));
  app.use(admitAddress(work, http));
  app.use(
    unlessCalled([
      healthRoutes(health),
      paymentWebhook(budgets, (body, signature) =>
        receivePaymentWebhook(servicesFor(services, "webhook"), body, signature),
      ),
      chargeWithoutKey(budgets),
      express.Router().use(PAGES, chargeAddress(budgets)),
      playgroundRoutes(),
      invitationPages(operations, services),
      billingPages((address, sessionId) => checkoutReturned(servicesFor(services, "checkouts"), address, sessionId)),
      homePage(chargeAddress(budgets)),
      graphqlPage(),
      limitsPage(),
      accessPage(operations),
      errorsPage({ failures: raisedFailures(operations), routes, graphqlCodes: GRAPHQL_CODES }),
      docsRoutes(operations, schema, config.publicUrl),
      express.Router().use(PAGES, noSuchPage),
    ]),
  );
  app.use("/graphql", authenticate(services, budgets, { optional: true }), admitsKey, admitGraphQL(http));
  app.use("/graphql", await graphqlDoor(operations, schema, services, budgets), errorAnswer(graphqlError));
  const before = [chargeAddress(budgets), authenticate(services, budgets, { optional: true })];
  app.use(restRoutes(operations.filter(isPublic), { schema, services, before }));
  app.use(authenticate(services, budgets, { optional: false }), admitsKey, chargeRequest(budgets));
  const others = operations.filter((operation) => !isPublic(operation));
  app.use(restRoutes(others, { schema, services }));
  app.use(noSuchPath);
  app.use(errorAnswer(tellInRest));
  return app;
}

/** A page of the developer's own machine, at whatever port its server has. */
const LOCAL_ORIGIN = /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/;

/** The origins whose pages may call, at every door: those that are configured, in development local ones too. */
const originsOf = ({ allowedOrigins, development }: AppParts["config"]): (string | RegExp)[] =>
  development ? [...allowedOrigins, LOCAL_ORIGIN] : [...allowedOrigins];

const EXPOSED_HEADERS = ["ETag", "Location", "RateLimit", "RateLimit-Policy", "Retry-After", "X-Request-Id"];

/** Clients on kept-alive connections go elsewhere, so that the server can stop without cutting anybody off. */
const closeWhenStopping =
  ({ isStopping }: Health): Handler =>
  (_request, response, next) => {
    if (isStopping()) response.set("Connection", "close");
    next();
  };

/** What is for browsers and operators. A call of an operation is never among it, and spared the way through it. */
function unlessCalled(routers: Handler[]): Handler {
  const router = express.Router({ caseSensitive: true, strict: true }).use(routers);
  return (request, response, next) => {
    const isCall = request.url.startsWith("/v1/") || (request.method === "POST" && request.url.startsWith("/graphql"));
    if (isCall) next();
    else router(request, response, next);
  };
}

const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

const knownMethods: Handler = (request, response, next) => {
  if (METHODS.has(request.method)) return next();
  const error = { code: "method_not_allowed", message: `The method ${request.method} is not served.` };
  response
    .status(405)
    .set("Allow", [...METHODS].join(", "))
    .json({ error });
};

/** Finds out who asks, before anything of the body is read. Optional: a request without any key goes on without. */
function authenticate(services: Services, budgets: Budgets, { optional }: { optional: boolean }): Handler {
  // Looking up has connections of its own; noting when keys were used has the share of one account.
  const { database } = servicesFor(services, "keys");
  return async (request, response, next) => {
    const scope = scopeOf(response);
    if (!optional || request.headers.authorization !== undefined) {
      try {
        scope.readCaller = () => scope.patience.limit(callerOf(request, database));
        scope.caller = await scope.readCaller();
      } catch (error) {
        if (error instanceof Unauthorized || error instanceof AccountSuspended) await chargeFailure(budgets, scope);
        throw error;
      }
    }
    next();
  };
}

/** Where nobody asks for a key the address pays, before anything else is done. */
const chargeAddress =
  (budgets: Budgets): Handler =>
  async (_request, response, next) => {
    await chargeKeyless(budgets, scopeOf(response));
    next();
  };

/** The same wherever no key is given. */
function chargeWithoutKey(budgets: Budgets): Handler {
  const charge = chargeAddress(budgets);
  return (request, response, next) =>
    request.headers.authorization === undefined ? charge(request, response, next) : next();
}

/** What is shown to whoever comes, with a key or without. */
const PAGES = ["/billing/return", "/docs", "/invitations", "/openapi.json", "/playground"];

/** REST: a request costs one, whatever comes of it. */
const chargeRequest =
  (budgets: Budgets): Handler =>
  async (_request, response, next) => {
    await chargeCaller(budgets, scopeOf(response), 1);
    next();
  };

/** A server that is listening, and ends in good order when it is disposed of. */
export interface RunningApp extends AsyncDisposable {
  readonly url: string;
  readonly services: Services;
}

/**
 * Serves the migrated database at `databaseUrl` until it is disposed of. The benchmark brings budgets of its own, tests
 * bring smaller bounds.
 */
export async function startApp(
  config: Config,
  databaseUrl: DatabaseUrl,
  log: Logger,
  budgets: Budgets = config.redisUrl ? new RedisBudgets(config.redisUrl, log) : new ProcessBudgets(),
  http: HttpLimits = LIMITS.http,
  storage: Services["storage"] = LIMITS.storage,
  waits: WaitBounds = LIMITS.database,
): Promise<RunningApp> {
  const onError = (err: Error) =>
    warnSeldom(log, `connection ${whyUnavailable(err)}`, { err }, "a database connection was lost");
  const database = openDatabase(databaseUrl, onError, waits);
  const services = createServices({
    database,
    shares: new DatabaseShares(database, waits),
    budgets,
    storage,
    billing: billingOf(config, log, () => url),
    resultHours: config.retention.resultsHours,
  });
  let stopping = false;
  // Known once it listens; nobody is served before.
  let url = "";
  const health: Health = { pool: database.reservedPool, isStopping: () => stopping };
  const work = new Work(http);
  const handler = await createApp({
    ...{ config, services, budgets, http, work, health, log },
    waitMs: waits.connectionWaitMs,
  });
  const server = createExpressServer(handler, {
    ...{ limits: http, log, form: tellInRest },
    behindProxies: config.trustedProxies > 0,
    turns: work.turns,
  });
  const close = async () => {
    work[Symbol.dispose]();
    await budgets.close();
    await database[Symbol.asyncDispose]();
  };
  try {
    await listen(server, config);
  } catch (error) {
    await close();
    throw error;
  }
  const { port } = server.address() as AddressInfo;
  url = `http://${config.host.includes(":") ? `[${config.host}]` : config.host}:${port}`;
  // Not before: mails link to the address, which may only now be known.
  const chores = startChores(choresOf(config, { services, url, log }), log);
  const stop = async () => {
    stopping = true;
    const drained = new AbortController();
    const over = sleep(LIMITS.stop.drainMs, undefined, { signal: drained.signal }).catch(() => {});
    await Promise.all([closeServer(server), Promise.race([chores[Symbol.asyncDispose](), over])]);
    drained.abort();
    await close();
  };
  let stopped: Promise<void> | undefined;
  return { url, services, [Symbol.asyncDispose]: () => (stopped ??= stop()) };
}

/** What is done in the background, by every server; which of them does a piece of it, the database decides. */
function choresOf(config: Config, parts: { services: Services; url: string; log: Logger }): Chore[] {
  const { url, log } = parts;
  const services = servicesFor(parts.services, "chores");
  const { database } = services;
  const { resultsHours, keysDays, invitationsDays, auditDays, mailsDays } = config.retention;
  const mailer = createMailer(config, log);
  if (!mailer) log.warn(`SMTP_URL is not set: mails wait up to ${mailsDays} days for a server that has it`);
  const outbox = mailer && { database, mailer, publicUrl: config.publicUrl ?? url, log };
  return [
    { name: "forget results", intervalMs: 60_000, run: () => forgetOldIdempotentResults(database, resultsHours) },
    { name: "forget sign-up codes", intervalMs: 60_000, run: () => forgetEndedCodes(database) },
    {
      name: "empty graphs of deleted teams and users",
      intervalMs: 2_000,
      run: () => forgetAbandonedGraph({ database }),
    },
    { name: "count words", intervalMs: 5_000, run: () => countWordsOfGraph({ database }) },
    { name: "forget words", intervalMs: 10_000, run: () => forgetWords({ database }) },
    { name: "reconcile billing", intervalMs: 5_000, run: () => reconcileDueAccount(services) },
    { name: "forget billing history", intervalMs: 60_000, run: () => forgetBillingHistory(services) },
    { name: "forget ended keys", intervalMs: 60_000, run: () => forgetEndedKeys(database, keysDays) },
    { name: "forget invitations", intervalMs: 60_000, run: () => forgetOldInvitations(database, invitationsDays) },
    { name: "forget who was invited", intervalMs: 60_000, run: () => forgetOldAllowances(database) },
    { name: "forget audit", intervalMs: 60_000, run: () => forgetOldAudit(database, auditDays) },
    { name: "forget mails", intervalMs: 60_000, run: () => forgetUselessMails(database, mailsDays) },
    ...(outbox ? [{ name: "send mails", intervalMs: 1_000, run: () => sendDueMails(outbox) }] : []),
  ];
}

function listen(server: Server, { host, port }: Pick<Config, "host" | "port">): Promise<void> {
  return new Promise((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException) => reject(explainListening(error, host, port));
    server.once("error", refuse);
    server.listen(port, host, () => {
      server.off("error", refuse);
      resolve();
    });
  });
}

const LISTENING_SENTENCES: Readonly<Record<string, string>> = {
  EADDRINUSE: "another program listens there. Stop it, or choose another PORT",
  EACCES: "this user may not. Choose a PORT from 1024 on",
  EADDRNOTAVAIL: "this machine does not have the address. Correct HOST",
  ENOTFOUND: "the name is not known. Correct HOST",
  EAI_AGAIN: "the name cannot be looked up. Correct HOST, or look at the name service",
};

function explainListening(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const sentence = LISTENING_SENTENCES[error.code ?? ""];
  return sentence
    ? new StartError(`The service cannot listen on ${host}, port ${port}: ${sentence} (${error.code}).`)
    : error;
}

/** Stops accepting and waits until every request that had begun is answered. */
function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const deadline = setTimeout(() => server.closeAllConnections(), LIMITS.stop.drainMs);
    // A request that had begun before is answered as ever; its connection is kept alive and has to be closed then.
    const sweep = setInterval(() => server.closeIdleConnections(), 100);
    server.close(() => {
      clearTimeout(deadline);
      clearInterval(sweep);
      resolve();
    });
  });
}
