import { randomUUID } from "node:crypto";
import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { Failure, type FailureKind } from "../operation/failure.js";
import type { Logger } from "../platform/logger.js";
import type { HttpLimits } from "./http-limits.js";
import { HTTP_STATUS, tooLargeHead } from "./http.js";

/** What it takes to refuse where no door is reached: the bounds, the log, and the form of an error. */
export interface Refusing {
  readonly limits: HttpLimits;
  readonly log: Logger;
  readonly form: (failure: Failure) => object;
}

type Patience = Pick<HttpLimits, "lingerBytes" | "lingerMs">;

/**
 * Ends a connection whose client is still sending. If it were closed at once, the client would see a reset, and many
 * clients then never read the answer. So what still comes is read and discarded, for a bounded time and size.
 */
export function closeGently(socket: Socket, { lingerBytes, lingerMs }: Patience): void {
  const end = () => socket.destroy();
  const enough = socket.bytesRead + lingerBytes;
  // Polled, not counted for each piece: a client that sends tiny pieces must not cost more.
  const watch = setInterval(() => void (socket.bytesRead > enough && end()), Math.ceil(lingerMs / 50)).unref();
  const deadline = setTimeout(end, lingerMs).unref();
  socket.once("close", () => {
    clearInterval(watch);
    clearTimeout(deadline);
  });
  socket.once("end", end);
  socket.end();
  socket.resume();
}

/** Lets the connection of a request end gently, when its answer is sent, if its body is not wanted to its end. */
export function closeAfterAnswer(request: IncomingMessage, patience: Patience): void {
  const { socket } = request;
  // What Node calls when the last answer of a connection is sent.
  socket.destroySoon = () => closeGently(socket, patience);
  request.once("end", () => void (socket.writableFinished && socket.destroy()));
}

/** What Node's parser refuses before there is a request. */
/** Every refusal of the parser: for documentation. */
export const parserRefusals = (limits: HttpLimits): Failure[] =>
  ["HPE_HEADER_OVERFLOW", "HPE_CHUNK_EXTENSIONS_OVERFLOW", "ERR_HTTP_REQUEST_TIMEOUT", "HPE_INVALID_CONSTANT"].flatMap(
    (code) => refusalOf({ code } as NodeJS.ErrnoException, limits) ?? [],
  );

export class Unreadable extends Failure {
  constructor(
    readonly kind: FailureKind,
    override readonly reason: string,
    message: string,
  ) {
    super(message);
  }
}

/** Why Node's parser gave a request up; undefined when the client is gone. */
function refusalOf({ code }: NodeJS.ErrnoException, { headBytes, headTimeoutMs, bodyTimeoutMs }: HttpLimits) {
  switch (code ?? "") {
    case "ECONNRESET":
    case "EPIPE":
      return undefined;
    case "HPE_HEADER_OVERFLOW":
      return new Unreadable("payload_too_large", "head_too_large", tooLargeHead(headBytes));
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return new Unreadable("payload_too_large", "chunks_too_large", "Send chunks without extensions.");
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new Unreadable(
        "bad_request",
        "request_timeout",
        `The request came too slowly: its head must be here within ${headTimeoutMs / 1_000} s, all of it within ` +
          `${bodyTimeoutMs / 1_000} s. Send it faster, or less at once.`,
      );
    default:
      return new Unreadable(
        "bad_request",
        "malformed_request",
        "This is no valid HTTP/1.1 request. Send one with an HTTP client, and check its head.",
      );
  }
}

/** Answers what the parser refuses in the documented form, and ends the connection. */
export function refuseUnreadable(error: NodeJS.ErrnoException, socket: Socket, refusing: Refusing): void {
  const failure = refusalOf(error, refusing.limits);
  if (failure && socket.writable) refuse(socket, failure, refusing);
  // A connection that is being ended may go on sending what the parser cannot read.
  else if (!failure || !socket.writableEnded) socket.destroy();
}

/** Answers where there is no response to answer with, and ends the connection. */
export function refuse(socket: Socket, failure: Failure, refusing: Refusing): void {
  const { status, headers, body } = refusalAnswer(failure, refusing);
  const lines = Object.entries({ Connection: "close", ...headers }).map(([name, value]) => `${name}: ${value}`);
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("\r\n")}\r\n\r\n${body}`);
  closeGently(socket, refusing.limits);
}

/** What a request is answered that no door has seen; its line in the log is written here. */
export function refusalAnswer(failure: Failure, { log, form }: Refusing) {
  const id = randomUUID();
  const status = HTTP_STATUS[failure.kind];
  const body = JSON.stringify(form(failure));
  log.info({ request_id: id, status, failures: [failure.reason ?? failure.kind] });
  const headers = {
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": Buffer.byteLength(body),
    "X-Request-Id": id,
    "X-Content-Type-Options": "nosniff",
  };
  return { status, headers, body };
}
