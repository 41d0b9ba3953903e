import { isUtf8 } from "node:buffer";
import type { ErrorRequestHandler, Request, Response } from "express";
import { Failure, type FailureKind, InvalidInput, Unavailable } from "../operation/failure.js";
import { whyUnavailable } from "../platform/database/database-errors.js";
import { LIMITS } from "../limits.js";
import { NOT_CACHED } from "./caching.js";
import { assertJsonFits } from "./json-bounds.js";
import { HTTP_STATUS } from "./http-status.js";
import { scopeOf } from "./request-scope.js";
import { encode, stringify } from "./stringify.js";

/** What each kind means, for the documentation. */
export const KIND_DESCRIPTIONS: Readonly<Record<FailureKind, string>> = {
  bad_request: "The request is not valid; `details` names each field that is wrong.",
  unauthorized: "The API key is missing, malformed, unknown, expired, revoked or of a deleted account.",
  forbidden: "The API key or the caller's role does not allow it, or the account is suspended (`account_suspended`).",
  not_found: "It does not exist, or the caller cannot see it.",
  method_not_allowed: "The path does not take this method.",
  conflict: "The request conflicts with the present state; `reason` says how.",
  payload_too_large: `The body is larger than ${LIMITS.http.bodyBytes / 1_048_576} MiB, or the URL or the headers are too large or too many.`,
  unsupported_media_type: "The body is not JSON in UTF-8.",
  rate_limited: "The caller has sent too many requests, per minute or at the same time; nothing was done.",
  internal_error: "Something went wrong on our side.",
  payment_provider_error:
    "The payment provider failed or refused; `message` says whether a change may still be made, and `Retry-After` when to " +
    "try again, if that helps.",
  unavailable: "The service is busy or stopping, or cannot do this now; `Retry-After` says when to try again.",
};

/** The failure that caused an error; undefined for a bug, whose details no client may see. */
export function failureBehind(error: unknown): Failure | undefined {
  if (error instanceof Failure) return error;
  const refusal = refusedByHttp(error);
  if (refusal) return refusal;
  const why = whyUnavailable(error);
  return why && new Unavailable(why);
}

export class UnsupportedMediaType extends Failure {
  readonly kind = "unsupported_media_type";

  constructor() {
    super("Send the body as JSON in UTF-8, with the header `Content-Type: application/json`.");
  }
}

export class UnreadableRequest extends Failure {
  readonly kind = "bad_request";
}

/** Express throws errors with a status: 400 for a URL that cannot be decoded, others for files. */
export function refusedByHttp(error: unknown): Failure | undefined {
  const status = (error as { status?: unknown } | null)?.status;
  if (typeof status !== "number" || status < 400 || status >= 500) return undefined;
  return new UnreadableRequest(
    status === 400
      ? "The URL cannot be decoded. Encode it as UTF-8, and write a percent sign as `%25`."
      : "The file does not meet the conditions. Send the request without `If-Match` and `If-Unmodified-Since`.",
  );
}

const CONTENT_HEADERS = ["Content-Type", "ETag", "Last-Modified"];

/** Answers with the failure in the format of the door. Details of a bug are not shown. */
export function errorAnswer(form: (failure: Failure | undefined, response: Response) => object): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    const failure = noteFailure(error, response);
    if (response.headersSent) return next(error);
    // These headers describe the content that the error replaces. With them the error might be cached for a year.
    for (const name of CONTENT_HEADERS) response.removeHeader(name);
    response.set("Cache-Control", NOT_CACHED);
    response.json(form(failure, response));
  };
}

/** Logs the error, and sets the status and the headers of the answer. Returns undefined for a bug. */
export function noteFailure(error: unknown, response: Response): Failure | undefined {
  const scope = scopeOf(response);
  const failure = failureBehind(error);
  scope.note(failure, error);
  if (!failure) scope.noteBug(error);
  if (response.headersSent) return failure;
  response.status(HTTP_STATUS[failure?.kind ?? "internal_error"]);
  if (failure?.kind === "unauthorized") response.set("WWW-Authenticate", scope.challenge);
  if (failure?.retryAfterSeconds !== undefined) response.set("Retry-After", String(failure.retryAfterSeconds));
  return failure;
}

/** HEAD is answered as GET; Node leaves out the body. */
export const isRead = ({ method }: Pick<Request, "method">): boolean => method === "GET" || method === "HEAD";

/**
 * Whether the client prefers an HTML page, as browsers do. Clients that accept JSON equally, such as curl, are treated
 * as programs.
 */
export const prefersPage = (request: Request): boolean =>
  request.accepts("application/json", "application/graphql-response+json", "text/html") === "text/html";

/** The only message that clients see for a bug. */
export const BUG_MESSAGE = "Something went wrong on our side.";

/** Whether the headers declare the body as JSON in UTF-8. */
export function claimsJson(request: Request): boolean {
  // Nearly all clients send exactly this; parsing the header takes longer than reading their body.
  if (request.headers["content-type"] === "application/json") return true;
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(request.get("content-type") ?? "")?.[1] ?? "utf-8";
  return request.is("application/json") !== false && /^utf-?8$/i.test(charset);
}

/**
 * Parses the body as JSON; undefined if there is none.
 * @throws InvalidInput when it is not valid UTF-8, not JSON, or exceeds the limits for JSON.
 */
export function jsonBody(request: Pick<Request, "body">): unknown {
  const bytes: unknown = request.body;
  if (!Buffer.isBuffer(bytes) || bytes.length === 0) return undefined;
  try {
    // Faster than a TextDecoder, which takes longer to create than to use.
    if (!isUtf8(bytes)) throw new SyntaxError("The body is not UTF-8.");
    assertJsonFits(bytes);
    return JSON.parse(bytes.toString().replace(/^\uFEFF/, ""));
  } catch (error) {
    if (error instanceof InvalidInput) throw error;
    throw InvalidInput.at("", "The body must be JSON in UTF-8.");
  }
}

/** Faster than `response.json`, which also handles other kinds of answers. */
export async function answerJson(response: Response, status: number, plain: object): Promise<void> {
  const { pause } = scopeOf(response);
  const text = encode(await stringify(plain, pause), pause);
  const body = typeof text === "string" ? text : await text;
  response.statusCode = status;
  response.setHeader("Content-Type", "application/json; charset=utf-8");
  response.setHeader("Content-Length", Buffer.byteLength(body));
  response.end(body);
}
