import type { Handler, Request } from "express";
import { LIMITS } from "../../limits.js";
import type { Scope } from "../../operation/permission.js";
import { scopeOf } from "../request-scope.js";

/** The URLs of OAuth for clients, and its paths on this server: they differ if a proxy serves it below a path. */
export interface OAuthUrls {
  readonly issuer: string;
  /** The door that the tokens are for. */
  readonly resource: string;
  /** The path of the page that shows a request, whose id follows. */
  readonly pagePath: string;
  /** Where the door is described: RFC 9728. */
  readonly resourceMetadata: string;
  readonly resourceMetadataPath: string;
  /** Where the authorization server is described: RFC 8414. */
  readonly issuerMetadataPath: string;
}

/** The path of the authorization server on this server. */
export const BASE = "/oauth";

/** The paths below the issuer, for the authorization server and for its metadata. */
export const ENDPOINTS = {
  authorization: "/authorize",
  token: "/token",
  revocation: "/revoke",
  registration: "/register",
} as const;

/**
 * What clients request to be given refresh tokens (OpenID Connect Core, 11). Every client gets them; but some use them
 * only if this is offered and granted, and else their users sign in again for each access token.
 */
export const OFFLINE_ACCESS = "offline_access";

/** How a client gets tokens: a person agrees, or it has a refresh token. */
export const GRANT_TYPES: readonly string[] = ["authorization_code", "refresh_token"];

export function oauthUrls(publicUrl: string): OAuthUrls {
  const issuer = publicUrl + BASE;
  const resource = `${publicUrl}/mcp/oauth`;
  const resourceMetadataPath = `/.well-known/oauth-protected-resource${new URL(resource).pathname}`;
  return {
    issuer,
    resource,
    pagePath: `${new URL(issuer).pathname}/connect/`,
    resourceMetadata: new URL(resource).origin + resourceMetadataPath,
    resourceMetadataPath,
    issuerMetadataPath: `/.well-known/oauth-authorization-server${new URL(issuer).pathname}`,
  };
}

/** @param query what follows the door's path in the address that the client uses: RFC 9728, 3.3 */
export const resourceMetadata = ({ issuer, resource }: OAuthUrls, scopes: readonly Scope[], query: string): object => ({
  resource: resource + query,
  resource_name: "Memory Graph",
  authorization_servers: [issuer],
  scopes_supported: scopes,
  bearer_methods_supported: ["header"],
});

export const issuerMetadata = ({ issuer }: OAuthUrls, scopes: readonly Scope[]): object => ({
  issuer,
  ...Object.fromEntries(Object.entries(ENDPOINTS).map(([name, path]) => [`${name}_endpoint`, issuer + path])),
  scopes_supported: [...scopes, OFFLINE_ACCESS],
  response_types_supported: ["code"],
  response_modes_supported: ["query"],
  grant_types_supported: GRANT_TYPES,
  token_endpoint_auth_methods_supported: ["none"],
  revocation_endpoint_auth_methods_supported: ["none"],
  code_challenge_methods_supported: ["S256"],
  authorization_response_iss_parameter_supported: true,
  client_id_metadata_document_supported: true,
});

/**
 * The query of a request, encoded, to be repeated: clients such as VS Code and Codex refuse metadata about another
 * address than they use, as in `/mcp/oauth?tools=search,fetch`. Of a longer one nothing is repeated.
 */
export function queryOf({ originalUrl }: Request): string {
  const { search } = new URL(originalUrl.replace(/^[^?]*/, ""), "http://localhost");
  return search.length <= LIMITS.oauth.queryLength ? search : "";
}

/** The door, for a resource that has the query of its address, too: its tokens are for the door whatever the query. */
export const withoutQuery = (resource: string): string =>
  resource.includes("#") ? resource : (resource.split("?", 1)[0] ?? "");

/** Tells a client without a valid token where to get one: RFC 9728, 5.1, and RFC 6750, 3. */
export const challenge =
  ({ resourceMetadata: described }: OAuthUrls): Handler =>
  (request, response, next) => {
    const error = request.headers.authorization === undefined ? "" : ', error="invalid_token"';
    scopeOf(response).challenge = `Bearer resource_metadata="${described}${queryOf(request)}"${error}`;
    next();
  };
