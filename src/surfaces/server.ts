import { IncomingMessage, type Server, ServerResponse, createServer } from "node:http";
import type { Socket } from "node:net";
import type { Express } from "express";
import { Failure } from "../operation/failure.js";
import { type Refusing, closeAfterAnswer, refuse, refuseUnreadable } from "./closing.js";
import type { HttpLimits } from "./http-limits.js";

/** Longer than proxies keep a connection, mostly 60 s, so that none sends a request into one that is just closed. */
const KEEP_ALIVE_MS = 65_000;
/** How late a slow request may be noticed. */
const CHECK_MS = 1_000;

/**
 * A server whose requests and responses are Express's from the start. Left to itself Express makes them so one by one,
 * by `Object.setPrototypeOf`: V8 then gives each a hidden class of its own, which costs more than all else that Express
 * does, and carries what belongs to a request over into the old generation.
 */
export function createExpressServer(app: Express, refusing: Refusing): Server {
  const { limits } = refusing;
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
      return super.writeHead(status, ...rest);
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
    ServerResponse: AppResponse,
  };
  const server = createServer(options, app);
  // Node leaves out what is beyond without a word, so it must see one more.
  server.maxHeadersCount = headers + 1;
  server.on("clientError", (error, socket) => refuseUnreadable(error, socket as Socket, refusing));
  server.on("connect", (_request, socket) => refuse(socket as Socket, new NoTunnel(), refusing));
  // An expectation that nobody knows is left unmet, which a client has to reckon with.
  server.on("checkExpectation", app);
  return server;
}

class NoTunnel extends Failure {
  readonly kind = "method_not_allowed";

  constructor() {
    super("The method CONNECT is not served.");
  }
}

const mayGoOn = ({ headers }: IncomingMessage, { bodyBytes }: HttpLimits): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > bodyBytes;
