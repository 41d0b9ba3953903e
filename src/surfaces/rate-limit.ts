import { Store, getGraphQLRateLimiter } from "graphql-rate-limit";
import { RateLimited, networkOf } from "../operation/budget.js";
import type { Plan } from "../operation/context.js";
import { type Budgets, type Taken, WINDOW_MS } from "../platform/rate-limiter.js";
import type { RequestScope } from "./http.js";

/** Requests a minute by plan, over all keys of a user and all doors: from the service's published limits. */
const REQUESTS_PER_MINUTE: Readonly<Record<Plan, number>> = { free: 60, pro: 300, team: 1_000 };
/** Failed authentications a minute from one address: a budget of its own, so that no stranger uses up an account's. */
const FAILURES_PER_MINUTE = 60;
/** Requests a minute without a key from one address, where the door takes any: for introspection and signing up. */
const KEYLESS_PER_MINUTE = 300;

/**
 * Takes `cost` requests from the caller's budget and says in the headers what is left. A cost of 0 takes nothing and
 * asks whether there is room for one.
 * @throws RateLimited when there is no room for all of them; then none is taken.
 */
export async function chargeCaller(budgets: Budgets, scope: RequestScope, cost: number): Promise<void> {
  if (!scope.caller) return;
  const { userId, plan } = scope.caller;
  scope.charged ||= cost > 0;
  await charge(budgets, scope, { name: `user:${userId}`, policy: plan, limit: REQUESTS_PER_MINUTE[plan], cost });
}

/** @throws RateLimited when the address has failed to authenticate too often; its valid keys go on working. */
export async function chargeFailure(budgets: Budgets, scope: RequestScope, address: string): Promise<void> {
  const name = `address:${networkOf(address)}`;
  await charge(budgets, scope, { name, policy: "failed-authentication", limit: FAILURES_PER_MINUTE, cost: 1 });
}

/** @throws RateLimited when the address has sent too many requests without a key; those with one go on. */
export async function chargeKeyless(budgets: Budgets, scope: RequestScope): Promise<void> {
  const name = `keyless:${networkOf(scope.clientAddress)}`;
  await charge(budgets, scope, { name, policy: "keyless", limit: KEYLESS_PER_MINUTE, cost: 1 });
}

interface Charge {
  readonly name: string;
  readonly policy: string;
  readonly limit: number;
  readonly cost: number;
}

async function charge(budgets: Budgets, scope: RequestScope, { name, policy, limit, cost }: Charge): Promise<void> {
  const account = new AtomicStore(budgets, { limit, cost });
  const refuses = getGraphQLRateLimiter({ identifyContext: () => name, store: account });
  const calls = Array.from({ length: cost });
  const refused = await refuses(
    { parent: undefined, args: { calls }, context: {}, info: ANY_FIELD },
    { max: limit, window: `${WINDOW_MS}ms`, arrayLengthField: "calls", uncountRejected: true },
  );
  const { used, resetMs } = account.taken;
  const seconds = Math.max(1, Math.ceil(resetMs / 1_000));
  const left = Math.max(0, limit - used - (refused ? 0 : cost));
  scope.setHeader("RateLimit-Policy", `"${policy}";q=${limit};w=${WINDOW_MS / 1_000}`);
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
  taken: Taken = { used: 0, resetMs: WINDOW_MS };

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
