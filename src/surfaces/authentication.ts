import type { Handler } from "express";
import type { Caller } from "../operation/context.js";
import { AccountSuspended, Unauthorized } from "../operation/failure.js";
import type { Budgets } from "../platform/rate-limit/rate-limiter.js";
import { type RequestScope, scopeOf } from "./request-scope.js";
import { chargeCaller, chargeFailure, chargeKeyless } from "./rate-limit.js";

/**
 * Finds the caller whose key an Authorization header holds. Every door uses it.
 * @throws Unauthorized for any invalid key. AccountSuspended for the valid key of a suspended user.
 */
export type Identify = (authorization: string | undefined) => Promise<Caller>;

/** Stores the caller in the scope. `readCaller` reads the caller again, whom the request's own changes may change. */
export async function identifyCaller(scope: RequestScope, identify: Identify, authorization?: string): Promise<void> {
  scope.readCaller = (patience = scope.patience) => patience.limit(identify(authorization));
  scope.caller = await scope.readCaller();
}

/** Identifies the caller before the body is read. If `optional`, a request without a key continues as anonymous. */
export const authenticate =
  (identify: Identify, budgets: Budgets, { optional }: { optional: boolean }): Handler =>
  async ({ headers: { authorization } }, response, next) => {
    const scope = scopeOf(response);
    if (!optional || authorization !== undefined) {
      try {
        await identifyCaller(scope, identify, authorization);
      } catch (error) {
        const isRefused = error instanceof Unauthorized || error instanceof AccountSuspended;
        // No key is no guess: such a request counts as every other one without a key.
        if (isRefused) await (authorization === undefined ? chargeKeyless : chargeFailure)(budgets, scope);
        throw error;
      }
    }
    next();
  };

/** Charges the address, for paths that need no key. */
export const chargeAddress =
  (budgets: Budgets): Handler =>
  async (_request, response, next) => {
    await chargeKeyless(budgets, scopeOf(response));
    next();
  };

/** Charges the address of a request that has no key. */
export function chargeWithoutKey(budgets: Budgets): Handler {
  const charge = chargeAddress(budgets);
  return (request, response, next) =>
    request.headers.authorization === undefined ? charge(request, response, next) : next();
}

/** Charges the caller for a REST request, even if it fails. */
export const chargeRequest =
  (budgets: Budgets): Handler =>
  async (_request, response, next) => {
    await chargeCaller(budgets, scopeOf(response), 1);
    next();
  };
