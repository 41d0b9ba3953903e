import { type ErrorRequestHandler, type Handler, type Request, type Response, Router } from "express";
import { LIMITS } from "../../limits.js";
import { type Context, type Services, contextOf } from "../../operation/context.js";
import { execute } from "../../operation/execute.js";
import { Failure, InvalidInput } from "../../operation/failure.js";
import type { Operation } from "../../operation/operation.js";
import type { Scope } from "../../operation/permission.js";
import { type UseLimit, takeUseOfNetwork } from "../../operation/use-limit.js";
import { onFirstUse } from "../../platform/on-first-use.js";
import { readBodyUpTo } from "../body.js";
import { BUG_MESSAGE, claimsJson, errorAnswer, jsonBody, noteFailure, UnsupportedMediaType } from "../http.js";
import { scopeOf } from "../request-scope.js";
import { refuseOtherMethods } from "../plain-errors.js";
import { DocumentReadings } from "./documents.js";
import { innerRequest } from "./inner-request.js";
import { registrationIn } from "./registration.js";
import type { AuthorizationServer, OAuthStore, PendingRequest } from "./server.js";
import { ENDPOINTS, issuerMetadata, oauthUrls, resourceMetadata } from "./urls.js";

/** What the page shows. */
interface View extends Pick<PendingRequest, "clientName" | "scopes" | "email"> {
  readonly path: string;
  readonly host: string;
  readonly problem?: Failure | undefined;
}

export interface OAuthParts {
  readonly publicUrl: string;
  /** What a program can be allowed: the scopes of the tools. */
  readonly scopes: readonly Scope[];
  readonly services: Services;
  readonly store: OAuthStore;
  readonly chargeAddress: Handler;
  /** Mails a code to an address. */
  readonly signUp: Operation<{ email: string }>;
  /** Exchanges the code for a key, with whose rights the program acts. */
  connect(
    context: Context,
    proof: { readonly email: string; readonly code: string },
    client: { readonly name: string; readonly host: string; readonly scopes: readonly Scope[] },
  ): Promise<{ readonly keyId: string; readonly userId: string }>;
  readonly pages: {
    show(view: View): string;
    showProblem(message: string): string;
    headers(redirectUri?: string): Readonly<Record<string, string>>;
  };
}

/** How often one network may do these two things, which store something before anybody has agreed. */
export const STARTS: Omit<UseLimit, "by"> = {
  ...LIMITS.oauth.startsPerNetwork,
  name: "oauth-start",
  of: "attempts to connect a program from one network",
};
export const REGISTRATIONS: Omit<UseLimit, "by"> = {
  ...LIMITS.oauth.registrationsPerNetwork,
  name: "oauth-registration",
  of: "registrations of clients from one network",
};

/** The paths of the authorization server on this server. */
const BASE = "/oauth";
const PAGE = `${BASE}/connect`;

/** The routes of the authorization server, and of the page on which a person allows or refuses a program. */
export function oauthRoutes(parts: OAuthParts): Router {
  const { publicUrl, scopes, services, chargeAddress } = parts;
  const urls = oauthUrls(publicUrl);
  const server = lazyServer(parts);
  const router = Router({ caseSensitive: true, strict: true });
  const body = readBodyUpTo(LIMITS.oauth.bodyBytes);
  const answer = (path: (request: Request) => string): Handler => {
    return async (request, response) => {
      await (await server()).answer(innerRequest(request, urls.issuer, path(request)), response);
    };
  };
  const limit = (uses: Omit<UseLimit, "by">): Handler => {
    return async (_request, response, next) => {
      const { clientAddress } = scopeOf(response);
      await takeUseOfNetwork({ ...services, clientAddress }, uses);
      next();
    };
  };
  const pathBelow = ({ originalUrl }: Request) => originalUrl.slice(BASE.length);
  const describe =
    (document: object): Handler =>
    (_request, response) =>
      void response.json(document);
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

  get(urls.resourceMetadataPath, describe(resourceMetadata(urls, scopes)));
  get(urls.issuerMetadataPath, describe(issuerMetadata(urls, scopes)));
  post(BASE + ENDPOINTS.token, refuseOtherResources(urls.resource), answer(pathBelow));
  post(BASE + ENDPOINTS.revocation, answer(pathBelow));
  post(BASE + ENDPOINTS.registration, limit(REGISTRATIONS), readRegistration, answer(pathBelow));
  router.use(BASE, errorAnswer(oauthError));

  get(BASE + ENDPOINTS.authorization, limit(STARTS), answer(pathWithScopes(scopes)));
  get(`${BASE}${ENDPOINTS.authorization}/:id`, answer(pathBelow));
  const page = new ConnectPage(parts, server);
  get(`${PAGE}/:id`, page.show);
  post(`${PAGE}/:id/code`, page.sendCode);
  post(`${PAGE}/:id/answer`, page.answer);
  router.use(BASE, showFailure(parts.pages));
  return router;
}

/** Loads the authorization server when a request first needs it: most processes never do, and it takes megabytes. */
function lazyServer({ publicUrl, scopes, services, store, pages }: OAuthParts): () => Promise<AuthorizationServer> {
  return onFirstUse(async () => {
    const { createAuthorizationServer } = await import("./provider.js");
    return createAuthorizationServer({
      ...{ urls: oauthUrls(publicUrl), scopes, store, documents: new DocumentReadings(services) },
      renderProblem: (description) => ({ html: pages.showProblem(description), headers: pages.headers() }),
      note(error, response) {
        if (!response.destroyed) noteFailure(error, response as Response);
      },
    });
  });
}

/** oidc-provider checks the resource only after it has used up the token or the code: a typo would end a connection. */
const refuseOtherResources =
  (resource: string): Handler =>
  (request, response, next) => {
    if (
      formIn(request)
        .getAll("resource")
        .every((named) => named === "" || named === resource)
    )
      return next();
    const description = `the only resource is ${resource}`;
    response
      .status(400)
      .set("Cache-Control", "no-store")
      .json({ error: "invalid_target", error_description: description });
  };

/**
 * Makes the path below `BASE`. A request that names no scope gets all scopes. oidc-provider has more response modes than
 * the metadata names; it refuses those that it does not know.
 */
const pathWithScopes =
  (scopes: readonly Scope[]) =>
  ({ originalUrl }: Request): string => {
    const { pathname, searchParams } = new URL(originalUrl, "http://localhost");
    if (!searchParams.get("scope")) searchParams.set("scope", scopes.join(" "));
    if ((searchParams.get("response_mode") || "query") !== "query") searchParams.set("response_mode", "unsupported");
    return `${pathname.slice(BASE.length)}?${searchParams.toString()}`;
  };

const readRegistration: Handler = (request: Request & { body?: unknown }, _response, next) => {
  if (!claimsJson(request)) throw new UnsupportedMediaType();
  request.body = Buffer.from(JSON.stringify(registrationIn(jsonBody(request))));
  next();
};

/** A failure as OAuth's clients read it: RFC 6749, 5.2. */
function oauthError(failure: Failure | undefined): object {
  if (!failure) return { error: "server_error", error_description: BUG_MESSAGE };
  const isLater = failure.kind === "rate_limited" || failure.kind === "unavailable";
  const isMetadata = failure instanceof InvalidInput;
  const error = isLater ? "temporarily_unavailable" : isMetadata ? "invalid_client_metadata" : "invalid_request";
  return { error, error_description: failure.message };
}

/** The page where a person signs in and answers. Other sites cannot answer: the cookie is not sent for their forms. */
class ConnectPage {
  readonly #parts: OAuthParts;
  readonly #server: () => Promise<AuthorizationServer>;

  constructor(parts: OAuthParts, server: () => Promise<AuthorizationServer>) {
    this.#parts = parts;
    this.#server = server;
  }

  readonly show: Handler = async (request, response) => {
    const pending = await this.#pending(request, response);
    const shown = "address" in request.query ? { ...pending, email: undefined } : pending;
    if (pending.scopes.length > 0) return this.#send(response, shown);
    const offered = this.#parts.scopes.join(", ");
    throw new InvalidInput([
      { path: "", message: `There is nothing to allow. The program must ask for one of these: ${offered}.` },
    ]);
  };

  readonly sendCode: Handler = async (request, response) => {
    const pending = await this.#pending(request, response);
    const email = formIn(request).get("email") ?? "";
    const { signUp } = this.#parts;
    const input = Object.assign(new signUp.input(), { email });
    try {
      await execute(signUp, this.#context(response, signUp.name), input);
    } catch (error) {
      return this.#sendProblem(error, response, pending);
    }
    await pending.rememberEmail(email);
    // Redirected to a GET, so that reloading the page does not send another code.
    response.redirect(303, oauthUrls(this.#parts.publicUrl).pagePath + pending.id);
  };

  readonly answer: Handler = async (request, response) => {
    const pending = await this.#pending(request, response);
    const form = formIn(request);
    if (form.get("answer") === "refuse") return pending.refuse("The person refused.");
    const { email, scopes, clientName } = pending;
    if (form.get("answer") !== "allow" || email === undefined) return this.#send(response, pending);
    // People copy codes with spaces, and mobile keyboards add them.
    const code = (form.get("code") ?? "").replaceAll(/[\s-]/g, "");
    const host = hostOf(pending.redirectUri);
    const client = { name: clientName ?? host, host, scopes };
    try {
      const context = this.#context(response, "connectClient");
      await pending.agree(await this.#parts.connect(context, { email, code }, client));
    } catch (error) {
      return this.#sendProblem(error, response, pending);
    }
  };

  async #pending(request: Request, response: Response): Promise<PendingRequest> {
    const inner = innerRequest(
      request,
      oauthUrls(this.#parts.publicUrl).issuer,
      request.originalUrl.slice(BASE.length),
    );
    const pending = await (await this.#server()).pending(inner, response);
    if (pending.id !== request.params["id"])
      throw new InvalidInput([{ path: "", message: "This page is for another request. Connect the program again." }]);
    return pending;
  }

  #context(response: Response, operation: string): Context {
    const { operations, clientAddress, patience } = scopeOf(response);
    operations.push(operation);
    return contextOf(this.#parts.services, { caller: undefined, clientAddress, door: "page", patience });
  }

  /** Shows what was wrong, so that the person can try again. */
  #sendProblem(error: unknown, response: Response, pending: PendingRequest): void {
    if (response.headersSent) throw error;
    const problem = noteFailure(error, response);
    if (!problem) throw error;
    this.#send(response, pending, problem);
  }

  #send(response: Response, pending: PendingRequest, problem?: Failure): void {
    const { pages, publicUrl } = this.#parts;
    const { id, clientName, scopes, email, redirectUri } = pending;
    const path = oauthUrls(publicUrl).pagePath + id;
    response.set(pages.headers(redirectUri));
    response.send(pages.show({ path, clientName, host: hostOf(redirectUri), scopes, email, problem }));
  }
}

const formIn = ({ body }: Request & { body?: unknown }): URLSearchParams =>
  new URLSearchParams(Buffer.isBuffer(body) ? body.toString() : "");

/** Shows people where a redirect URI leads: its host, or the scheme of an app on their device. */
function hostOf(redirectUri: string): string {
  const { protocol, host } = new URL(redirectUri);
  return /^https?:$/.test(protocol) ? host : protocol;
}

const showFailure =
  ({ showProblem, headers }: OAuthParts["pages"]): ErrorRequestHandler =>
  (error: unknown, _request, response, next) => {
    const failure = noteFailure(error, response);
    if (response.headersSent) return next(error);
    response.set(headers()).send(showProblem(failure?.message ?? BUG_MESSAGE));
  };
