import { unwrapResolverError } from "@apollo/server/errors";
import type { Response } from "express";
import { GraphQLError, type GraphQLFormattedError } from "graphql";
import { Failure, shorten } from "../../operation/failure.js";
import { LIMITS } from "../../limits.js";
import { BUG_MESSAGE, failureBehind } from "../http.js";
import { HTTP_STATUS } from "../http-status.js";

/** Which codes of this interface replace codes of Apollo. Apollo's codes for syntax and validation are kept. */
const CODES: Readonly<Record<string, string>> = {
  BAD_USER_INPUT: "BAD_REQUEST",
  OPERATION_RESOLUTION_FAILURE: "BAD_REQUEST",
  INTERNAL_SERVER_ERROR: "INTERNAL_ERROR",
};

/** Apollo's codes that are kept, for the documentation. */
export const GRAPHQL_CODES = {
  GRAPHQL_PARSE_FAILED: "400: the document is not valid GraphQL. The message says where.",
  GRAPHQL_VALIDATION_FAILED: "400: the document does not fit the schema. The message says which field or argument.",
  PERSISTED_QUERY_NOT_FOUND: "200: only the hash of a document was sent, and it is unknown. Send the document too.",
};

/** The error that a resolver threw, or the failure that ended the whole request. */
export function causeOf(error: unknown): unknown {
  const { originalError } = error instanceof GraphQLError ? error : {};
  return originalError instanceof Failure ? originalError : unwrapResolverError(error);
}

/** How many locations in a document one error may name. */
const LOCATIONS_MAX = 5;

export function formatError({ locations, ...shown }: GraphQLFormattedError, error: unknown): GraphQLFormattedError {
  const formatted = locations ? { ...shown, locations: locations.slice(0, LOCATIONS_MAX) } : shown;
  const failure = failureBehind(causeOf(error));
  if (failure) return { ...formatted, ...failureAnswer(failure) };
  const code = codeOf(error);
  if (code === "INTERNAL_ERROR") return { ...formatted, message: BUG_MESSAGE, extensions: { code } };
  const message = shorten(plainly(formatted.message), LIMITS.refusal.issueLength);
  const details = formatted.extensions?.["details"] ?? (code === "BAD_REQUEST" ? [{ path: "", message }] : undefined);
  return { ...formatted, message, extensions: { code, ...(details ? { details } : {}) } };
}

const SELECTIONS_MAX = LIMITS.graphql.selections.toLocaleString("en");
const TOKENS_MAX = LIMITS.graphql.tokens.toLocaleString("en");

/** The same for messages of which a part varies. */
const PARTS_PLAINLY: ReadonlyArray<readonly [said: RegExp, plain: string]> = [
  [
    // Begins with the operation's name.
    /recursively requests too many selections\.$/,
    `has more than ${SELECTIONS_MAX} selections, with fragments expanded. Select fewer fields.`,
  ],
  [
    /^Syntax Error: Document contains more that \d+ tokens\. Parsing aborted\.$/,
    `The document has more than ${TOKENS_MAX} tokens. Select fewer fields, and send values as variables.`,
  ],
  [/^(Query depth limit of \d+ exceeded, found \d+\.)$/, "$1 Ask for fewer levels."],
  [/^(Aliases limit of \d+ exceeded, found \d+\.)$/, "$1 Use fewer aliases, or several requests."],
];

const plainly = (message: string): string =>
  PLAINLY.get(message) ?? PARTS_PLAINLY.reduce((text, [said, plain]) => text.replace(said, plain), message);

/** The limit or what to do, in place of messages of the libraries that do not say so. */
const PLAINLY: ReadonlyMap<string, string> = new Map([
  [
    "GET requests only support query operations, not mutation operations",
    "A GET can only query. Send a mutation by POST.",
  ],
  [
    "Maximum introspection depth exceeded",
    "This introspection asks for lists in lists too deeply. Ask for fewer levels.",
  ],
  [
    "Unsupported persisted query version",
    "Persisted queries have version 1. Send `version: 1`, or the document alone.",
  ],
  ["provided sha does not match query", "The hash is not the one of this document. Send its SHA-256, or no hash."],
  [
    "Validation aborted.",
    "The document selects the same fields too often: comparing them takes more than 500,000 steps. Select each field once.",
  ],
]);

/** Keeps as many of the errors as fit into a refusal, at least the first. */
export function limitErrors(errors: readonly GraphQLFormattedError[]): GraphQLFormattedError[] {
  const shown = [...errors];
  while (shown.length > 1 && Buffer.byteLength(JSON.stringify(shown)) > REFUSAL_MAX_BYTES) shown.pop();
  return shown;
}

/** The JSON around the errors needs a few bytes too. */
const REFUSAL_MAX_BYTES = LIMITS.refusal.bytes - 100;

/** The code of an error that is not a failure of an operation. */
export function codeOf(error: unknown): string {
  if (statusOf(error) === 405) return "METHOD_NOT_ALLOWED";
  if (isBadRequest(error)) return "BAD_REQUEST";
  const code = error instanceof GraphQLError ? error.extensions["code"] : undefined;
  return typeof code === "string" ? (CODES[code] ?? code) : "INTERNAL_ERROR";
}

/** Apollo gives errors of persisted queries no code, only a status. */
const isBadRequest = (error: unknown): boolean =>
  error instanceof GraphQLError && error.extensions["code"] === undefined && statusOf(error) === 400;

/** The HTTP status that Apollo gives an error of its own. */
const statusOf = (error: unknown): number | undefined =>
  error instanceof GraphQLError ? (error.extensions["http"] as { status?: number } | undefined)?.status : undefined;

/** With the wait in seconds, too: most clients give the code that called them an error, but no headers. */
const failureAnswer = ({ kind, message, reason, details, retryAfterSeconds }: Failure) => ({
  message,
  extensions: {
    code: kind.toUpperCase(),
    ...(reason === undefined ? {} : { reason }),
    ...(details === undefined ? {} : { details }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  },
});

/** A failure that ends the whole request, with its HTTP status. */
export function httpError(failure: Failure): GraphQLError {
  const headers = new Map(failure.kind === "unauthorized" ? [["www-authenticate", "Bearer"]] : []);
  if (failure.retryAfterSeconds !== undefined) headers.set("retry-after", String(failure.retryAfterSeconds));
  const { message, extensions } = failureAnswer(failure);
  return new GraphQLError(message, {
    originalError: failure,
    extensions: { ...extensions, http: { status: HTTP_STATUS[failure.kind], headers } },
  });
}

/** A failure before GraphQL runs, in GraphQL's format and with the media type that the client accepts. */
export function graphqlError(failure: Failure | undefined, response: Response): object {
  response.type(response.req.accepts("application/json", "application/graphql-response+json") || "application/json");
  return {
    errors: [failure ? failureAnswer(failure) : { message: BUG_MESSAGE, extensions: { code: "INTERNAL_ERROR" } }],
  };
}
