import { generateKeyPairSync } from "node:crypto";
import type { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  type Adapter,
  type Configuration,
  type InteractionResults,
  type JWK,
  type KoaContextWithOIDC,
  Provider,
  errors,
  interactionPolicy,
} from "oidc-provider";
import { LIMITS } from "../../limits.js";
import type { Scope } from "../../operation/permission.js";
import { RateLimited } from "../../operation/budget.js";
import { AccountSuspended } from "../../operation/failure.js";
import { BUG_MESSAGE, failureBehind } from "../http.js";
import { HTTP_STATUS } from "../http-status.js";
import type { DocumentReadings } from "./documents.js";
import { fetchDocument } from "./known-documents.js";
import { plainName } from "./registration.js";
import { type AuthorizationServer, type OAuthStore, type PendingRequest, RequestGone } from "./server.js";
import { ENDPOINTS, GRANT_TYPES, OFFLINE_ACCESS, type OAuthUrls } from "./urls.js";

const { documentSeconds, requestMinutes, codeSeconds, accessMinutes, refreshDays, grantDays } = LIMITS.oauth;
const MINUTE_S = 60;
const DAY_S = 86_400;

export interface ProviderParts {
  readonly urls: OAuthUrls;
  readonly scopes: readonly Scope[];
  readonly store: OAuthStore;
  readonly documents: DocumentReadings;
  /** A page for a request that cannot continue, and its headers. */
  renderProblem(description: string): { readonly html: string; readonly headers: Readonly<Record<string, string>> };
  /** Logs an error, and sets the status of the answer. Returns what a program reads. */
  note(error: unknown, response: ServerResponse): object;
  /** Notes the code of an error that the client caused. */
  noteRefusal(code: string, response: ServerResponse): void;
  /** Logs why the site of a client gave no answer, of which people are told only that it cannot be read. */
  noteUnreadable(host: string, reason: string): void;
}

/**
 * The authorization server of oidc-provider. It signs nothing: codes and tokens are random, and only their hashes kept.
 */
export function createAuthorizationServer(parts: ProviderParts): AuthorizationServer {
  const provider = new Provider(parts.urls.issuer, configurationOf(parts));
  provider.use(async (context, next) => {
    await next();
    const cookies = context.res.getHeader("set-cookie");
    if (Array.isArray(cookies)) context.set("set-cookie", cookies.map(withMaxAge));
  });
  const handle = provider.callback();
  provider.on("server_error", (context, error) => {
    const body = parts.note(error, context.res);
    // In place of "oops! something went wrong". Pages are rendered by `renderError`, with the same error.
    if (context.accepts("json", "html") !== "html") context.body = body;
  });
  // Anybody may register a client. So an error redirects nobody to another site; only a person's answer does (RFC 9700,
  // 4.11.2). Programs on the person's own machine are told of the error at once; else they would wait.
  provider.on("authorization.error", ({ oidc }, error) => {
    if (oidc.route === "authorization" && leadsToSite(String(oidc.params?.["redirect_uri"])))
      error.allow_redirect = false;
  });
  provider.on("grant.error", (context, { message }) => {
    if (message === "invalid_grant") context.body = { error: message, error_description: INVALID_GRANT };
  });
  for (const event of REFUSALS) {
    (provider as EventEmitter).on(event, (context: KoaContextWithOIDC, error: errors.OIDCProviderError) => {
      // A program that is told `invalid_client` forgets its tokens, which are still valid when its site answers again.
      const isForNow = event !== "authorization.error" && error.error_description === UNREADABLE;
      const code = isForNow ? "temporarily_unavailable" : error.message;
      if (isForNow) {
        const description = `${unreadable(context.oidc.params?.["client_id"])}. Repeat the request later.`;
        context.body = { error: code, error_description: description };
      }
      parts.noteRefusal(code, context.res);
    });
  }
  (provider as EventEmitter).on("error", (error: unknown, context?: { res: ServerResponse }) => {
    if (context) parts.note(error, context.res);
  });
  return {
    answer: handle,
    pending: (request, response) => findPending(provider, parts, request, response),
  };
}

/**
 * Says how long a cookie lasts instead of when it ends: by a clock of this machine that is behind, it would have ended
 * before it arrives, and nobody could answer.
 */
const withMaxAge = (cookie: string): string =>
  cookie.replace(/; expires=([^;]+)/i, (_part, end: string) => {
    return `; max-age=${Math.max(0, Math.round((Date.parse(end) - Date.now()) / 1_000))}`;
  });

/** The message of their errors is OAuth's code, such as `invalid_client`. An error may be sent by a redirect. */
const REFUSALS = ["authorization.error", "grant.error", "registration_create.error", "revocation.error"];

/** Programs show it to their users. */
const INVALID_GRANT =
  "The code or token is wrong, was used before, has expired, or was revoked. Connect the program again.";

function configurationOf(parts: ProviderParts): Configuration {
  const { urls, scopes, store, documents, renderProblem } = parts;
  return {
    adapter: (kind) => adapterOf(kind, store),
    fetch: (address, options = {}) =>
      fetchDocument(String(address), options).catch((error: Error) => {
        parts.noteUnreadable(new URL(address).host, error.message);
        throw error;
      }),
    jwks: { keys: [unusedKey()] },
    enabledJWA: { idTokenSigningAlgValues: ["ES256"] },
    clientAuthMethods: ["none"],
    responseTypes: ["code"],
    scopes: [...scopes],
    claims: {},
    clientDefaults: {
      // Programs on people's own machines may use any port of their loopback address; http has no other use.
      application_type: "native",
      grant_types: [...GRANT_TYPES],
      response_types: ["code"],
      id_token_signed_response_alg: "ES256",
      token_endpoint_auth_method: "none",
    },
    // Every answer has headers of CORS already, by which oidc-provider adds none: it would allow any origin.
    clientBasedCORS: () => false,
    routes: ENDPOINTS,
    pkce: { required: () => true },
    // A client's document is all that is read of it: oidc-provider reads this list of any size, from any port.
    sectorIdentifierUriValidate: () => false,
    interactions: { policy: askAlways(), url: (_context, { uid }) => urls.pagePath + uid },
    // The answer names the account and the grant; a session has neither.
    findAccount: (_context, accountId) => ({ accountId, claims: async () => ({ sub: accountId }) }),
    loadExistingGrant: ({ oidc }) => oidc.provider.Grant.find(oidc.result?.consent?.grantId ?? ""),
    expiresWithSession: () => false,
    issueRefreshToken: (_context, client) => client.grantTypeAllowed("refresh_token"),
    rotateRefreshToken: true,
    // A client that revokes one token is disconnected: people see one key for it, not its tokens.
    revokeGrantPolicy: () => true,
    renderError: renderErrorBy(renderProblem),
    ttl: LIFETIMES_S,
    features: {
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
      // A document may prefer a signature, as ChatGPT's does, and say that its client can do without.
      rpMetadataChoices: { enabled: true },
      registration: { enabled: true, issueRegistrationAccessToken: false },
      revocation: { enabled: true, allowedPolicy: (_context, client, token) => client.clientId === token.clientId },
      clientIdMetadataDocument: readDocumentsWithin(documents),
      resourceIndicators: allowOnly(urls.resource, [...scopes, OFFLINE_ACCESS]),
    },
  };
}

const LIFETIMES_S = {
  Interaction: requestMinutes * MINUTE_S,
  AuthorizationCode: codeSeconds,
  AccessToken: accessMinutes * MINUTE_S,
  RefreshToken: refreshDays * DAY_S,
  Grant: grantDays * DAY_S,
  IdToken: MINUTE_S,
  Session: MINUTE_S,
};

type Features = NonNullable<Configuration["features"]>;

/** Reads documents about clients only from public hosts, and only so many. */
function readDocumentsWithin(documents: ProviderParts["documents"]): NonNullable<Features["clientIdMetadataDocument"]> {
  return {
    enabled: true,
    ack: "draft-02",
    cacheDuration: { min: documentSeconds, max: DAY_S },
    async allowFetch(context, clientId) {
      if (!isAtPublicHost(clientId)) return false;
      await documents.take(clientId, context.ip).catch((error: unknown) => refuseForNow(error, context));
      return true;
    },
    allowClient(_context, { clientId, redirectUris }) {
      documents.remember(clientId);
      if (redirectUris?.some((uri) => leadsToSite(uri) && new URL(uri).protocol !== "https:"))
        throw new errors.InvalidClientMetadata("redirect_uris of other machines must use https");
      return true;
    },
  };
}

/** Access tokens are for one resource. */
function allowOnly(only: string, scopes: readonly string[]): NonNullable<Features["resourceIndicators"]> {
  return {
    enabled: true,
    defaultResource: () => only,
    useGrantedResource: () => true,
    getResourceServerInfo(_context, resource) {
      if (resource !== only) throw new errors.InvalidTarget(`the only resource is ${only}`);
      return { scope: scopes.join(" "), accessTokenFormat: "opaque" as const };
    },
  };
}

const renderErrorBy =
  (renderProblem: ProviderParts["renderProblem"]): NonNullable<Configuration["renderError"]> =>
  (context, { error_description: description, error }, thrown) => {
    const reason =
      description === UNREADABLE ? unreadable(context.oidc?.params?.["client_id"]) : (description ?? error);
    const { html, headers } = renderProblem(
      error === "server_error"
        ? (failureBehind(thrown)?.message ?? BUG_MESSAGE)
        : `The program's request cannot be answered: ${reason}. Go back to it, and connect it again.`,
    );
    context.set({ ...headers });
    // An error that would have been sent by a redirect has no error status yet.
    if (context.status < 400) context.status = 400;
    context.type = "html";
    context.body = html;
  };

/** What oidc-provider says when it cannot fetch a client's document. */
const UNREADABLE = "client_id metadata document fetch failed";

const unreadable = (clientId: unknown): string =>
  `the program describes itself at ${String(clientId)}, which this server cannot read`;

/** oidc-provider requires a key for ID tokens, which nobody can request here. So each process makes its own. */
const unusedKey = (): JWK => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" });

/** Asks a person each time. They sign in and agree on one page. */
function askAlways(): interactionPolicy.Prompt[] {
  const { Prompt, Check } = interactionPolicy;
  const isUnanswered = new Check("unanswered", "the person has not answered yet", ({ oidc }) => !oidc.result?.login);
  const shownOfClient = ({ oidc }: KoaContextWithOIDC) => ({ clientName: oidc.client?.clientName });
  return [
    new Prompt({ name: "login", requestable: true }, shownOfClient, isUnanswered),
    new Prompt({ name: "consent", requestable: true }),
  ];
}

/** @throws the error, as an OAuth client reads it if it is a limit. */
function refuseForNow(error: unknown, context: KoaContextWithOIDC): never {
  if (!(error instanceof RateLimited)) throw error;
  context.set("Retry-After", String(error.retryAfterSeconds));
  const status = HTTP_STATUS[error.kind];
  throw Object.assign(new errors.TemporarilyUnavailable(error.message), { status, statusCode: status });
}

/** A program that is told `invalid_grant` forgets its tokens, which are valid again when the suspension ends. */
function refuseSuspended(error: unknown): never {
  if (!(error instanceof AccountSuspended)) throw error;
  throw new errors.TemporarilyUnavailable(error.message);
}

/**
 * Whether a client's metadata document may be fetched: from a host name with a dot, at the default port. If the name
 * leads to an internal address, nothing connects to it (`readPublic`).
 */
function isAtPublicHost(clientId: string): boolean {
  const { hostname, port } = new URL(clientId);
  return port === "" && /\.[a-z][a-z\d-]*$/i.test(hostname) && !/\.(?:localhost|local|internal)$/i.test(hostname);
}

/**
 * Whether an address leads to the web, and not to a program on the person's own machine. It is read as browsers read
 * it, which ignore spaces around it and line breaks within. An unreadable address counts, too.
 */
function leadsToSite(uri: string): boolean {
  if (!URL.canParse(uri)) return true;
  const { protocol, hostname } = new URL(uri);
  return protocol === "https:" || (protocol === "http:" && !LOOPBACK.has(hostname));
}

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** The refresh token of each request that uses one, until it is marked as used. */
const refreshing = new WeakMap<object, string>();

function adapterOf(kind: string, store: OAuthStore): Adapter {
  // Nobody stays signed in, so sessions are not stored: a person signs in and agrees for each connection.
  const isKept = kind !== "Session";
  const take = async (takenKind: string, id: string) => {
    if (!(await store.consume(takenKind, id))) throw new errors.InvalidGrant("it was used before");
  };
  return {
    async upsert(id, payload, seconds) {
      if (isKept && !(await store.store(kind, id, { ...payload }, seconds)))
        throw new errors.InvalidGrant("the account was deleted");
      // The access token is the last that a refresh stores.
      const used = kind === "AccessToken" && Provider.ctx && refreshing.get(Provider.ctx);
      if (used) await take("RefreshToken", used);
    },
    find: async (id) => (isKept && (await store.find(kind, id).catch(refuseSuspended))) || undefined,
    // A refresh token is marked only when its new tokens are stored: if that fails, the client can use it again.
    async consume(id) {
      if (kind === "RefreshToken" && Provider.ctx) refreshing.set(Provider.ctx, id);
      else await take(kind, id);
    },
    destroy: (id) => (isKept ? store.remove(kind, id) : Promise.resolve()),
    revokeByGrantId: (grantId) => store.removeOfGrant(kind, grantId),
    findByUid: async () => undefined,
    findByUserCode: async () => undefined,
  };
}

async function findPending(
  provider: Provider,
  { scopes, urls }: ProviderParts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<PendingRequest> {
  const interaction = await provider.interactionDetails(request, response).catch((error: unknown) => {
    throw error instanceof errors.SessionNotFound ? new RequestGone() : error;
  });
  const {
    client_id: clientId,
    redirect_uri: redirectUri,
    scope,
  } = interaction.params as Readonly<Record<string, string>>;
  if (clientId === undefined || redirectUri === undefined) throw new RequestGone();
  // A document is read only for requests to the provider itself: this one was when the request was accepted.
  if (!URL.canParse(clientId) && !(await provider.Client.find(clientId))) throw new RequestGone();
  const { clientName } = interaction.prompt.details as { readonly clientName?: string };
  const asked = new Set((scope ?? "").split(" "));
  const granted = scopes.filter((known) => asked.has(known));
  const finish = (result: InteractionResults) => provider.interactionFinished(request, response, result);
  return {
    id: interaction.uid,
    clientName: plainName(clientName ?? "") || undefined,
    redirectUri,
    scopes: granted,
    email: interaction.result?.["email"] as string | undefined,
    async rememberEmail(email) {
      interaction.result = { email };
      await interaction.persist();
    },
    async agree({ keyId, userId }) {
      const grant = new provider.Grant({ accountId: userId, clientId });
      grant.jti = keyId;
      const isOffline = asked.has(OFFLINE_ACCESS);
      grant.addResourceScope(urls.resource, [...granted, ...(isOffline ? [OFFLINE_ACCESS] : [])].join(" "));
      await grant.save().catch((error: unknown) => {
        // The account was deleted at the same moment.
        throw error instanceof errors.InvalidGrant ? new RequestGone() : error;
      });
      await finish({ login: { accountId: userId, remember: false }, consent: { grantId: keyId } });
    },
    refuse: (description) => finish({ error: "access_denied", error_description: description }),
  };
}
