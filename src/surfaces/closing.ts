import { randomUUID } from "node:crypto";
import { type IncomingMessage, STATUS_CODES, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Failure, type FailureKind } from "../operation/failure.js";
import type { Logger } from "../platform/telemetry/logger.js";
import type { HttpLimits } from "./http-limits.js";
import { HTTP_STATUS } from "./http-status.js";
import { tooLargeHead } from "./request-head.js";

/** What is needed to refuse a request that reaches no door: the limits, the log, and the format of errors. */
export interface RefusalParts {
  readonly limits: HttpLimits;
  readonly log: Logger;
  readonly form: (failure: Failure) => object;
}

type Patience = Pick<HttpLimits, "lingerBytes" | "lingerMs">;

/**
 * Closes a connection whose client is still sending. If it were closed at once, the client would get a reset, and many
 * clients would then never read the answer. So the remaining input is read and discarded, within limits of time and
 * size.
 */
function closeGently(socket: Socket, { lingerBytes, lingerMs }: Patience): void {
  const end = () => socket.destroy();
  const enough = socket.bytesRead + lingerBytes;
  // Polled instead of counted per chunk: a client that sends tiny chunks must not cost more.
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

/** Closes the connection gently after the answer, for a request whose body is not read to its end. */
export function closeAfterAnswer(request: IncomingMessage, patience: Patience): void {
  const { socket } = request;
  // Node calls this when the last answer of a connection is sent.
  socket.destroySoon = () => closeGently(socket, patience);
  request.once("end", () => void (socket.writableFinished && socket.destroy()));
}

/** Every refusal by Node's HTTP parser, for the documentation. */
export const parserRefusals = (limits: HttpLimits): Failure[] => [
  ...[
    "HPE_HEADER_OVERFLOW",
    "HPE_CHUNK_EXTENSIONS_OVERFLOW",
    "ERR_HTTP_REQUEST_TIMEOUT",
    "HPE_INVALID_CONSTANT",
  ].flatMap((code) => refusalOf({ code } as NodeJS.ErrnoException, limits) ?? []),
  ...OTHER_PROTOCOLS.map(([, reason, message]) => new Unreadable("bad_request", reason, message)),
];

export class Unreadable extends Failure {
  constructor(
    readonly kind: FailureKind,
    override readonly reason: string,
    message: string,
  ) {
    super(message);
  }
}

const NO_PROXY_PROTOCOL = [
  "proxy_protocol",
  "The PROXY protocol is not supported. Switch it off in the proxy, and let it send `X-Forwarded-For` instead.",
] as const;

/** How other protocols begin. Proxies that are configured to speak them send nothing else. */
const OTHER_PROTOCOLS = [
  ["PROXY ", ...NO_PROXY_PROTOCOL],
  ["\r\n\r\n\0\r\nQUIT\n", ...NO_PROXY_PROTOCOL],
  ["\x16\x03", "tls", "TLS is not supported at this port. Use `http:`, and let a proxy terminate TLS."],
  ["PRI * HTTP/2", "http_2", "HTTP/2 is not supported at this port. Use HTTP/1.1 between the proxy and the service."],
] as const;

/** An error of Node's parser, with the bytes that it could not read. */
interface ParserError extends NodeJS.ErrnoException {
  readonly rawPacket?: Buffer;
}

/** Why Node's parser refused a request; undefined when the client has disconnected. */
function refusalOf(
  { code, rawPacket }: ParserError,
  { headBytes, headTimeoutMs, bodyTimeoutMs }: HttpLimits,
): Unreadable | undefined {
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
        `The request took too long: its head must arrive within ${headTimeoutMs / 1_000} s, all of it within ` +
          `${bodyTimeoutMs / 1_000} s. Send it faster, or send less at once.`,
      );
    default: {
      const begin = rawPacket?.toString("latin1", 0, 12) ?? "";
      const [, reason, message] = OTHER_PROTOCOLS.find(([first]) => begin.startsWith(first)) ?? [];
      if (reason) return new Unreadable("bad_request", reason, message);
      return new Unreadable(
        "bad_request",
        "malformed_request",
        "This is not a valid HTTP/1.1 request. Use an HTTP client, and check the request line and the headers.",
      );
    }
  }
}

/** What a connection has answered before the parser refuses what it reads. */
interface Answers {
  /** The last answer that it owes. */
  readonly owed: ServerResponse | undefined;
  /** Whether the request that is still arriving has got its answer already. */
  readonly isAnswered: boolean;
}

/**
 * Answers a request that the parser refused in the documented format, and closes the connection. Where an answer is
 * owed, the client would take a refusal for it (RFC 9112, 9.3.2), though its change is made; and a request gets no
 * second answer, which a proxy could give to another client. There the connection is only closed, after the answer.
 */
export function refuseUnreadable(
  error: NodeJS.ErrnoException,
  socket: Socket,
  { owed, isAnswered, ...parts }: RefusalParts & Answers,
): void {
  const failure = refusalOf(error, parts.limits);
  if (failure && socket.writable && owed) closeAfterLast(owed, parts.limits);
  else if (failure && socket.writable && isAnswered) closeGently(socket, parts.limits);
  else if (failure && socket.writable) refuse(socket, failure, parts);
  // A connection that is already closing may still send input that the parser cannot read.
  else if (!failure || !socket.writableEnded) socket.destroy();
}

/** The last answers of connections that are closed after them: the parser refuses each further piece of input anew. */
const lastAnswers = new WeakSet<ServerResponse>();

function closeAfterLast(answer: ServerResponse, patience: Patience): void {
  if (lastAnswers.has(answer)) return;
  lastAnswers.add(answer);
  closeAfterAnswer(answer.req, patience);
  if (!answer.headersSent) answer.setHeader("Connection", "close");
  // It has said that the connection stays open, so Node does not close it.
  else if (answer.shouldKeepAlive) answer.once("finish", () => answer.req.socket.destroySoon());
}

/** Answers directly on the socket, where there is no response object, and closes the connection. */
export function refuse(socket: Socket, failure: Failure, parts: RefusalParts): void {
  const { status, headers, body } = refusalAnswer(failure, parts);
  const all = { Date: new Date().toUTCString(), Connection: "close", ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("\r\n")}\r\n\r\n${body}`);
  closeGently(socket, parts.limits);
}

/** Makes the answer to a request that reached no door, and writes its log line. */
export function refusalAnswer(failure: Failure, { log, form }: RefusalParts) {
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

/** Breaks a connection at once: by itself Node would first send what it has, and that the connection ends. */
export function resetConnection(socket: Socket): void {
  socket.destroySoon = () => void socket.destroy();
  socket.resetAndDestroy();
}

/**
 * Ends an answer before it is whole. One of HTTP/1.0, which nginx asks for unless told otherwise, ends with its
 * connection: only a reset tells that something is missing.
 */
export function cutAnswer(response: ServerResponse): void {
  if (response.req.httpVersion === "1.0" && response.socket) resetConnection(response.socket);
  response.destroy();
}
