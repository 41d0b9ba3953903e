import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { type Handler, type Request, type Response, Router } from "express";
import type { GraphQLSchema } from "graphql";
import { LIMITS } from "../../limits.js";
import { type Services, contextOf } from "../../operation/context.js";
import { execute } from "../../operation/execute.js";
import { InvalidInput } from "../../operation/failure.js";
import { inputReader, inputTypeOf } from "../../operation/input.js";
import type { Operation } from "../../operation/operation.js";
import { Patience } from "../../operation/patience.js";
import { whenLate } from "../../within-time.js";
import { type RequestScope, noteRoute, scopeOf } from "../request-scope.js";
import { cutAnswer } from "../closing.js";
import { failureBehind, noteFailure } from "../http.js";
import { refuseOtherMethods, throwInRestNames } from "../plain-errors.js";
import { chargeCaller } from "../rate-limit.js";
import { encode, join } from "../stringify.js";
import { EXPORT_FORMATS, type ExportFormat } from "./export-formats.js";
import { readRequest } from "./request.js";

/** One answer of the operation that is streamed. */
interface Page {
  readonly records: readonly Readonly<Record<string, unknown>>[];
  readonly nextCursor: string | null;
}

interface StreamParts {
  /** The operation that reads a page. */
  readonly operation: Operation<object, Page>;
  readonly schema: GraphQLSchema;
  readonly services: Services;
  readonly guarded: readonly Handler[];
  /** How long the client and the service may keep each other waiting, and how long each try to read a page. */
  readonly stalledAnswerMs: number;
  readonly waitMs: number;
}

/** The path of whole exports. The operation that reads one page is below it. */
export const EXPORT_PATH = "/v1/export";
/** The most records that a page may have. */
const PAGE = "100";

/** Streams all pages of an export. At most one page is in memory: the next is read when the client has taken it. */
export function exportStream(parts: StreamParts): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const refuseOthers = refuseOtherMethods(["GET", "HEAD"]);
  router
    .route(EXPORT_PATH)
    .all(noteRoute(EXPORT_PATH))
    .get(...parts.guarded, ...readRequest, handlerOf(parts))
    .options(refuseOthers)
    .all(...parts.guarded, refuseOthers);
  return router;
}

function handlerOf({ operation, schema, services, stalledAnswerMs, waitMs }: StreamParts): Handler {
  const read = inputReader(inputTypeOf(schema, operation as Operation), operation as Operation);
  return async (request, response) => {
    const scope = scopeOf(response);
    scope.operations.push(operation.name);
    const { format: name = "jsonl", ...query } = request.query;
    const format = EXPORT_FORMATS.get(String(name));
    if (!format) throw InvalidInput.at("format", `must be one of ${[...EXPORT_FORMATS.keys()].join(", ")}`);
    for (const path of ["limit", "cursor"]) {
      if (path in query) throw InvalidInput.at(path, "is unknown: the stream has all pages");
    }
    const input = (cursor: string | null) =>
      Object.assign(read({ path: {}, query: { ...query, limit: PAGE }, body: undefined }), { cursor });
    // Refuses a wrong input before it is charged.
    input(null);
    await chargeCaller(services.budgets, scope, LIMITS.bulk.exportRequests - 1);
    const withPage = async <T>(cursor: string | null, work: (page: Page) => Promise<T>): Promise<T> => {
      const { account, clientAddress, pause, waits } = scope;
      const patience = new Patience(waitMs, waits);
      // A slow client takes hours, so the rights of its key are read again for each page.
      const caller = cursor === null ? scope.caller : await scope.readCaller?.(patience);
      // The whole stream is charged already.
      const charge = async () => {};
      const context = contextOf(services, { caller, clientAddress, door: "rest", patience, pause, charge });
      const leave = await scope.work.enterLarge(account, patience);
      try {
        return await work(await execute(operation, context, input(cursor)).catch(throwInRestNames));
      } finally {
        leave();
      }
    };
    await stream({ withPage, format, request, response, scope, stalledAnswerMs });
  };
}

interface Streaming {
  /** Reads a page, and holds it in memory while `work` is done with it. */
  withPage<T>(cursor: string | null, work: (page: Page) => Promise<T>): Promise<T>;
  readonly format: ExportFormat;
  readonly request: Request;
  readonly response: Response;
  readonly scope: RequestScope;
  readonly stalledAnswerMs: number;
}

async function stream({ withPage, format, request, response, scope, stalledAnswerMs }: Streaming): Promise<void> {
  const writer = format.begin();
  const begin = () => response.status(200).set({ "Content-Type": format.contentType });
  const writePage = async ({ records, nextCursor }: Page) => {
    const text = await join(records, (record) => writer.write(record), scope.pause);
    if (!response.headersSent) begin();
    return { hasRoom: response.write(await encode(text, scope.pause)), nextCursor };
  };
  if (request.method === "HEAD") {
    await withPage(null, async () => {});
    return void begin().end();
  }
  // Until something is written, a refusal is an answer of its own.
  let written = await withPage(null, writePage);
  // From here on its client sets the pace. It no longer counts as running, and each page waits for a place of its own:
  // otherwise one account that reads exports slowly could have everybody refused.
  response.emit("answered");
  try {
    while (written.nextCursor !== null) {
      if (!written.hasRoom && !(await isTaken(response, stalledAnswerMs))) return;
      await scope.pause();
      const { nextCursor } = written;
      written = await whenPossible(() => withPage(nextCursor, writePage), response, stalledAnswerMs);
    }
    response.end(writer.end());
  } catch (error) {
    // The status is sent already: only a broken connection can tell the client that something is missing.
    noteFailure(error, response);
    cutAnswer(response);
  }
}

/** Tries again as long as the service is busy, so that a moment without a database does not waste what was sent. */
async function whenPossible<T>(work: () => Promise<T>, response: Response, withinMs: number): Promise<T> {
  const begunAt = performance.now();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const { retryAfterSeconds } = failureBehind(error) ?? {};
      if (!retryAfterSeconds || performance.now() - begunAt > withinMs) throw error;
      await wait(1_000 * retryAfterSeconds, undefined, { ref: false });
      // The client has left, or the server has stopped.
      if (response.destroyed) throw error;
    }
  }
}

/** Waits until the client has taken what was written; false if it is gone, or has read nothing for too long. */
async function isTaken(response: Response, stalledAnswerMs: number): Promise<boolean> {
  // A closed connection emits no further event.
  if (response.destroyed) return false;
  const end = new AbortController();
  const leave = () => end.abort();
  const onTime = whenLate(stalledAnswerMs, leave);
  response.once("close", leave);
  try {
    await once(response, "drain", { signal: end.signal });
    return true;
  } catch {
    cutAnswer(response);
    return false;
  } finally {
    onTime();
    response.off("close", leave);
  }
}
