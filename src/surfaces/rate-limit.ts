import { Store, getGraphQLRateLimiter } from "graphql-rate-limit";
import { LIMITS } from "../limits.js";
import { RateLimited, networksOf } from "../operation/budget.js";
import type { Budgets, Taken } from "../platform/rate-limiter.js";
import type { RequestScope } from "./http.js";

const { windowMs, requestsByPlan, failedKeysPerAddress, keylessPerAddress } = LIMITS.budgets;

/**
 * Takes `cost` requests from the caller's budget and says in the headers what is left. A cost of 0 takes nothing and
 * asks whether there is room for one.
 * @throws RateLimited when there is no room for all of them; then none is taken.
 */
export async function chargeCaller(budgets: Budgets, scope: RequestScope, cost: number): Promise<void> {
  if (!scope.caller) return;
  const { userId, plan } = scope.caller;
  scope.charged ||= cost > 0;
  await charge(budgets, scope, { name: `user:${userId}`, policy: plan, limit: requestsByPlan[plan], cost });
}

/**
 * A budget of its own, so that no stranger uses up an account's. A cost of 0 asks whether there is room for one.
 * @throws RateLimited when the address has failed to authenticate too often; its valid keys go on working.
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
 * Once for a request, however many doors it comes by.
 * @throws RateLimited when the address has sent too many requests without a key; those with one go on.
 */
export async function chargeKeyless(budgets: Budgets, scope: RequestScope): Promise<void> {
  if (scope.keylessCharged) return;
  scope.keylessCharged = true;
  await chargeAddress(budgets, scope, { name: "keyless", policy: "keyless", limit: keylessPerAddress, cost: 1 });
}

/** Says in the headers what is left for the address itself, unless it is its larger network that has used up its own. */
async function chargeAddress(budgets: Budgets, scope: RequestScope, { name, limit, ...rest }: Charge): Promise<void> {
  for (const { network, shares } of networksOf(scope.clientAddress)) {
    const told = shares === 1 ? "always" : "refused";
    await charge(budgets, scope, { ...rest, name: `${name}:${network}`, limit: limit * shares, told });
  }
}

interface Charge {
  readonly name: string;
  readonly policy: string;
  readonly limit: number;
  readonly cost: number;
  /** When the headers tell of this budget; always, unless said else. */
  readonly told?: "always" | "refused";
}

async function charge(budgets: Budgets, scope: RequestScope, wish: Charge): Promise<void> {
  const { name, policy, limit, cost, told = "always" } = wish;
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
  if (!refused && told === "refused") return;
  scope.setHeader("RateLimit-Policy", `"${policy}";q=${limit};w=${windowMs / 1_000}`);
  scope.setHeader("RateLimit", `"${policy}";r=${left};t=${seconds}`);
  if (refused) throw new RateLimited(seconds);
}

/** graphql-rate-limit counts by field unless told otherwise; here all fields are one budget. */
const ANY_FIELD = { fieldName: "request" } as Parameters<ReturnType<typeof getGraphQLRateLimiter>>[0]["info"];

/**
 * A store for one decision. graphql-rate-limit reads, decides and then writes, so of 200 requests at once all would
 * read the same: here reading takes as well, in one atomic step, and the library decides on what was used before it.
 */
class AtomicStore extends Store {
  taken: Taken = { used: 0, resetMs: windowMs };

  constructor(
    private readonly budgets: Budgets,
    private readonly wish: { readonly limit: number; readonly cost: number },
  ) {
    super();
  }

  override async getForIdentity({ contextIdentity }: { contextIdentity: string }): Promise<readonly number[]> {
    const { limit, cost } = this.wish;
    this.taken = await this.budgets.take(contextIdentity, this.wish);
    // The library walks this list several times a request, so it is as long as the decision needs: empty or full.
    const hasRoom = this.taken.used + Math.max(1, cost) <= limit;
    return hasRoom ? [] : Array.from({ length: limit }, () => Date.now());
  }

  override setForIdentity(): void {}
}
