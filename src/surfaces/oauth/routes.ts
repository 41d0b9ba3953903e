import { type ErrorRequestHandler, type Handler, type Request, type Response, Router } from "express";
import { LIMITS } from "../../limits.js";
import { type Failure, InvalidInput } from "../../operation/failure.js";
import type { Scope } from "../../operation/permission.js";
import { type PlainLimit, takeUseOfNetwork } from "../../operation/use-limit.js";
import { formIn, readBodyUpTo } from "../body.js";
import { BUG_MESSAGE, claimsJson, errorAnswer, jsonBody, noteFailure, UnsupportedMediaType } from "../http.js";
import { scopeOf } from "../request-scope.js";
import { refuseOtherMethods } from "../plain-errors.js";
import { type ConnectParts, ConnectPage } from "./connect-page.js";
import { DocumentReadings } from "./documents.js";
import { innerRequest } from "./inner-request.js";
import { registrationIn } from "./registration.js";
import type { AuthorizationServer, OAuthStore } from "./server.js";
import {
  BASE,
  ENDPOINTS,
  GRANT_TYPES,
  OFFLINE_ACCESS,
  issuerMetadata,
  queryOf,
  resourceMetadata,
  withoutQuery,
} from "./urls.js";

export interface OAuthParts extends ConnectParts {
  readonly store: OAuthStore;
  readonly chargeAddress: Handler;
}

/** How often one network may do these two things, which store something before anybody has agreed. */
export const STARTS: PlainLimit = {
  ...LIMITS.oauth.startsPerNetwork,
  name: "oauth-start",
  of: "attempts to connect a program from one network",
};
export const REGISTRATIONS: PlainLimit = {
  ...LIMITS.oauth.registrationsPerNetwork,
  name: "oauth-registration",
  of: "registrations of clients from one network",
};

const PAGE = `${BASE}/connect`;

/**
 * Where MCP of 2025-03-26 looks for tokens without the metadata. A restarted program with the SDK for Python refreshes
 * its tokens there; without an answer its user would have to sign in again.
 */
const FALLBACK_TOKEN = "/token";

/** For Express, to which these characters mean patterns: `PUBLIC_URL` may have any path. */
const asWritten = (path: string): string => path.replaceAll(/[{}()[\]+?!:*\\]/g, String.raw`\$&`);

/** The routes of the authorization server, and of the page on which a person allows or refuses a program. */
export async function oauthRoutes(parts: OAuthParts): Promise<Router> {
  const { urls, scopes, services, chargeAddress } = parts;
  const server = await loadServer(parts);
  const router = Router({ caseSensitive: true, strict: true });
  const body = readBodyUpTo(LIMITS.oauth.bodyBytes);
  const answer = (path: (request: Request) => string): Handler => {
    return async (request, response) => {
      await server.answer(innerRequest(request, urls.issuer, path(request)), response);
    };
  };
  const limit = (uses: PlainLimit): Handler => {
    return async (_request, response, next) => {
      const { clientAddress } = scopeOf(response);
      await takeUseOfNetwork({ ...services, clientAddress }, uses);
      next();
    };
  };
  const pathBelow = ({ originalUrl }: Request) => originalUrl.slice(BASE.length);
  const sendDocument =
    (documentFor: (request: Request) => object): Handler =>
    (request, response) =>
      void response.json(documentFor(request));
  const get = (path: string, ...handlers: Handler[]) =>
    router
      .route(path)
      .get(chargeAddress, ...handlers)
      .all(chargeAddress, refuseOtherMethods(["GET", "HEAD"]));
  const post = (path: string, ...handlers: Handler[]) =>
    router
      .route(path)
      .post(chargeAddress, body, ...handlers)
      .all(chargeAddress, refuseOtherMethods(["POST"]));

  get(
    asWritten(urls.resourceMetadataPath),
    sendDocument((request) => resourceMetadata(urls, scopes, queryOf(request))),
  );
  get(
    asWritten(urls.issuerMetadataPath),
    sendDocument(() => issuerMetadata(urls, scopes)),
  );
  const answerToken = answer(() => ENDPOINTS.token);
  for (const path of [BASE + ENDPOINTS.token, FALLBACK_TOKEN]) {
    post(path, refuseOtherGrants, refuseOtherResources(urls.resource), answerToken);
  }
  post(BASE + ENDPOINTS.revocation, answer(pathBelow));
  post(BASE + ENDPOINTS.registration, limit(REGISTRATIONS), readRegistration, answer(pathBelow));
  router.use([BASE, FALLBACK_TOKEN], errorAnswer(oauthError));

  get(BASE + ENDPOINTS.authorization, limit(STARTS), answer(pathWithScopes(scopes)));
  get(`${BASE}${ENDPOINTS.authorization}/:id`, answer(pathBelow));
  const page = new ConnectPage(parts, server);
  get(`${PAGE}/:id`, page.show);
  // A phone may drop the page while its owner reads the mail with the code, and then opens the last form's address.
  const backToPage: Handler = ({ params }, response) =>
    response.redirect(303, urls.pagePath + encodeURIComponent(String(params["id"])));
  const form = (path: string, handler: Handler) =>
    router
      .route(path)
      .get(chargeAddress, backToPage)
      .post(chargeAddress, body, handler)
      .all(chargeAddress, refuseOtherMethods(["GET", "HEAD", "POST"]));
  form(`${PAGE}/:id/code`, page.sendCode);
  form(`${PAGE}/:id/answer`, page.answer);
  router.use(BASE, showFailure(parts.pages));
  return router;
}

/** The authorization server takes megabytes, so it is loaded only where it is configured. */
async function loadServer({ urls, scopes, services, store, pages }: OAuthParts): Promise<AuthorizationServer> {
  const { createAuthorizationServer } = await import("./provider.js");
  return createAuthorizationServer({
    urls,
    scopes,
    store,
    documents: new DocumentReadings(services),
    renderProblem: (description) => ({ html: pages.showProblem(description), headers: pages.headers() }),
    note(error, response) {
      const failure = response.destroyed ? undefined : noteFailure(error, response as Response);
      return oauthError(failure, response as Response);
    },
    noteRefusal: (code, response) => scopeOf(response as Response).noteCode(code),
    noteUnreadable: (host, reason) =>
      services.log.info({ host: shorten(host), reason: shorten(reason) }, "a client's document could not be read"),
  });
}

/** Nobody has longer names; an error may repeat whatever is asked for. */
const shorten = (text: string): string => text.slice(0, 300);

/** oidc-provider checks the resource only after it has used up the token or the code: a typo would end a connection. */
const refuseOtherResources =
  (resource: string): Handler =>
  (request: Request & { body?: unknown }, response, next) => {
    const form = formIn(request);
    const named = leaveOutQueries(form);
    if (!named.every((each) => each === "" || each === resource))
      return refuseTokens(response, "invalid_target", `the only resource is ${resource}`);
    if (named.length > 0) request.body = Buffer.from(form.toString());
    next();
  };

/** Leaves the queries out of the resources that the parameters name. @returns the resources */
function leaveOutQueries(params: URLSearchParams): string[] {
  const named = params.getAll("resource").map(withoutQuery);
  params.delete("resource");
  for (const resource of named) params.append("resource", resource);
  return named;
}

/** Runs before oidc-provider, which would answer a program with a secret that it knows no such client. */
const refuseOtherGrants: Handler = (request, response, next) => {
  if (formIn(request).getAll("grant_type").every(isGrantType)) return next();
  const offered = GRANT_TYPES.join(" or ");
  const description = `use ${offered}; a program without a person sends an API key to \`/mcp\` instead`;
  refuseTokens(response, "unsupported_grant_type", description);
};

/** An empty parameter counts as left out: RFC 6749, 3.2. */
const isGrantType = (grant: string): boolean => grant === "" || GRANT_TYPES.includes(grant);

/** An error of the token endpoint: RFC 6749, 5.2. */
function refuseTokens(response: Response, error: string, description: string): void {
  scopeOf(response).noteCode(error);
  response.status(400).json({ error, error_description: description });
}

/**
 * Makes the path below `BASE`. A request that names no scope, or only offline access, gets all scopes. A person is
 * always asked, without which oidc-provider grants no offline access. It has more response modes than the metadata
 * names, and refuses those that it does not know. The resource is compared as a text.
 */
const pathWithScopes =
  (scopes: readonly Scope[]) =>
  ({ originalUrl }: Request): string => {
    const { pathname, searchParams } = new URL(originalUrl, "http://localhost");
    leaveOutQueries(searchParams);
    const [asked, prompts] = [wordsOf(searchParams, "scope"), wordsOf(searchParams, "prompt")];
    if (asked?.every((scope) => scope === OFFLINE_ACCESS)) searchParams.set("scope", [...scopes, ...asked].join(" "));
    if (prompts && !prompts.includes("none"))
      searchParams.set("prompt", [...new Set([...prompts, "consent"])].join(" "));
    if ((searchParams.get("response_mode") || "query") !== "query") searchParams.set("response_mode", "unsupported");
    return `${pathname.slice(BASE.length)}?${searchParams.toString()}`;
  };

/** The words of a parameter; undefined for a repeated one, which oidc-provider refuses. */
function wordsOf(params: URLSearchParams, name: string): string[] | undefined {
  const [value = "", ...others] = params.getAll(name);
  return others.length > 0 ? undefined : value.split(" ").filter(Boolean);
}

const readRegistration: Handler = (request: Request & { body?: unknown }, _response, next) => {
  if (!claimsJson(request)) throw new UnsupportedMediaType();
  request.body = Buffer.from(JSON.stringify(registrationIn(jsonBody(request))));
  next();
};

/** A failure as OAuth's clients read it: RFC 6749, 5.2. */
function oauthError(failure: Failure | undefined, { req }: Response): object {
  if (!failure) return { error: "server_error", error_description: BUG_MESSAGE };
  return { error: codeOf(failure, req.path === ENDPOINTS.registration), error_description: failure.message };
}

function codeOf(failure: Failure, isRegistration: boolean): string {
  if (failure.kind === "rate_limited" || failure.kind === "unavailable") return "temporarily_unavailable";
  return isRegistration && failure instanceof InvalidInput ? "invalid_client_metadata" : "invalid_request";
}

const showFailure =
  ({ showProblem, headers }: OAuthParts["pages"]): ErrorRequestHandler =>
  (error: unknown, _request, response, next) => {
    const failure = noteFailure(error, response);
    if (response.headersSent) return next(error);
    response.set(headers()).send(showProblem(failure?.message ?? BUG_MESSAGE));
  };
