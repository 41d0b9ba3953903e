import { type Handler, Router } from "express";
import { Failure } from "../../operation/failure.js";
import type { Budgets } from "../../platform/rate-limit/rate-limiter.js";
import { readBody } from "../body.js";
import { noteRoute, scopeOf } from "../request-scope.js";
import { chargeFailure } from "../rate-limit.js";
import { refuseOtherMethods } from "../plain-errors.js";

/** Handles an event, given the exact bytes that were signed and the signature. */
export type ReceiveEvent = (body: Buffer, signature: string) => Promise<void>;

const PATH = "/billing/stripe-webhook";

/**
 * Stripe's webhook. It is not an operation: there is no caller, and a signature replaces the key. Stripe sends an event
 * again after every answer other than 2xx.
 */
export function paymentWebhook(budgets: Budgets, receive: ReceiveEvent): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.all(PATH, noteRoute(PATH));
  router.post(PATH, checkFailedSignatures(budgets), readBody, handleEvent(budgets, receive));
  router.all(PATH, refuseOtherMethods(["POST"]));
  return router;
}

/**
 * Refuses requests without a signature from an address with too many wrong signatures, before the body is read.
 * Requests with a signature are still read: behind a proxy all share one address, and nobody may lock Stripe out.
 */
const checkFailedSignatures =
  (budgets: Budgets): Handler =>
  async (request, response, next) => {
    if (!request.get("stripe-signature")) await chargeFailure(budgets, scopeOf(response), 0);
    next();
  };

const handleEvent =
  (budgets: Budgets, receive: ReceiveEvent): Handler =>
  async (request, response) => {
    const scope = scopeOf(response);
    scope.door = "rest";
    scope.operations.push("stripeWebhook");
    const body: unknown = request.body;
    try {
      await receive(Buffer.isBuffer(body) ? body : Buffer.alloc(0), request.get("stripe-signature") ?? "");
    } catch (error) {
      if (error instanceof Failure && error.reason === "invalid_signature") await chargeFailure(budgets, scope);
      throw error;
    }
    response.json({ received: true });
  };
