import type { Handler, Response } from "express";
import type { Caller } from "../operation/context.js";
import { TooManyAtOnce } from "../operation/failure.js";
import { networkOf } from "../operation/budget.js";
import type { HttpLimits } from "./http-limits.js";
import { scopeOf } from "./http.js";
import { Places } from "./places.js";
import type { Work } from "./work.js";

/** Health checks are always let in: they decide whether the process is restarted. */
const HEALTH = /^\/(?:healthz|readyz)(?:$|\?)/;

/** Lets requests in by address, before their bodies are read and before their keys are looked up. */
export function admitAddress(work: Work, limits: HttpLimits): Handler {
  const room = {
    places: limits.connectionsPerAddress,
    waiting: limits.waitingPerAddress,
    waitMs: limits.waitForPlaceMs,
  };
  const places = new Places(room);
  return (request, response, next) => {
    if (HEALTH.test(request.url)) return next();
    work.assertNotOverloaded();
    const isLetIn = letIn(places, networkOf(scopeOf(response).clientAddress), response);
    if (isLetIn === true) return next();
    return settle(isLetIn, next, () => refusalOf("address", room));
  };
}

/** Lets requests in by key, when it is known and before their bodies are read. */
export function admitKey(limits: HttpLimits): Handler {
  const { connectionsPerKey: places, waitingPerKey: waiting, waitForPlaceMs: waitMs } = limits;
  return admitCaller("key", { places, waiting, waitMs }, ({ keyId }) => keyId);
}

/**
 * Lets an account's GraphQL requests in. Each may come to an answer of megabytes, of which the process holds several
 * times as much until it is written.
 */
export function admitGraphQL(limits: HttpLimits): Handler {
  const { graphqlPerAccount: places, waitingPerKey: waiting, waitForPlaceMs: waitMs } = limits;
  return admitCaller("account by GraphQL", { places, waiting, waitMs }, ({ userId }) => userId);
}

function admitCaller(
  whose: string,
  room: { readonly places: number; readonly waiting: number; readonly waitMs: number },
  nameOf: (caller: Caller) => string,
): Handler {
  const places = new Places(room);
  return (_request, response, next) => {
    const { caller } = scopeOf(response);
    const isLetIn = !caller || letIn(places, nameOf(caller), response);
    if (isLetIn === true) return next();
    return settle(isLetIn, next, () => refusalOf(whose, room));
  };
}

/** Takes a place until the request is over; "gone" says that nobody waits for an answer any more. */
function letIn(places: Places, name: string, response: Response): boolean | Promise<boolean | "gone"> {
  const { patience } = scopeOf(response);
  const isTaken = places.take(name, patience.leftMs);
  if (isTaken === false) return false;
  if (isTaken === true) {
    response.once("close", () => places.give(name));
    return true;
  }
  let isGone = false;
  const leave = () => void (isGone = true);
  response.once("close", leave);
  return patience.during(isTaken).then((hasPlace) => {
    response.off("close", leave);
    if (hasPlace && isGone) places.give(name);
    else if (hasPlace) response.once("close", () => places.give(name));
    return isGone ? "gone" : hasPlace;
  });
}

async function settle(
  isLetIn: boolean | Promise<boolean | "gone">,
  next: () => void,
  refusal: () => TooManyAtOnce,
): Promise<void> {
  const outcome = await isLetIn;
  if (outcome === false) throw refusal();
  if (outcome === true) next();
}

export const refusalOf = (whose: string, { places, waiting }: { places: number; waiting: number }): TooManyAtOnce =>
  new TooManyAtOnce(
    `At most ${places} requests of one ${whose} are served at a time, and ${waiting} more wait. Read the answers ` +
      "before you send more.",
  );
