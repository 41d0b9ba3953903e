import type { Handler } from "express";
import type { Caller } from "../operation/context.js";
import { AccountSuspended, Unauthorized } from "../operation/failure.js";
import type { Budgets } from "../platform/rate-limiter.js";
import { type RequestScope, scopeOf } from "./http.js";
import { chargeCaller, chargeFailure, chargeKeyless } from "./rate-limit.js";

/**
 * Whose key an Authorization header holds; every door asks this one.
 * @throws Unauthorized for any key that does not work. AccountSuspended for a right key of a suspended user.
 */
export type Identify = (authorization: string | undefined) => Promise<Caller>;

/** Notes who asks. What the key stands for can be read anew later in the request: its changes may have changed that. */
export async function identifyCaller(scope: RequestScope, identify: Identify, authorization?: string): Promise<void> {
  scope.readCaller = () => scope.patience.limit(identify(authorization));
  scope.caller = await scope.readCaller();
}

/** Finds out who asks, before anything of the body is read. Optional: a request without any key goes on without. */
export const authenticate =
  (identify: Identify, budgets: Budgets, { optional }: { optional: boolean }): Handler =>
  async ({ headers: { authorization } }, response, next) => {
    const scope = scopeOf(response);
    if (!optional || authorization !== undefined) {
      try {
        await identifyCaller(scope, identify, authorization);
      } catch (error) {
        if (error instanceof Unauthorized || error instanceof AccountSuspended) await chargeFailure(budgets, scope);
        throw error;
      }
    }
    next();
  };

/** Where nobody asks for a key the address pays, before anything else is done. */
export const chargeAddress =
  (budgets: Budgets): Handler =>
  async (_request, response, next) => {
    await chargeKeyless(budgets, scopeOf(response));
    next();
  };

/** The same wherever no key is given. */
export function chargeWithoutKey(budgets: Budgets): Handler {
  const charge = chargeAddress(budgets);
  return (request, response, next) =>
    request.headers.authorization === undefined ? charge(request, response, next) : next();
}

/** REST: a request costs one, whatever comes of it. */
export const chargeRequest =
  (budgets: Budgets): Handler =>
  async (_request, response, next) => {
    await chargeCaller(budgets, scopeOf(response), 1);
    next();
  };
