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

/**
 * The same as soon as the answer is made, whether or not its client reads it. If the client is gone before, the work goes
 * on: then `release` is called when that is done, at the latest after `goneMs`.
 */
export function whenAnswered(response: ServerResponse, release: () => void, goneMs = 0): void {
  let isReleased = false;
  let gone: NodeJS.Timeout | undefined;
  const once = () => {
    clearTimeout(gone);
    if (!isReleased) release();
    isReleased = true;
  };
  response.once("answered", once);
  whenOver(response, () => {
    if (!isReleased) gone = setTimeout(once, goneMs).unref();
  });
}
