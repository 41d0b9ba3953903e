import { LIMITS } from "../limits.js";
import { RateLimited, accountBudget } from "../operation/budget.js";
import { networksOf } from "../operation/network.js";
import type { Budgets } from "../platform/rate-limit/rate-limiter.js";
import type { RequestScope } from "./request-scope.js";

const { windowMs, requestsByPlan, failedKeysPerAddress, keylessPerAddress } = LIMITS.budgets;

/**
 * Takes `cost` requests from the caller's budget, and sets the headers that say what is left. A cost of 0 takes nothing
 * and checks that at least one is left.
 * @throws RateLimited when fewer than `cost` are left; then none is taken.
 */
export async function chargeCaller(budgets: Budgets, scope: RequestScope, cost: number): Promise<void> {
  if (!scope.caller) return;
  const { plan } = scope.caller;
  scope.charged ||= cost > 0;
  await charge(budgets, scope, { name: accountBudget(scope.caller), policy: plan, limit: requestsByPlan[plan], cost });
}

/**
 * Charges failed authentication to its own budget, so that no stranger can use up an account's. A cost of 0 checks that
 * at least one is left.
 * @throws RateLimited when the address has failed to authenticate too often; its valid keys still work.
 */
export async function chargeFailure(budgets: Budgets, scope: RequestScope, cost: 0 | 1 = 1): Promise<void> {
  await chargeAddress(budgets, scope, {
    name: "address",
    policy: "failed-authentication",
    limit: failedKeysPerAddress,
    cost,
  });
}

const KEYLESS = { name: "keyless", policy: "keyless", limit: keylessPerAddress };

/**
 * Charges the address at most once per request, even if several handlers call it.
 * @throws RateLimited when the address has sent too many requests without a key; requests with a key still work.
 */
export async function chargeKeyless(budgets: Budgets, scope: RequestScope): Promise<void> {
  if (scope.keylessCharged) return;
  scope.keylessCharged = true;
  await chargeAddress(budgets, scope, { ...KEYLESS, cost: 1 });
}

/**
 * Charges the address for further work of a request without a key, as a number of requests.
 * @throws RateLimited when fewer are left; then none is taken.
 */
export async function chargeKeylessWork(budgets: Budgets, scope: RequestScope, cost: number): Promise<void> {
  if (cost > 0) await chargeAddress(budgets, scope, { ...KEYLESS, cost });
}

/**
 * Charges the address and its larger network. The headers show the budget of the address, and the larger one only when
 * that is used up.
 */
async function chargeAddress(budgets: Budgets, scope: RequestScope, { name, limit, ...rest }: Charge): Promise<void> {
  for (const { network, shares } of networksOf(scope.clientAddress)) {
    const headers = shares === 1 ? "always" : "refused";
    await charge(budgets, scope, { ...rest, name: `${name}:${network}`, limit: limit * shares, headers });
  }
}

interface Charge {
  readonly name: string;
  readonly policy: string;
  readonly limit: number;
  readonly cost: number;
  /** When the headers show this budget; always by default. */
  readonly headers?: "always" | "refused";
}

/** Charges in one atomic step. A library that reads, decides and then writes would let concurrent requests all pass. */
async function charge(budgets: Budgets, scope: RequestScope, request: Charge): Promise<void> {
  const { name, policy, limit, cost, headers = "always" } = request;
  const redis = scope.waits.of("redis");
  redis.start();
  // It never fails: without Redis this process counts.
  const { used, resetMs } = await budgets.take(name, { limit, cost });
  redis.stop();
  const isRefused = used + Math.max(1, cost) > limit;
  if (!isRefused && headers === "refused") return;
  const seconds = Math.max(1, Math.ceil(resetMs / 1_000));
  const left = Math.max(0, limit - used - (isRefused ? 0 : cost));
  scope.setHeader("RateLimit-Policy", `"${policy}";q=${limit};w=${windowMs / 1_000}`);
  scope.setHeader("RateLimit", `"${policy}";r=${left};t=${seconds}`);
  if (!isRefused) return;
  scope.meter?.refused(policy);
  throw new RateLimited(seconds);
}
