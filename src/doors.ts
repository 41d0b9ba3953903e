import cors from "cors";
import express, { type ErrorRequestHandler, type Express, type Handler } from "express";
import type { Config } from "./config.js";
import { raisedFailures } from "./failures.js";
import {
  SIGNED_IN_MS,
  callerOf,
  callerOfToken,
  connectClient,
  noKeyAtMcp,
  signIn,
  signOut,
  signUp,
} from "./features/access/index.js";
import { exportGraph } from "./features/bulk/index.js";
import { billingByPage, refreshCheckout, receivePaymentWebhook } from "./features/billing/index.js";
import { AGENT_INSTRUCTIONS } from "./features/memories/index.js";
import { OAuthRecords } from "./features/oauth/index.js";
import { answerByCode, invitation, invitationById, mailInvitation, teamsByPage } from "./features/teams/index.js";
import type { Failure } from "./operation/failure.js";
import { type Services, servicesFor } from "./operation/context.js";
import { SCOPES, scopesOf } from "./operation/permission.js";
import { graphqlSchema, operations, relations } from "./operations.js";
import { admitAddress, admitKey, admitNewOrLarge } from "./surfaces/admission.js";
import { authenticate, chargeAddress, chargeRequest, chargeWithoutKey } from "./surfaces/authentication.js";
import { graphqlDoor } from "./surfaces/graphql/door.js";
import { GRAPHQL_CODES, graphqlError } from "./surfaces/graphql/errors.js";
import { type Health, healthRoutes } from "./surfaces/health.js";
import type { HttpLimits } from "./surfaces/http-limits.js";
import { assertHeadFits, isPreflight } from "./surfaces/request-head.js";
import { ProxyWarnings } from "./surfaces/client-address.js";
import { errorAnswer, isRead } from "./surfaces/http.js";
import { requestScope } from "./surfaces/request-scope.js";
import { accessPage } from "./surfaces/pages/access.js";
import { accountPages } from "./surfaces/pages/account-routes.js";
import { agentsPage } from "./surfaces/pages/agents.js";
import { billingPages } from "./surfaces/pages/billing.js";
import { connectHeaders, connectPage, connectProblemPage } from "./surfaces/pages/connect.js";
import { errorsPage } from "./surfaces/pages/errors.js";
import { graphqlPage } from "./surfaces/pages/graphql.js";
import { homePage } from "./surfaces/pages/home.js";
import { limitsPage } from "./surfaces/pages/limits.js";
import { busyPageOr, lostPage, pagesWithSlash } from "./surfaces/pages/lost.js";
import { invitationPages } from "./surfaces/pages/invitation-routes.js";
import { mcpDoor, mcpError } from "./surfaces/mcp/door.js";
import { refuseRegistration } from "./surfaces/oauth/no-registration.js";
import { oauthRoutes } from "./surfaces/oauth/routes.js";
import { type OAuthUrls, challenge, oauthUrls } from "./surfaces/oauth/urls.js";
import { playgroundRoutes } from "./surfaces/playground/routes.js";
import { exportStream } from "./surfaces/rest/export-stream.js";
import { docsRoutes } from "./surfaces/rest/docs.js";
import {
  type RestError,
  noSuchPage,
  noSuchPath,
  refuseOtherMethods,
  restError,
  routesOf,
} from "./surfaces/plain-errors.js";
import { paymentWebhook } from "./surfaces/rest/payment-webhook.js";
import { aliasRoutes, answerForAliases, mayBeAlias, withDetail } from "./surfaces/rest/aliases/router.js";
import { restRoutes } from "./surfaces/rest/routes.js";
import type { Work } from "./surfaces/work.js";

const routes = routesOf(operations);

/** A failure in REST's format. */
const formatRestError = (failure: Failure | undefined): RestError => restError(failure, routes);

/** A failure of a request whose path is unknown: it may be for an alias. */
export const formatUnreadable = (failure: Failure): object => withDetail(formatRestError(failure));

export interface DoorParts {
  readonly config: Pick<Config, "allowedOrigins" | "development" | "publicUrl" | "trustedProxies">;
  readonly services: Services;
  readonly http: HttpLimits;
  readonly work: Work;
  readonly health: Health;
  /** How long a request may wait in total. */
  readonly waitMs: number;
}

/** The HTTP application: every door, in the order in which a request passes them. */
export async function createDoors({ config, services, http, work, health, waitMs }: DoorParts): Promise<Express> {
  const { budgets, log, meter, tracer } = services;
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.enable("case sensitive routing");
  app.enable("strict routing");
  app.set("query parser", "simple");
  app.set("trust proxy", config.trustedProxies);

  const schema = await graphqlSchema();
  // The look-up uses reserved connections; storing when keys were used counts as one account.
  const { database } = servicesFor(services, "keys");
  const identify = (authorization: string | undefined) => callerOf(authorization, database);
  const admitsKey = admitKey(http);
  const proxies = new ProxyWarnings({ log, trustedProxies: config.trustedProxies });
  app.use(requestScope({ log, meter, tracer, work, waitMs, proxies }));
  // First, so that pages of other origins can read any refusal, too.
  app.use(cors({ origin: originsOf(config), exposedHeaders: EXPOSED_HEADERS, maxAge: 600, preflightContinue: true }));
  app.use(assertHeadFits(http));
  app.use(answerOptions(chargeAddress(budgets)));
  app.use(admitAddress(work, http));
  const urls = config.publicUrl === undefined ? undefined : oauthUrls(config.publicUrl);
  if (urls) app.use(await serveOAuth(urls, services));
  app.post(REGISTRATION, refuseRegistration(urls));
  app.use([...DISCOVERY, REGISTRATION], noSuchPath);
  app.use(
    unlessCalled([
      healthRoutes(health),
      paymentWebhook(budgets, (body, signature) =>
        receivePaymentWebhook(servicesFor(services, "webhook"), body, signature),
      ),
      chargeWithoutKey(budgets),
      express.Router().use(PAGES, chargeAddress(budgets)),
      playgroundRoutes(),
      invitationPages({ services, invitation, invitationById, mailInvitation, signUp, answerByCode }),
      billingPages((address, sessionId) => refreshCheckout(servicesFor(services, "checkouts"), address, sessionId)),
      accountPages({
        services,
        identify,
        signUp,
        signIn,
        signOut,
        signedInMs: SIGNED_IN_MS,
        ...teamsByPage,
        ...billingByPage,
      }),
      homePage(chargeAddress(budgets)),
      agentsPage(operations, {
        publicUrl: services.publicUrl,
        offersOAuth: urls !== undefined,
        charge: chargeAddress(budgets),
      }),
      graphqlPage(services.publicUrl),
      limitsPage(),
      accessPage(operations),
      errorsPage(() => ({ failures: raisedFailures(operations, relations), routes, graphqlCodes: GRAPHQL_CODES })),
      docsRoutes(operations, schema, config.publicUrl),
      pagesWithSlash(),
      express.Router().use(PAGES, lostPage, noSuchPage),
    ]),
  );
  app.use("/graphql", authenticate(identify, budgets, { optional: true }), admitsKey);
  const graphql = graphqlDoor(operations, { schema, services, admitNewOrLarge: admitNewOrLarge(http) });
  app.use("/graphql", graphql, busyPageOr(errorAnswer(graphqlError)));
  const identified = [authenticate(identify, budgets, { optional: false }), admitsKey];
  const mcp = { schema, services, instructions: AGENT_INSTRUCTIONS, routes };
  const refusal = urls && noKeyAtMcp(urls.resource);
  const byKey = (authorization: string | undefined) => callerOf(authorization, database, refusal);
  const withKey = [authenticate(byKey, budgets, { optional: false }), admitsKey];
  app.use(mcpDoor(operations, { ...mcp, path: "/mcp", identified: withKey }));
  if (urls) {
    const byToken = (token: string | undefined) => callerOfToken(token, urls.resource, { ...services, database });
    const connected = [challenge(urls), authenticate(byToken, budgets, { optional: false }), admitsKey];
    app.use(mcpDoor(operations, { ...mcp, path: "/mcp/oauth", identified: connected }));
  }
  app.use("/mcp", busyPageOr(errorAnswer(mcpError)));
  const open = [chargeAddress(budgets), authenticate(identify, budgets, { optional: true })];
  const guarded = [...identified, chargeRequest(budgets)];
  const { stalledAnswerMs } = http;
  app.use(exportStream({ operation: exportGraph, schema, services, guarded, stalledAnswerMs, waitMs }));
  app.use(restRoutes(operations, { schema, services, open, guarded }));
  app.use(aliasRoutes(operations, { schema, services, guarded }));
  app.use(chargeAddress(budgets), lostPage, noSuchPath);
  app.use(chargeUndecodable(chargeAddress(budgets)));
  app.use(busyPageOr(errorAnswer(answerForAliases(formatRestError))));
  return app;
}

/** The authorization server, for programs that take no key. They call only tools, so it grants only their scopes. */
function serveOAuth(urls: OAuthUrls, shared: Services): Promise<Handler> {
  const services = servicesFor(shared, "oauth");
  return oauthRoutes({
    urls,
    services,
    signUp,
    connect: connectClient,
    scopes: SCOPES.filter((scope) =>
      operations.some(({ mcp, permission }) => mcp && scopesOf(permission).includes(scope)),
    ),
    store: new OAuthRecords(services),
    chargeAddress: chargeAddress(services.budgets),
    pages: { show: connectPage, showProblem: connectProblemPage, headers: connectHeaders },
  });
}

/** Pages that need no key. */
const PAGES = ["/account", "/billing/return", "/docs", "/invitations", "/openapi.json", "/playground"];

/**
 * Where clients of MCP look for an authorization server. They ignore their key if anything but 404 is answered, so
 * these paths are never charged, which could lead to a 429.
 */
const DISCOVERY = ["/.well-known", "/mcp/.well-known"];
const REGISTRATION = "/register";

/** The origin of a page on the developer's own machine, at any port. */
const LOCAL_ORIGIN = /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/;

/** The origins whose pages may call every door: the configured ones, and in development also local ones. */
const originsOf = ({ allowedOrigins, development }: DoorParts["config"]): (string | RegExp)[] =>
  development ? [...allowedOrigins, LOCAL_ORIGIN] : [...allowedOrigins];

const EXPOSED_HEADERS = [
  "Allow",
  "ETag",
  "Location",
  "RateLimit",
  "RateLimit-Policy",
  "Retry-After",
  "WWW-Authenticate",
  "X-Read-After",
  "X-Request-Id",
];

/** Routes for browsers and operators. Calls of operations skip them, since none of them matches. */
function unlessCalled(routers: (Handler | ErrorRequestHandler)[]): Handler {
  const router = express.Router({ caseSensitive: true, strict: true }).use(routers);
  return (request, response, next) => {
    const { url } = request;
    const isCall = url.startsWith("/v1/") || (!isRead(request) && /^\/(?:graphql|mcp)/.test(url)) || mayBeAlias(url);
    if (isCall) next();
    else router(request, response, next);
  };
}

/** A path that cannot be decoded costs as much as one that does not exist. The router refuses it before any charge. */
function chargeUndecodable(charge: Handler): ErrorRequestHandler {
  return (error: unknown, request, response, next) =>
    error instanceof URIError ? charge(request, response, (failure) => next(failure ?? error)) : next(error);
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const refuseUnknownMethods = refuseOtherMethods(METHODS);

/**
 * Answers what browsers ask before they send a request of a page, for which `cors` has set the headers: it costs
 * nothing, and pages cannot read it. Every other OPTIONS is charged, and its path answers it.
 */
function answerOptions(charge: Handler): Handler {
  const known = new Set(METHODS);
  return (request, response, next) => {
    const { method, url } = request;
    if (method !== "OPTIONS" && known.has(method)) return next();
    if (method !== "OPTIONS" || url === "*") return void refuseUnknownMethods(request, response, next);
    // Returned, so that Express answers the refusal of the charge.
    return isPreflight(request) ? void response.status(204).end() : charge(request, response, next);
  };
}
