import { type Handler, Router } from "express";
import { Failure } from "../../operation/failure.js";
import type { Budgets } from "../../platform/rate-limiter.js";
import { readBody } from "../body.js";
import { noteFailure, scopeOf } from "../http.js";
import { chargeFailure } from "../rate-limit.js";
import { MethodNotAllowed, restError } from "./errors.js";

/** Takes the body, byte by byte as it was signed, and its signature. */
export type ReceiveEvent = (body: Buffer, signature: string) => Promise<void>;

const PATH = "/billing/stripe-webhook";

/**
 * Where Stripe tells what has happened: no operation, since it is no caller who asks, and a signature stands in place
 * of a key. What could not be acted upon is answered 500, and Stripe sends it again.
 */
export function paymentWebhook(budgets: Budgets, receive: ReceiveEvent): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.post(PATH, askFailures(budgets), readBody, received(budgets, receive));
  router.all(PATH, (_request, response) => {
    response.set("Allow", "POST");
    throw new MethodNotAllowed(["POST"]);
  });
  return router;
}

/**
 * Before the body is read: from an address with too many wrong signatures, requests without a signature are refused.
 * Those with one are still read: behind a proxy all share one address, and nobody may lock Stripe out.
 */
const askFailures =
  (budgets: Budgets): Handler =>
  async (request, response, next) => {
    if (!request.get("stripe-signature")) await chargeFailure(budgets, scopeOf(response), 0);
    next();
  };

const received =
  (budgets: Budgets, receive: ReceiveEvent): Handler =>
  async (request, response) => {
    const scope = scopeOf(response);
    scope.operations.push("stripeWebhook");
    const body: unknown = request.body;
    try {
      await receive(Buffer.isBuffer(body) ? body : Buffer.alloc(0), request.get("stripe-signature") ?? "");
    } catch (error) {
      const failure = error instanceof Failure ? error : undefined;
      if (failure?.reason === "invalid_signature") await chargeFailure(budgets, scope);
      if (failure?.kind === "bad_request" || failure?.reason === "billing_not_configured") throw error;
      noteFailure(error, response);
      response.status(500).json(restError(undefined));
      return;
    }
    response.json({ received: true });
  };
