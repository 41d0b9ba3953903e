import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import type { ErrorRequestHandler, Handler, Request, Response } from "express";
import type { Caller } from "../operation/context.js";
import { Failure, type FailureKind, InvalidInput, Unavailable } from "../operation/failure.js";
import { whyUnavailable } from "../platform/database-errors.js";
import type { ReadAfter } from "../operation/older-reads.js";
import { Patience } from "../operation/patience.js";
import { type Logger, firstFew } from "../platform/logger.js";
import type { Meter, RequestFacts as MeteredRequest } from "../platform/meter.js";
import { readPosition, writePosition } from "../platform/replica.js";
import type { RequestSpan, Tracer } from "../platform/tracer.js";
import { LIMITS } from "../limits.js";
import type { HttpLimits } from "./http-limits.js";
import { assertJsonFits } from "./json-bounds.js";
import { stringify } from "./stringify.js";
import { noteUnavailable } from "./unavailable.js";
import type { Work } from "./work.js";

/** The HTTP status of each kind of failure, at every door. */
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

/** What each kind means, for the documentation. */
export const KIND_DESCRIPTIONS: Readonly<Record<FailureKind, string>> = {
  bad_request: "The request is not valid; `details` names each field that is wrong.",
  unauthorized: "The API key is missing, malformed, unknown, expired or revoked.",
  forbidden: "The API key or the caller's role does not allow it, or the account is suspended (`account_suspended`).",
  not_found: "It does not exist, or the caller cannot see it.",
  method_not_allowed: "The path does not take this method.",
  conflict: "The request conflicts with the present state; `reason` says how.",
  payload_too_large: `The body is larger than ${LIMITS.http.bodyBytes / 1_048_576} MiB, or the URL or the headers are too large or too many.`,
  unsupported_media_type: "The body is not JSON in UTF-8.",
  rate_limited: "The caller has sent too many requests, per minute or at the same time; nothing was done.",
  internal_error: "Something went wrong on our side.",
  payment_provider_error: "The payment provider failed; nothing was changed.",
  unavailable: "The service is busy or stopping, or cannot do this now; `Retry-After` says when to try again.",
};

/** Shared by all requests of a server. */
interface ScopeParts {
  readonly log: Logger;
  readonly meter?: Meter | undefined;
  readonly tracer?: Tracer | undefined;
  readonly work: Work;
  /** How long a request may wait in total. */
  readonly waitMs: number;
}

/**
 * The state of one HTTP request, from its first byte to its log line. It is a class because V8 would give each object
 * literal with a getter its own hidden class, which is slow.
 */
export class RequestScope {
  readonly id: string;
  readonly clientAddress: string;
  readonly idempotencyKey: string | undefined;
  /** The position that the client has seen; undefined unless it accepts answers that are a little old. */
  readonly readAfter: ReadAfter | undefined;
  /** The work of the whole process, of which this request is a part. */
  readonly work: Work;
  readonly patience: Patience;
  readonly meter?: Meter | undefined;
  /** Undefined unless requests are traced. */
  readonly span: RequestSpan | undefined;
  caller?: Caller;
  /** Reads the caller again: the request's own changes, or others, may have changed it, such as its team. */
  readCaller?: (patience?: Patience) => Promise<Caller>;
  /** The `WWW-Authenticate` header of a 401: how to get a valid key. */
  challenge = "Bearer";
  /** Whether the caller's budget was charged, and whether that of its address was. */
  charged = false;
  keylessCharged = false;
  /** Where it came in, if its path does not say so: a route of REST sets it before it refuses anything. */
  door: MeteredRequest["door"] = "page";
  /** The operations it ran, and the codes of their failures. */
  readonly operations: string[] = [];
  readonly failures: string[] = [];
  readonly #response: Response;
  readonly #log: Logger;

  constructor(request: Request, response: Response, { log, meter, tracer, work, waitMs }: ScopeParts) {
    const given = request.get("x-request-id") ?? "";
    this.id = /^[\x21-\x7e]{1,128}$/.test(given) ? given : randomUUID();
    this.clientAddress = request.ip ?? "";
    this.idempotencyKey = request.get("idempotency-key");
    const seen = request.get(READ_AFTER);
    this.readAfter = seen === undefined ? undefined : this.#readAfter(seen);
    this.#response = response;
    this.work = work;
    this.patience = new Patience(waitMs);
    this.#log = log;
    this.meter = meter;
    this.span = isHealthCheck(request) ? undefined : tracer?.request(request.headers);
  }

  #readAfter(seen: string): ReadAfter | undefined {
    const position = readPosition(seen);
    const tell = (now: bigint) => this.setHeader(READ_AFTER, writePosition(now));
    return position === undefined ? undefined : { position, tell };
  }

  /** Created on use: most requests log only their one line. */
  get log(): Logger {
    return this.#log.child({ request_id: this.id, ...this.span?.ids });
  }

  /** Adds a failure to the request's log line. Causes of 503 are also logged in lines of their own. */
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

/** By this header a client accepts answers that are a little old, but contain all that it has seen. */
const READ_AFTER = "X-Read-After";

export const isHealthCheck = ({ url }: Pick<Request, "url">): boolean => /^\/(?:healthz|readyz)(?:$|\?)/.test(url);

export const scopeOf = (response: Response): RequestScope => response.locals["scope"] as RequestScope;

/** Gives each request an id, and one log line when it is answered. No key, body or path with a token is logged. */
export function requestScope(parts: ScopeParts): Handler {
  return (request, response, next) => {
    const scope = new RequestScope(request, response, parts);
    const startedAt = performance.now();
    response.locals["scope"] = scope;
    response.set("X-Request-Id", scope.id);
    response.set("X-Content-Type-Options", "nosniff");
    response.once("close", () => {
      const status = response.writableFinished ? response.statusCode : "aborted";
      const milliseconds = performance.now() - startedAt;
      const { operations, span } = scope;
      const door = doorOf(request, scope);
      const outcome = status === "aborted" ? status : (scope.failures[0] ?? "ok");
      parts.meter?.request({ door, operations, outcome, seconds: milliseconds / 1_000 });
      if (span) endSpan(span, { request, response, scope, door, outcome });
      parts.log.info({
        request_id: scope.id,
        ...span?.ids,
        user_id: scope.caller?.userId,
        method: request.method,
        operations: firstFew(scope.operations),
        status,
        ...(scope.failures.length > 0 ? { failures: firstFew(scope.failures) } : {}),
        duration_ms: Math.round(milliseconds * 100) / 100,
      });
    });
    if (scope.span) scope.span.bind(next)();
    else next();
  };
}

interface Ended {
  readonly request: Request;
  readonly response: Response;
  readonly scope: RequestScope;
  readonly door: string;
  readonly outcome: string;
}

function endSpan(span: RequestSpan, { request, response, scope, door, outcome }: Ended): void {
  const { caller, operations, id } = scope;
  span.end({
    name: `${request.method} ${door}`,
    isFault: response.statusCode >= 500,
    facts: {
      "http.request.method": request.method,
      "http.response.status_code": response.statusCode,
      "memory_graph.door": door,
      "memory_graph.operations": firstFew(operations),
      "memory_graph.outcome": outcome,
      "memory_graph.request_id": id,
      ...(caller && { "user.id": caller.userId }),
    },
  });
}

function doorOf({ originalUrl }: Request, { door }: RequestScope): MeteredRequest["door"] {
  if (originalUrl.startsWith("/graphql")) return "graphql";
  if (originalUrl.startsWith("/mcp")) return "mcp";
  return originalUrl.startsWith("/v1/") ? "rest" : door;
}

/** @throws InvalidInput when the Idempotency-Key is not 1 to 255 visible ASCII characters. */
export const checkIdempotencyKey: Handler = (_request, response, next) => {
  const { idempotencyKey } = scopeOf(response);
  if (idempotencyKey !== undefined && !/^[\x21-\x7e]{1,255}$/.test(idempotencyKey)) {
    throw new InvalidInput([{ path: "Idempotency-Key", message: "must have 1 to 255 visible ASCII characters" }]);
  }
  next();
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

const CONTENT_HEADERS = ["Cache-Control", "Content-Type", "ETag", "Last-Modified"];

/** Answers with the failure in the format of the door. Details of a bug are not shown. */
export function errorAnswer(form: (failure: Failure | undefined, response: Response) => object): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    const failure = noteFailure(error, response);
    if (response.headersSent) return next(error);
    // These headers describe the content that the error replaces. With them the error might be cached for a year.
    for (const name of CONTENT_HEADERS) response.removeHeader(name);
    response.json(form(failure, response));
  };
}

/** Logs the error, and sets the status and the headers of the answer. Returns undefined for a bug. */
export function noteFailure(error: unknown, response: Response): Failure | undefined {
  const scope = scopeOf(response);
  const failure = failureBehind(error);
  scope.note(failure, error);
  if (!failure) scope.log.error({ err: error });
  if (response.headersSent) return failure;
  response.status(HTTP_STATUS[failure?.kind ?? "internal_error"]);
  if (failure?.kind === "unauthorized") response.set("WWW-Authenticate", scope.challenge);
  if (failure?.retryAfterSeconds !== undefined) response.set("Retry-After", String(failure.retryAfterSeconds));
  return failure;
}

/** Every refusal of a request's head, for the documentation. */
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
 * @throws HeadTooLarge when the URL, the number of headers or the whole head exceeds its limit.
 * @throws UnreadableRequest when there is not exactly one valid `Host`, when a header that may be there only once is
 * given twice, or when the URL has a fragment.
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
    // With several hosts, a proxy in front may have routed by a different one.
    if (!HOST.test(headers.host ?? "") || rawHeaders.filter(isNameOf("host")).length > 1)
      throw new UnreadableRequest("Send one header `Host`, with a name or an address and nothing else.");
    // Node would take the first and drop the others, and a proxy in front may have checked a different one.
    for (const name of ["authorization", "content-type"]) {
      if (rawHeaders.filter(isNameOf(name)).length > 1)
        throw new UnreadableRequest(`The header ${name} is given twice. Send it once.`);
    }
    // Express would silently drop everything after it.
    if (url.includes("#")) throw new UnreadableRequest("The URL contains a `#`. Write it as `%23`.");
    next();
  };
}

const HOST = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/i;

/** Names and values of headers alternate. */
const isNameOf =
  (name: string) =>
  (part: string, index: number): boolean =>
    index % 2 === 0 && part.length === name.length && part.toLowerCase() === name;

const tooLongUrl = (bytes: number): string =>
  `The URL may have at most ${bytes} bytes. Send long texts in the body of a POST.`;
const tooLongMediaTypes = (name: string, bytes: number): string =>
  `The header ${name} may have at most ${bytes} bytes. Name only the media types that you need.`;
const tooManyHeaders = (count: number): string => `A request may have at most ${count} headers. Send fewer.`;
export const tooLargeHead = (bytes: number): string =>
  `The request line and the headers together may have at most ${bytes} bytes. Send fewer or shorter headers.`;

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
    throw new InvalidInput([{ path: "", message: "The body must be JSON in UTF-8." }]);
  }
}

/** Faster than `response.json`, which also handles other kinds of answers. */
export async function answerJson(response: Response, status: number, plain: object): Promise<void> {
  const text = await stringify(plain);
  response.statusCode = status;
  response.setHeader("Content-Type", "application/json; charset=utf-8");
  response.setHeader("Content-Length", Buffer.byteLength(text));
  response.end(text);
}
