import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import type { ErrorRequestHandler, Handler, Request, Response } from "express";
import type { Caller } from "../operation/context.js";
import { Failure, type FailureKind, InvalidInput, Unavailable } from "../operation/failure.js";
import { whyUnavailable } from "../platform/database-errors.js";
import { Patience } from "../operation/patience.js";
import { type Logger, firstFew } from "../platform/logger.js";
import type { HttpLimits } from "./http-limits.js";
import { assertJsonFits } from "./json-bounds.js";
import { noteUnavailable } from "./unavailable.js";
import type { Work } from "./work.js";

/** The status that says over HTTP what a failure's kind says, at every door. */
export const HTTP_STATUS: Readonly<Record<FailureKind, number>> = {
  bad_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  internal_error: 500,
  payment_provider_error: 502,
  unavailable: 503,
};

/** What a kind says, for documentation. */
export const KIND_DESCRIPTIONS: Readonly<Record<FailureKind, string>> = {
  bad_request: "The request is not as it must be; `details` names each field that is wrong.",
  unauthorized: "The API key is missing, malformed, unknown, expired or revoked.",
  forbidden: "The API key or the caller's role does not allow it, or the account is suspended (`account_suspended`).",
  not_found: "There is no such thing, or none that the caller can see.",
  method_not_allowed: "The path does not take this method.",
  conflict: "What is there stands in the way; `reason` says how.",
  payload_too_large: "The body is larger than 1 MiB, or the URL, the headers or their number larger than is served.",
  unsupported_media_type: "The body is not JSON in UTF-8.",
  rate_limited: "The caller has sent too many requests, in a minute or at once; nothing was done.",
  internal_error: "Something went wrong on our side.",
  payment_provider_error: "The payment provider failed; nothing was changed.",
  unavailable: "The service is busy or stopping, or cannot do this now; `Retry-After` says when to try again.",
};

/** What all requests of a server share. */
interface ScopeParts {
  readonly log: Logger;
  readonly work: Work;
  /** How long a request waits in all. */
  readonly waitMs: number;
}

/**
 * What one HTTP request is, from its first byte to its log line. A class: a literal with an accessor in it would get a
 * hidden class of its own each time.
 */
export class RequestScope {
  readonly id: string;
  readonly clientAddress: string;
  /** The Idempotency-Key it came with. */
  readonly idempotencyKey: string | undefined;
  /** What the request's work is a part of. */
  readonly work: Work;
  readonly patience: Patience;
  caller?: Caller;
  /** Finds out anew who the key stands for: what a request has changed may have changed that. */
  readCaller?: () => Promise<Caller>;
  /** Whether the caller's budget has paid for it, and whether that of its address has. */
  charged = false;
  keylessCharged = false;
  /** The operations it ran, and the codes of their failures. */
  readonly operations: string[] = [];
  readonly failures: string[] = [];
  readonly #response: Response;
  readonly #log: Logger;

  constructor(request: Request, response: Response, { log, work, waitMs }: ScopeParts) {
    const given = request.get("x-request-id") ?? "";
    this.id = /^[\x21-\x7e]{1,128}$/.test(given) ? given : randomUUID();
    this.clientAddress = request.ip ?? "";
    this.idempotencyKey = request.get("idempotency-key");
    this.#response = response;
    this.work = work;
    this.patience = new Patience(waitMs);
    this.#log = log;
  }

  /** Made when it is used: hardly any request logs more than its one line. */
  get log(): Logger {
    return this.#log.child({ request_id: this.id });
  }

  /** Keeps a failure for the request's line in the log; bugs and causes of 503 get lines of their own. */
  note(failure: Failure | undefined, error: unknown, code: string = failure?.kind ?? "internal_error"): void {
    this.failures.push(failure?.reason ?? code);
    if (failure instanceof Unavailable) this.noteUnavailable(failure.why, error);
  }

  noteUnavailable(why: string, error?: unknown): void {
    noteUnavailable(this.#log, why, error);
  }

  setHeader(name: string, value: string): void {
    if (!this.#response.headersSent) this.#response.set(name, value);
  }
}

export const scopeOf = (response: Response): RequestScope => response.locals["scope"] as RequestScope;

/** Gives each request an id and, when it is answered, one line in the log: never a key, a body or a path with a token. */
export function requestScope(parts: ScopeParts): Handler {
  return (request, response, next) => {
    const scope = new RequestScope(request, response, parts);
    const startedAt = performance.now();
    response.locals["scope"] = scope;
    response.set("X-Request-Id", scope.id);
    response.set("X-Content-Type-Options", "nosniff");
    response.once("close", () => {
      parts.log.info({
        request_id: scope.id,
        user_id: scope.caller?.userId,
        method: request.method,
        operations: firstFew(scope.operations),
        status: response.writableFinished ? response.statusCode : "aborted",
        ...(scope.failures.length > 0 ? { failures: firstFew(scope.failures) } : {}),
        duration_ms: Math.round((performance.now() - startedAt) * 100) / 100,
      });
    });
    next();
  };
}

/** @throws InvalidInput when the Idempotency-Key is not 1 to 255 visible ASCII characters. */
export const checkIdempotencyKey: Handler = (_request, response, next) => {
  const { idempotencyKey } = scopeOf(response);
  if (idempotencyKey !== undefined && !/^[\x21-\x7e]{1,255}$/.test(idempotencyKey)) {
    throw new InvalidInput([{ path: "Idempotency-Key", message: "must have 1 to 255 visible ASCII characters" }]);
  }
  next();
};

/** The failure behind an error; undefined for a bug, which no caller is told about. */
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

/** Express throws errors with the status to answer with: 400 for an address that cannot be decoded, others for files. */
export function refusedByHttp(error: unknown): Failure | undefined {
  const status = (error as { status?: unknown } | null)?.status;
  if (typeof status !== "number" || status < 400 || status >= 500) return undefined;
  return new UnreadableRequest(
    status === 400
      ? "The address cannot be decoded. Write it in UTF-8, and a per cent sign as `%25`."
      : "This file cannot be sent so. Ask for it without the conditions `If-Match` and `If-Unmodified-Since`.",
  );
}

const OF_WHAT_WAS_ASKED_FOR = ["Cache-Control", "Content-Type", "ETag", "Last-Modified"];

/** Answers with the failure in a door's own form, and says nothing about a bug. */
export function errorAnswer(form: (failure: Failure | undefined, response: Response) => object): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    const failure = noteFailure(error, response);
    if (response.headersSent) return next(error);
    // Set by whoever was about to answer with something else: an error must not be kept for a year in its place.
    for (const name of OF_WHAT_WAS_ASKED_FOR) response.removeHeader(name);
    response.json(form(failure, response));
  };
}

/** Logs what went wrong, and sets the status and the headers that say it; undefined for a bug. */
export function noteFailure(error: unknown, response: Response): Failure | undefined {
  const scope = scopeOf(response);
  const failure = failureBehind(error);
  scope.note(failure, error);
  if (!failure) scope.log.error({ err: error });
  if (response.headersSent) return failure;
  response.status(HTTP_STATUS[failure?.kind ?? "internal_error"]);
  if (failure?.kind === "unauthorized") response.set("WWW-Authenticate", "Bearer");
  if (failure?.retryAfterSeconds !== undefined) response.set("Retry-After", String(failure.retryAfterSeconds));
  return failure;
}

/** Every refusal of a head: for documentation. */
export const headRefusals = ({ urlBytes, mediaTypesBytes, headers, headBytes }: HttpLimits): Failure[] => [
  new HeadTooLarge("url_too_long", tooLongUrl(urlBytes)),
  new HeadTooLarge("media_types_too_long", tooLongMediaTypes("accept", mediaTypesBytes)),
  new HeadTooLarge("too_many_headers", tooManyHeaders(headers)),
  new HeadTooLarge("head_too_large", tooLargeHead(headBytes)),
];

export class HeadTooLarge extends Failure {
  readonly kind = "payload_too_large";

  constructor(
    override readonly reason: string,
    message: string,
  ) {
    super(message);
  }
}

/**
 * @throws HeadTooLarge when the URL, the number of headers or all of the head is larger than may be.
 * @throws UnreadableRequest when the host is not said once and clearly, or the URL has a fragment.
 */
export function assertHeadFits(limits: HttpLimits): Handler {
  return ({ method, url, httpVersion, rawHeaders, headers }, _response, next) => {
    if (url.length > limits.urlBytes) throw new HeadTooLarge("url_too_long", tooLongUrl(limits.urlBytes));
    for (const name of ["accept", "content-type"] as const) {
      if ((headers[name]?.length ?? 0) > limits.mediaTypesBytes)
        throw new HeadTooLarge("media_types_too_long", tooLongMediaTypes(name, limits.mediaTypesBytes));
    }
    if (rawHeaders.length > 2 * limits.headers)
      throw new HeadTooLarge("too_many_headers", tooManyHeaders(limits.headers));
    // The request line ends in a space, the protocol and a line break, each header in a line break.
    let bytes = method.length + url.length + " ".length * 2 + "HTTP/1.1\r\n\r\n".length;
    for (const part of rawHeaders) bytes += part.length + 2;
    if (bytes > limits.headBytes) throw new HeadTooLarge("head_too_large", tooLargeHead(limits.headBytes));
    if (headers.host === undefined && httpVersion === "1.1") throw new UnreadableRequest("Send the header `Host`.");
    // Proxies in front may have decided by another one.
    if (!HOST.test(headers.host ?? "") || rawHeaders.filter(isHostName).length > 1)
      throw new UnreadableRequest("Send one header `Host`, with a name or an address and nothing else.");
    // What follows it would be left out silently.
    if (url.includes("#")) throw new UnreadableRequest("Write a `#` in the address as `%23`.");
    next();
  };
}

const HOST = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/i;

/** Names and values of headers alternate. */
const isHostName = (part: string, index: number): boolean =>
  index % 2 === 0 && part.length === "host".length && part.toLowerCase() === "host";

const tooLongUrl = (bytes: number): string => `The URL may have ${bytes} bytes. Send long texts in the body of a POST.`;
const tooLongMediaTypes = (name: string, bytes: number): string =>
  `The header ${name} may have ${bytes} bytes. Name only the media types that you need.`;
const tooManyHeaders = (count: number): string => `A request may have ${count} headers. Send fewer.`;
export const tooLargeHead = (bytes: number): string =>
  `The request line and the headers together may have ${bytes} bytes. Send fewer or shorter headers.`;

/**
 * Whether a page is wanted where programs find something else. Whoever would take JSON as readily, such as curl, is a
 * program.
 */
export const prefersPage = (request: Request): boolean =>
  request.accepts("application/json", "application/graphql-response+json", "text/html") === "text/html";

/** All that a caller is told about a bug. */
export const BUG_MESSAGE = "Something went wrong on our side.";

/** Whether the body claims to be JSON in UTF-8. */
export function claimsJson(request: Request): boolean {
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(request.get("content-type") ?? "")?.[1] ?? "utf-8";
  return request.is("application/json") !== false && /^utf-?8$/i.test(charset);
}

/**
 * The body as JSON; undefined where there is none.
 * @throws InvalidInput when it is not valid UTF-8, not JSON, or too large a thing.
 */
export function jsonBody(request: Pick<Request, "body">): unknown {
  const bytes: unknown = request.body;
  if (!Buffer.isBuffer(bytes) || bytes.length === 0) return undefined;
  try {
    // A decoder takes longer to make than to use.
    if (!isUtf8(bytes)) throw new SyntaxError("The body is not UTF-8.");
    assertJsonFits(bytes);
    return JSON.parse(bytes.toString().replace(/^\uFEFF/, ""));
  } catch (error) {
    if (error instanceof InvalidInput) throw error;
    throw new InvalidInput([{ path: "", message: "The body must be JSON in UTF-8." }]);
  }
}
