import { IncomingMessage, type Server, type ServerOptions, ServerResponse, createServer } from "node:http";
import type { Express } from "express";

/**
 * A server whose requests and responses are Express's from the start. Left to itself Express makes them so one by one,
 * by `Object.setPrototypeOf`: V8 then gives each a hidden class of its own, which costs more than all else that Express
 * does, and carries what belongs to a request over into the old generation.
 */
export function createExpressServer(app: Express, options: ServerOptions): Server {
  class AppRequest extends IncomingMessage {}
  class AppResponse extends ServerResponse {}
  app.request = Object.setPrototypeOf(AppRequest.prototype, app.request) as Express["request"];
  app.response = Object.setPrototypeOf(AppResponse.prototype, app.response) as Express["response"];
  return createServer({ ...options, IncomingMessage: AppRequest, ServerResponse: AppResponse }, app);
}
