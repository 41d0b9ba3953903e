import { randomUUID } from "node:crypto";
import type { Handler, Request, Response } from "express";
import { networkOf } from "../operation/network.js";
import type { Caller } from "../operation/context.js";
import { type Failure, InvalidInput, Unavailable } from "../operation/failure.js";
import type { ReadAfter } from "../operation/older-reads.js";
import { Patience } from "../operation/patience.js";
import { Waits } from "../operation/waits.js";
import { type Logger, firstFew } from "../platform/telemetry/logger.js";
import type { Meter, RequestFacts as MeteredRequest } from "../platform/telemetry/meter.js";
import { UNAVAILABLE, isWhyUnavailable } from "../platform/database/database-errors.js";
import { readPosition, writePosition } from "../platform/database/replica.js";
import type { RequestSpan, Tracer } from "../platform/telemetry/tracer.js";
import { warnSeldom } from "../platform/telemetry/warn-seldom.js";
import { arrivalOf } from "./arrival.js";
import { NOT_CACHED } from "./caching.js";
import { ProxyWarnings, clientAddressOf } from "./client-address.js";
import { HTTP_STATUS } from "./http-status.js";
import type { Work } from "./work.js";

/** Shared by all requests of a server. */
interface ScopeParts {
  readonly log: Logger;
  readonly meter?: Meter | undefined;
  readonly tracer?: Tracer | undefined;
  readonly work: Work;
  /** How long a request may wait in total. */
  readonly waitMs: number;
  readonly proxies: ProxyWarnings;
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
  /** What it has waited for so far. */
  readonly waits = new Waits();
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
  /** The door, where the path does not tell it, as with `/teams`: each route of REST sets it first of all. */
  door: MeteredRequest["door"] = "page";
  /** The path of the route that it took, with the names of its parameters. */
  route?: string;
  /** The operations it ran, and the codes of their failures. */
  readonly operations: string[] = [];
  readonly failures: string[] = [];
  /** The first failure of the service, not of the client. By GraphQL and MCP the status is 200 even then. */
  fault?: string;
  #place: Promise<void> | undefined;
  readonly #response: Response;
  readonly #log: Logger;

  constructor(request: Request, response: Response, { log, meter, tracer, work, waitMs, proxies }: ScopeParts) {
    const given = request.get("x-request-id") ?? "";
    this.id = /^[\x21-\x7e]{1,128}$/.test(given) ? given : randomUUID();
    this.clientAddress = clientAddressOf(request);
    // Load balancers and orchestrators check it themselves.
    if (!isHealthCheck(request)) proxies.look(request);
    this.idempotencyKey = request.get("idempotency-key");
    const seen = request.get(READ_AFTER);
    this.readAfter = seen === undefined ? undefined : this.#readAfter(seen);
    this.#response = response;
    this.work = work;
    this.patience = new Patience(waitMs, this.waits);
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
    // An account that waits for itself is no outage: alerts tell them apart by this.
    const isOverShare = failure instanceof Unavailable && failure.why === "share";
    const told = isOverShare ? "over_share" : (failure?.reason ?? code);
    this.failures.push(told);
    // GraphQL has further codes, of its own refusals.
    const statuses: Readonly<Record<string, number>> = HTTP_STATUS;
    if ((statuses[failure?.kind ?? code] ?? 400) >= 500) this.fault ??= told;
    if (failure instanceof Unavailable) this.noteUnavailable(failure.why, error);
  }

  /** Adds the code of an error that is no failure of an operation. */
  noteCode(code: string): void {
    this.note(undefined, undefined, code);
  }

  noteBug(error: unknown): void {
    this.log.error({ err: error }, "a request failed, and nothing foresees why: this is a bug");
  }

  /** Logs why requests get 503 and what to do: once a minute per reason, with the number of further cases. */
  noteUnavailable(why: string, error?: unknown): void {
    // Reasons that `UNAVAILABLE` does not explain are those of `/readyz`.
    const isExplained = isWhyUnavailable(why);
    if (isExplained) this.meter?.unavailable(why);
    const message = isExplained
      ? `requests are answered 503. ${UNAVAILABLE[why]}`
      : `\`/readyz\` answers 503: ${why}. \`npm run doctor\` says what to do.`;
    warnSeldom(this.#log, `unavailable ${why}`, { why, err: error }, message);
  }

  /** Waits until the request may continue: all requests share the turns of the event loop. */
  readonly pause = (): Promise<void> => {
    const turn = this.waits.of("turn");
    turn.start();
    return this.work.turns.waitForTurn(this, this.account, turn.stop);
  };

  /** Waits for a place among the requests that may take much memory: only once, until the answer is made. */
  readonly admitLarge = (): Promise<void> =>
    (this.#place ??= this.work.admitLarge(this.#response, this.account, this.patience));

  /** Whose share of the process the request uses. */
  get account(): string {
    return this.caller?.userId ?? networkOf(this.clientAddress);
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
    const startedAt = arrivalOf(request);
    scope.waits.of("turn").add(performance.now() - startedAt);
    response.locals["scope"] = scope;
    response.set("X-Request-Id", scope.id);
    response.set("X-Content-Type-Options", "nosniff");
    // A proxy's cache may know answers by their URL alone. Files that everybody may read replace this header.
    response.set("Cache-Control", NOT_CACHED);
    const reading = scope.waits.of("client");
    response.once("answered", () => reading.start());
    response.once("close", () => {
      // The client's reading is not measured if the answer was cut: it may not even have been made.
      if (response.writableEnded) reading.stop();
      const milliseconds = performance.now() - startedAt;
      tellEnd(parts, {
        request,
        response,
        scope,
        milliseconds,
        seconds: Math.max(0, milliseconds - reading.ms) / 1_000,
      });
    });
    if (scope.span) scope.span.bind(next)();
    else next();
  };
}

interface Timed extends Pick<Ended, "request" | "response" | "scope"> {
  readonly milliseconds: number;
  /** The time without that in which the client read the answer. */
  readonly seconds: number;
}

/** Tells the metrics, the request's span and the log how a request ended. */
function tellEnd({ meter, log }: ScopeParts, { request, response, scope, milliseconds, seconds }: Timed): void {
  const status = response.writableFinished ? response.statusCode : "aborted";
  if (status !== "aborted" && status >= 400 && scope.failures.length === 0) scope.noteCode(codeOf(status));
  const { operations, failures, caller, span, waits } = scope;
  const waited = waits.told;
  const door = doorOf(request, scope);
  const outcome = status === "aborted" ? status : (failures[0] ?? "ok");
  meter?.request({ door, operations, outcome, seconds, waits: waits.all() });
  if (span) endSpan(span, { request, response, scope, door, outcome, waited });
  log.info({
    request_id: scope.id,
    ...span?.ids,
    user_id: caller?.userId,
    key_id: caller?.keyId,
    team_id: caller?.team?.id,
    method: request.method,
    operations: firstFew(operations),
    status,
    ...(failures.length > 0 ? { failures: firstFew(failures) } : {}),
    duration_ms: Math.round(milliseconds * 100) / 100,
    ...(waited && { waited_ms: waited }),
  });
}

/** What to call an error that nobody has noted. */
const codeOf = (status: number): string =>
  Object.entries(HTTP_STATUS).find(([, known]) => known === status)?.[0] ??
  (status < 500 ? "bad_request" : "internal_error");

interface Ended {
  readonly request: Request;
  readonly response: Response;
  readonly scope: RequestScope;
  readonly door: string;
  readonly outcome: string;
  readonly waited: Waits["told"];
}

function endSpan(span: RequestSpan, { request, response, scope, door, outcome, waited = {} }: Ended): void {
  const { caller, operations, id } = scope;
  const waits = Object.entries(waited).map(([what, ms]) => [`memory_graph.waited_ms.${what}`, ms] as const);
  const { route, fault = response.statusCode >= 500 ? outcome : undefined } = scope;
  span.end({
    name: `${request.method} ${door}`,
    isFault: fault !== undefined,
    facts: {
      "http.request.method": request.method,
      ...(route !== undefined && { "http.route": route }),
      "http.response.status_code": response.statusCode,
      ...(fault !== undefined && { "error.type": fault }),
      "memory_graph.door": door,
      "memory_graph.operations": firstFew(operations),
      "memory_graph.outcome": outcome,
      "memory_graph.request_id": id,
      ...(caller && { "user.id": caller.userId, "memory_graph.key_id": caller.keyId }),
      ...(caller?.team && { "memory_graph.team_id": caller.team.id }),
      ...Object.fromEntries(waits),
    },
  });
}

function doorOf({ originalUrl }: Request, { door }: RequestScope): MeteredRequest["door"] {
  if (originalUrl.startsWith("/graphql")) return "graphql";
  if (originalUrl.startsWith("/mcp")) return "mcp";
  return originalUrl.startsWith("/v1/") ? "rest" : door;
}

/** Notes the route of requests, for their spans. */
export const noteRoute =
  (route: string): Handler =>
  (_request, response, next) => {
    scopeOf(response).route = route;
    next();
  };

/** @throws InvalidInput when the Idempotency-Key is not 1 to 255 visible ASCII characters. */
export function assertIdempotencyKey({ idempotencyKey }: Pick<RequestScope, "idempotencyKey">): void {
  if (idempotencyKey !== undefined && !/^[\x21-\x7e]{1,255}$/.test(idempotencyKey)) {
    throw InvalidInput.at("Idempotency-Key", "must have 1 to 255 visible ASCII characters");
  }
}

export const checkIdempotencyKey: Handler = (_request, response, next) => {
  assertIdempotencyKey(scopeOf(response));
  next();
};
