import type { ServerResponse } from "node:http";

/**
 * Calls `release` once, when the response is over: answered, or its connection closed. If it is over already, it is
 * called at once: no "close" follows then, so what the request takes would never be given back.
 */
export function whenOver(response: ServerResponse, release: () => void): void {
  // Not `closed`: of pipelined requests on a connection that was closed, Node marks only the first.
  if (response.destroyed) release();
  else response.once("close", release);
}
