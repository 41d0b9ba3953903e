import express, { type Handler, Router } from "express";
import { ApiError, invalidRequest } from "./errors.js";
import { type Fault, isFaultKind } from "./faults.js";
import type { StandInStripe } from "./stand-in-stripe.js";
import { isObject } from "./json.js";
import type { Card } from "./state.js";

const BODY_MAX_BYTES = 16 * 1_024;

type Body = Readonly<Record<string, unknown>>;

/**
 * Controls the stand-in over HTTP, when it is a separate process. Bodies and answers are JSON; invalid
 * requests are answered 400 with `{ error: { message } }`.
 *
 *   GET  /_stand-in/           { url, secretKey, webhookSecret, priceId, stateFile?, now }
 *   GET  /_stand-in/requests   every API request received, oldest first
 *   POST /_stand-in/fault      { kind, method?, path?, after?, times?, delayMs? }, path as a regular expression's source
 *   POST /_stand-in/faults/clear
 *   POST /_stand-in/advance    { milliseconds }
 *   POST /_stand-in/pay        { session }
 *   POST /_stand-in/cancel     { subscription }, as in the customer portal
 *   POST /_stand-in/give-up    { subscription }: it is unpaid from now on
 *   POST /_stand-in/pause      { subscription }
 *   POST /_stand-in/card       { customer, card: "accepted" | "challenged" | "declined" }
 *   POST /_stand-in/invoice    { invoice }: pays it
 *   POST /_stand-in/webhook    { url, secret? }: sends events there
 *   POST /_stand-in/webhook/end { url }: sends no more events there
 *   POST /_stand-in/delivered  answers when every event was delivered or given up
 */
export function control(standIn: StandInStripe): Router {
  const router = Router();
  router.get("/", (_request, response) => {
    const { url, secretKey, webhookSecret, priceId, stateFile } = standIn;
    response.json({ url, secretKey, webhookSecret, priceId, stateFile, now: standIn.now().toISOString() });
  });
  router.get("/requests", (_request, response) => void response.json(standIn.requests));
  router.use(express.json({ inflate: false, limit: BODY_MAX_BYTES }));
  for (const [path, act] of Object.entries(actionsOf(standIn))) router.post(`/${path}`, does(act));
  return router;
}

type Act = (body: Body) => void | Promise<void>;

const actionsOf = (standIn: StandInStripe): Readonly<Record<string, Act>> => ({
  fault: (body) => standIn.fail(faultIn(body)),
  "faults/clear": () => standIn.clearFaults(),
  advance: (body) => standIn.advance(numberIn(body, "milliseconds")),
  pay: (body) => standIn.pay(textIn(body, "session")),
  cancel: (body) => standIn.cancelInPortal(textIn(body, "subscription")),
  "give-up": (body) => standIn.giveUp(textIn(body, "subscription")),
  pause: (body) => standIn.pause(textIn(body, "subscription")),
  card: (body) => standIn.setCard(textIn(body, "customer"), cardIn(body)),
  invoice: (body) => standIn.payInvoice(textIn(body, "invoice")),
  delivered: () => standIn.delivered(),
  "webhook/end": (body) => void standIn.sendNoEventsTo(textIn(body, "url")),
  webhook: (body) =>
    standIn.sendEventsTo(textIn(body, "url"), body["secret"] === undefined ? undefined : textIn(body, "secret")),
});

const does =
  (act: Act): Handler =>
  async (request, response) => {
    try {
      // A page of another site can send forms, but no JSON, without a preflight.
      if (request.is("json") === false) throw invalidRequest("The body must be JSON.");
      const body: unknown = request.body ?? {};
      await act(isObject(body) ? body : {});
      response.json({});
    } catch (error) {
      if (!(error instanceof ApiError || error instanceof RangeError)) throw error;
      response.status(400).json({ error: { message: error.message } });
    }
  };

function faultIn(body: Body): Fault {
  const { kind } = body;
  if (!isFaultKind(kind)) throw invalidRequest(`Unknown fault: ${String(kind)}.`);
  return {
    kind,
    ...(body["method"] !== undefined && { method: textIn(body, "method") }),
    ...(body["path"] !== undefined && { path: patternIn(textIn(body, "path")) }),
    ...(body["after"] !== undefined && { after: numberIn(body, "after") }),
    ...(body["times"] !== undefined && { times: numberIn(body, "times") }),
    ...(body["delayMs"] !== undefined && { delayMs: numberIn(body, "delayMs") }),
  };
}

function patternIn(source: string): RegExp {
  try {
    return new RegExp(source);
  } catch (error) {
    throw invalidRequest(String(error));
  }
}

function textIn(body: Body, name: string): string {
  const value = body[name];
  if (typeof value === "string") return value;
  throw invalidRequest(`${name} must be text.`);
}

function numberIn(body: Body, name: string): number {
  const value = body[name];
  if (typeof value === "number" && value >= 0) return value;
  throw invalidRequest(`${name} must be a number of at least 0.`);
}

function cardIn({ card }: Body): Card {
  if (card === "accepted" || card === "challenged" || card === "declined") return card;
  throw invalidRequest("card must be accepted, challenged or declined.");
}
