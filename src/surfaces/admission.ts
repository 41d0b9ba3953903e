import type { Handler, Response } from "express";
import type { Caller } from "../operation/context.js";
import type { TooManyAtOnce } from "../operation/failure.js";
import { networkOf } from "../operation/network.js";
import type { HttpLimits } from "./http-limits.js";
import { isHealthCheck, scopeOf } from "./request-scope.js";
import { type Room, Slots, refusalOf } from "./slots.js";
import { whenOver } from "./when-over.js";
import type { Work } from "./work.js";

/** Limits the concurrent requests of one address, before bodies are read and keys are looked up. */
export function admitAddress(work: Work, limits: HttpLimits): Handler {
  const room = { slots: limits.connectionsPerAddress, waiting: limits.waitingPerAddress, waitMs: limits.waitForSlotMs };
  const slots = new Slots(room);
  return (request, response, next) => {
    // Never refused: health checks decide whether the process is restarted.
    if (isHealthCheck(request)) return next();
    work.assertNotOverloaded();
    const admission = takeSlot(slots, networkOf(scopeOf(response).clientAddress), response);
    if (admission === true) return next();
    return continueOrRefuse(admission, next, () => refusalOf("address", room));
  };
}

/** Limits the concurrent requests of one key, before their bodies are read. */
export function admitKey(limits: HttpLimits): Handler {
  const room = { slots: limits.connectionsPerKey, waiting: limits.waitingPerKey, waitMs: limits.waitForSlotMs };
  const admit = slotsOf(room, ({ keyId }) => keyId);
  return (_request, response, next) => {
    const admission = admit(response);
    if (admission === true) return next();
    return continueOrRefuse(admission, next, () => refusalOf("key", room));
  };
}

/**
 * Limits an account's concurrent GraphQL requests that are new or large: a new document is read and validated in one
 * piece, and one request may ask for much of the database. Memory has a limit for all doors: `Work.admitLarge`.
 * @throws TooManyAtOnce when no slot is free, and the queue is full or the wait is over; also when the client has
 * disconnected while it waited.
 */
export function admitNewOrLarge(limits: HttpLimits): (response: Response) => Promise<void> {
  const room = { slots: limits.graphqlPerAccount, waiting: limits.waitingPerKey, waitMs: limits.waitForSlotMs };
  const admit = slotsOf(room, ({ userId }) => userId);
  return async (response) => {
    const admission = await admit(response);
    if (admission !== true) throw refusalOf("account by GraphQL that are new to the server or large", room);
  };
}

/** Takes a slot for a request that has a caller. */
function slotsOf(room: Room, nameOf: (caller: Caller) => string) {
  const slots = new Slots(room);
  return (response: Response) => {
    const { caller } = scopeOf(response);
    return !caller || takeSlot(slots, nameOf(caller), response);
  };
}

/** Takes a slot until the request is over; "gone" means that the client has disconnected while waiting. */
function takeSlot(slots: Slots, name: string, response: Response): boolean | Promise<boolean | "gone"> {
  // The client disconnected while its key was looked up.
  if (response.destroyed) return Promise.resolve("gone");
  const { patience } = scopeOf(response);
  const isTaken = slots.take(name, patience.leftMs);
  if (isTaken === false) return false;
  if (isTaken === true) {
    whenOver(response, () => slots.give(name));
    return true;
  }
  return patience.during(isTaken, "slot").then((hasPlace) => {
    if (hasPlace) whenOver(response, () => slots.give(name));
    return response.destroyed ? "gone" : hasPlace;
  });
}

async function continueOrRefuse(
  admission: boolean | Promise<boolean | "gone">,
  next: () => void,
  refusal: () => TooManyAtOnce,
): Promise<void> {
  const outcome = await admission;
  if (outcome === false) throw refusal();
  if (outcome === true) next();
}
