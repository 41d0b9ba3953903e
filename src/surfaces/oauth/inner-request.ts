import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import type { Request } from "express";
import { LIMITS } from "../../limits.js";
import { InvalidInput } from "../../operation/failure.js";
import { clientAddressOf } from "../client-address.js";

const { parameters: PARAMETERS } = LIMITS.oauth;

/** Headers that are wrong for the inner request: its connection is another one, and its body was read. */
const OUTER = ["content-encoding", "content-length", "transfer-encoding", "host"];

/**
 * Makes the request that the authorization server gets: at its public URL, whatever `Host` says, and with the body that
 * was read within bounds.
 * @param path what follows the issuer, with the query
 * @throws InvalidInput when the request's address has too many parameters
 */
export function innerRequest(request: Request, issuer: string, path: string): IncomingMessage {
  if (request.originalUrl.split("&", PARAMETERS + 1).length > PARAMETERS)
    throw InvalidInput.at("", `The address may have at most ${PARAMETERS} parameters.`);
  const { host, protocol, pathname } = new URL(issuer);
  const { method, body } = request as Request & { body?: unknown };
  const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0);
  const kept = Object.entries(request.headers).filter(([name]) => !OUTER.includes(name));
  const headers = {
    ...Object.fromEntries(kept),
    host,
    // Programs that post would be shown a page where they prefer HTML, as HTTP clients of Java do: RFC 6749, 5.2.
    ...(method === "POST" ? { accept: "application/json", "content-length": String(bytes.length) } : {}),
  };
  const socket = { encrypted: protocol === "https:", remoteAddress: clientAddressOf(request) };
  const inner = Readable.from(bytes.length > 0 ? [bytes] : []);
  // Koa, in which the authorization server is written, reads nothing else of a request.
  return Object.assign(inner, {
    method,
    headers,
    socket,
    url: path,
    originalUrl: pathname + path,
    httpVersionMajor: 1,
    httpVersionMinor: 1,
  }) as unknown as IncomingMessage;
}
