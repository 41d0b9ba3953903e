import { type IncomingMessage, type Server, type ServerOptions, type ServerResponse, createServer } from "node:http";
import type { Socket } from "node:net";
import type { Express, Request, Response } from "express";
import { Failure } from "../operation/failure.js";
import { readInSlices } from "../platform/read-in-slices.js";
import { ArrivedRequest } from "./arrival.js";
import { type RefusalParts, refusalAnswer, refuse, refuseUnreadable } from "./closing.js";
import { Connections } from "./connections.js";
import type { HttpLimits } from "./http-limits.js";
import { responseClass } from "./response-class.js";
import type { Turns } from "./turns.js";

/**
 * How long idle connections are kept: those of clients longer than usual, those of proxies longer than Envoy's hour. A
 * request on a connection that is just being closed is lost, so a proxy would answer 502.
 */
const KEEP_ALIVE_MS = { clients: 65_000, proxies: 3_900_000 };
/** After this time the system asks whether the proxy at the other end still exists. */
const PROBE_MS = 60_000;
/** How often timeouts of slow requests are checked, at least. */
const CHECK_MS = 1_000;

interface ServerParts extends RefusalParts {
  /** Whether connections come from proxies; then the client's address is known only per request. */
  readonly behindProxies: boolean;
  readonly turns: Turns;
  /** Whether the server is stopping. Then each answer closes its connection, so that no request comes too late. */
  isStopping(): boolean;
}

/**
 * A server that creates requests and responses with Express's prototypes. By default Express sets the prototype of
 * each by `Object.setPrototypeOf`: V8 then gives each its own hidden class, which costs more than all else that Express
 * does, and moves objects of a request into the old generation.
 */
export function createExpressServer(app: Express, parts: ServerParts): Server {
  const { limits, behindProxies, turns, isStopping } = parts;
  class AppRequest extends ArrivedRequest {}
  const AppResponse = responseClass({ limits, behindProxies, isStopping, connections: () => connections });
  app.request = Object.setPrototypeOf(AppRequest.prototype, app.request) as Express["request"];
  app.response = Object.setPrototypeOf(AppResponse.prototype, app.response) as Express["response"];
  const options = {
    ...optionsOf(limits, behindProxies),
    IncomingMessage: AppRequest as typeof IncomingMessage,
    ServerResponse: AppResponse,
  };
  const server = createServer(options, (request, response) => {
    // Later requests on a connection that is closing are not answered.
    if (request.socket.writableEnded || !connections.beginRequest(request, response)) return;
    request.url = pathIn(request.url ?? "");
    // Express calls this callback for a URL that it cannot parse; without it, Express would answer in its own format.
    const handle = () => app(request as Request, response as Response, () => refuseTarget(response, parts));
    // Answered at once, before all requests that wait: a busy process must not look dead.
    if (request.url === "/healthz") handle();
    else turns.arrive(() => void (request.socket.destroyed || handle()));
  });
  readInSlices(server);
  const connections = new Connections(server, limits, { behindProxies });
  // No limit here: the size of the head bounds their number, and `assertHeadFits` refuses too many of them, with the
  // CORS headers that browsers need. Node would drop the excess or, in newer versions, refuse the request itself.
  server.maxHeadersCount = 0;
  // After a pause of this process an idle connection is overdue, and a request may wait on it: that is read first.
  server.on("timeout", (socket) => {
    const { bytesRead } = socket;
    setImmediate(() => void (socket.bytesRead === bytesRead && socket.destroy()));
  });
  server.on("clientError", (error: NodeJS.ErrnoException, stream) => {
    const socket = stream as Socket;
    // A proxy may open a connection for a request that then takes another one. Unused, it is idle like any other: what
    // the proxy sends just when it is refused or closed would be lost. From the first byte on the head is timed anew.
    if (behindProxies && socket.bytesRead === 0 && error.code === "ERR_HTTP_REQUEST_TIMEOUT")
      return void socket.setTimeout(server.keepAliveTimeout);
    const [owed, isAnswered] = [connections.lastOwed(socket), connections.isAnswered(socket)];
    refuseUnreadable(error, socket, { ...parts, owed, isAnswered });
  });
  server.on("connect", (_request, socket) => refuse(socket as Socket, new NoTunnel(), parts));
  // `100 Continue` is sent when the body will be read: a refused request then costs no upload, and its answer closes the
  // connection.
  server.on("checkContinue", (request, response) => void server.emit("request", request, response));
  // An unknown `Expect` is ignored; RFC 9110 lets a server do so.
  server.on("checkExpectation", (request, response) => void server.emit("request", request, response));
  return server;
}

/** The beginning of a whole address. */
const ORIGIN = /^https?:\/\/(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d*)?(?=[/?]|$)/i;

/**
 * The path and query of a request's target. A program that takes this server for its proxy sends the whole address (RFC
 * 9112, 3.2.2), and links, routes of OAuth and the log are made from the path.
 */
function pathIn(target: string): string {
  if (target.startsWith("/")) return target;
  const path = target.replace(ORIGIN, "");
  return path === target || path.startsWith("/") ? path : `/${path}`;
}

function optionsOf({ headBytes, headTimeoutMs, bodyTimeoutMs }: HttpLimits, behindProxies: boolean): ServerOptions {
  return {
    // The parser does not count the characters between names and values; `assertHeadFits` counts all.
    maxHeaderSize: headBytes,
    headersTimeout: headTimeoutMs,
    // From the first byte of the request to the last of its body.
    requestTimeout: bodyTimeoutMs,
    connectionsCheckingInterval: Math.min(CHECK_MS, headTimeoutMs, bodyTimeoutMs),
    keepAliveTimeout: KEEP_ALIVE_MS[behindProxies ? "proxies" : "clients"],
    keepAlive: behindProxies,
    keepAliveInitialDelay: PROBE_MS,
    // Otherwise the parser itself answers, not in the documented format.
    requireHostHeader: false,
  };
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
    super("The URL of this request cannot be read. Send a path, such as `/v1/memories`.");
  }
}

/** Refuses a request that reached no door. If its answer has begun, the connection can only be cut. */
function refuseTarget(response: ServerResponse, parts: RefusalParts): void {
  if (response.headersSent) return void response.destroy();
  const { status, headers, body } = refusalAnswer(new UnreadableTarget(), parts);
  response.writeHead(status, headers).end(body);
}
