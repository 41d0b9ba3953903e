import { Store, getGraphQLRateLimiter } from "graphql-rate-limit";
import { LIMITS } from "../limits.js";
import { RateLimited, networksOf } from "../operation/budget.js";
import type { Budgets, Taken } from "../platform/rate-limiter.js";
import type { RequestScope } from "./http.js";

const { windowMs, requestsByPlan, failedKeysPerAddress, keylessPerAddress } = LIMITS.budgets;

/**
 * Takes `cost` requests from the caller's budget, and sets the headers that say what is left. A cost of 0 takes nothing
 * and checks that at least one is left.
 * @throws RateLimited when fewer than `cost` are left; then none is taken.
 */
export async function chargeCaller(budgets: Budgets, scope: RequestScope, cost: number): Promise<void> {
  if (!scope.caller) return;
  const { userId, plan } = scope.caller;
  scope.charged ||= cost > 0;
  await charge(budgets, scope, { name: `user:${userId}`, policy: plan, limit: requestsByPlan[plan], cost });
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

/**
 * Charges the address at most once per request, even if several handlers call it.
 * @throws RateLimited when the address has sent too many requests without a key; requests with a key still work.
 */
export async function chargeKeyless(budgets: Budgets, scope: RequestScope): Promise<void> {
  if (scope.keylessCharged) return;
  scope.keylessCharged = true;
  await chargeAddress(budgets, scope, { name: "keyless", policy: "keyless", limit: keylessPerAddress, cost: 1 });
}

/** The headers show the address's own budget, and that of its larger network only if that is used up. */
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

async function charge(budgets: Budgets, scope: RequestScope, request: Charge): Promise<void> {
  const { name, policy, limit, cost, headers = "always" } = request;
  const account = new AtomicStore(budgets, { limit, cost });
  const refuses = getGraphQLRateLimiter({ identifyContext: () => name, store: account });
  const calls = Array.from({ length: cost });
  const refused = await refuses(
    { parent: undefined, args: { calls }, context: {}, info: ANY_FIELD },
    { max: limit, window: `${windowMs}ms`, arrayLengthField: "calls", uncountRejected: true },
  );
  const { used, resetMs } = account.taken;
  const seconds = Math.max(1, Math.ceil(resetMs / 1_000));
  const left = Math.max(0, limit - used - (refused ? 0 : cost));
  if (!refused && headers === "refused") return;
  scope.setHeader("RateLimit-Policy", `"${policy}";q=${limit};w=${windowMs / 1_000}`);
  scope.setHeader("RateLimit", `"${policy}";r=${left};t=${seconds}`);
  if (refused) throw new RateLimited(seconds);
}

/** graphql-rate-limit counts each field separately by default; here all fields share one budget. */
const ANY_FIELD = { fieldName: "request" } as Parameters<ReturnType<typeof getGraphQLRateLimiter>>[0]["info"];

/**
 * A store for one decision. graphql-rate-limit reads, decides and then writes, so 200 concurrent requests would all
 * read the same count. Here reading also takes, in one atomic step, and the library decides on the count before it.
 */
class AtomicStore extends Store {
  taken: Taken = { used: 0, resetMs: windowMs };

  constructor(
    private readonly budgets: Budgets,
    private readonly charge: { readonly limit: number; readonly cost: number },
  ) {
    super();
  }

  override async getForIdentity({ contextIdentity }: { contextIdentity: string }): Promise<readonly number[]> {
    const { limit, cost } = this.charge;
    this.taken = await this.budgets.take(contextIdentity, this.charge);
    // The library walks this list several times per request, so it is either empty or just long enough to refuse.
    const hasRoom = this.taken.used + Math.max(1, cost) <= limit;
    return hasRoom ? [] : Array.from({ length: limit }, () => Date.now());
  }

  override setForIdentity(): void {}
}
