import { IncomingMessage, type Server, ServerResponse, createServer } from "node:http";
import type { Socket } from "node:net";
import type { Express, Request, Response } from "express";
import { Failure } from "../operation/failure.js";
import { type Refusing, closeAfterAnswer, refusalAnswer, refuse, refuseUnreadable } from "./closing.js";
import { Connections } from "./connections.js";
import type { Turns } from "./turns.js";
import type { HttpLimits } from "./http-limits.js";
import { readInSlices } from "./read-in-slices.js";

/** Longer than proxies keep a connection, mostly 60 s, so that none sends a request into one that is just closed. */
const KEEP_ALIVE_MS = 65_000;
/** How much of a large answer is written at once. */
const PIECE_BYTES = 65_536;
/** How late a slow request may be noticed. */
const CHECK_MS = 1_000;

interface ServerParts extends Refusing {
  /** Whether connections are those of proxies, whose clients are known by request alone. */
  readonly behindProxies: boolean;
  readonly turns: Turns;
}

/**
 * A server whose requests and responses are Express's from the start. Left to itself Express makes them so one by one,
 * by `Object.setPrototypeOf`: V8 then gives each a hidden class of its own, which costs more than all else that Express
 * does, and carries what belongs to a request over into the old generation.
 */
export function createExpressServer(app: Express, refusing: ServerParts): Server {
  const { limits, behindProxies, turns } = refusing;
  class AppRequest extends IncomingMessage {}
  class AppResponse extends ServerResponse {
    /** An answer may come before the end of the body. What is left is thrown away, unless it may have no end. */
    override writeHead(status: number, ...rest: []): this {
      if (!this.req.complete) {
        this.req.resume();
        if (mayGoOn(this.req, limits)) {
          this.setHeader("Connection", "close");
          closeAfterAnswer(this.req, limits);
        }
      }
      if (connections.isCrowded(this.req.socket)) this.setHeader("Connection", "close");
      return super.writeHead(status, ...rest);
    }

    /** A large answer is written piece by piece, as the client reads it: so it can be seen whether it does. */
    override end(...args: readonly unknown[]): this {
      this.emit("answered");
      const [data] = args;
      const isLarge = (typeof data === "string" || data instanceof Uint8Array) && data.length > PIECE_BYTES;
      if (!isLarge || this.req.method === "HEAD") return super.end(...(args as []));
      const bytes = Buffer.from(data as string);
      if (!this.headersSent && !this.hasHeader("Content-Length")) this.setHeader("Content-Length", bytes.length);
      connections.answered(this.req.socket, this, bytes.length);
      this.#endInPieces(bytes, 0);
      return this;
    }

    #endInPieces(bytes: Buffer, from: number): void {
      for (let at = from; !this.destroyed; at += PIECE_BYTES) {
        const piece = bytes.subarray(at, at + PIECE_BYTES);
        if (at + PIECE_BYTES >= bytes.length) return void super.end(piece);
        if (!this.write(piece)) return void this.once("drain", () => this.#endInPieces(bytes, at + PIECE_BYTES));
      }
    }
  }
  app.request = Object.setPrototypeOf(AppRequest.prototype, app.request) as Express["request"];
  app.response = Object.setPrototypeOf(AppResponse.prototype, app.response) as Express["response"];
  const { headBytes, headers, headTimeoutMs, bodyTimeoutMs } = limits;
  const options = {
    // What the parser counts leaves out what stands between names and values; `assertHeadFits` counts all.
    maxHeaderSize: headBytes,
    headersTimeout: headTimeoutMs,
    // From the first byte to the last of the body.
    requestTimeout: bodyTimeoutMs,
    connectionsCheckingInterval: Math.min(CHECK_MS, headTimeoutMs, bodyTimeoutMs),
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Else the parser answers by itself, in a form of its own.
    requireHostHeader: false,
    IncomingMessage: AppRequest,
    // What Node makes of requests is an AppRequest, which its types cannot say.
    ServerResponse: AppResponse as typeof ServerResponse,
  };
  const server = createServer(options, (request, response) => {
    // What follows on a connection that is being ended is not answered any more.
    if (request.socket.writableEnded || !connections.begun(request.socket, response)) return;
    // What Express gives back, which it does where it can make nothing of the address, it would answer by itself.
    const handle = () => app(request as Request, response as Response, () => refuseTarget(response, refusing));
    // Whether the process lives is told at once, whatever else waits for its turn.
    if (request.url === "/healthz") handle();
    else turns.begin(() => void (request.socket.destroyed || handle()));
  });
  readInSlices(server);
  const connections = new Connections(server, limits, { behindProxies });
  // Node drops further headers silently, so it must read one more for `assertHeadFits` to count.
  server.maxHeadersCount = headers + 1;
  server.on("clientError", (error, socket) => refuseUnreadable(error, socket as Socket, refusing));
  server.on("connect", (_request, socket) => refuse(socket as Socket, new NoTunnel(), refusing));
  // An unknown `Expect` is ignored; RFC 9110 lets a server do so.
  server.on("checkExpectation", (request, response) => void server.emit("request", request, response));
  return server;
}

export class NoTunnel extends Failure {
  readonly kind = "method_not_allowed";

  constructor() {
    super("The method CONNECT is not served. Use GET, POST, PUT, PATCH or DELETE.");
  }
}

export class UnreadableTarget extends Failure {
  readonly kind = "bad_request";

  constructor() {
    super("The address of this request cannot be read. Send its path, such as `/v1/memories`.");
  }
}

/** A request that no door has seen, in the form of all refusals; one whose answer has begun can only be cut off. */
function refuseTarget(response: ServerResponse, refusing: Refusing): void {
  if (response.headersSent) return void response.destroy();
  const { status, headers, body } = refusalAnswer(new UnreadableTarget(), refusing);
  response.writeHead(status, headers).end(body);
}

const mayGoOn = ({ headers }: IncomingMessage, { bodyBytes }: HttpLimits): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > bodyBytes;
