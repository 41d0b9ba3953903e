import { HOUR_MS } from "../durations.js";
import { LIMITS } from "../limits.js";
import type { Budgets, Charge } from "../platform/rate-limit/rate-limiter.js";
import type { Caller, Context } from "./context.js";
import { CommonFailure } from "./failure.js";

export class RateLimited extends CommonFailure {
  static readonly example = new RateLimited(12);
  readonly kind = "rate_limited";
  override readonly retryAfterSeconds: number;

  /** `limit` says in a sentence which limit was reached. */
  constructor(retryAfterSeconds: number, limit = "Too many requests.") {
    super(`${limit} Try again in ${retryAfterSeconds} s.`);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

const { requestsByPlan, windowMs } = LIMITS.budgets;

/** The name of the budget that counts a user's requests. */
export const accountBudget = ({ userId }: Pick<Caller, "userId">): string => `user:${userId}`;

/**
 * Takes requests from the budget of a user, which all doors share.
 * @throws RateLimited when fewer are left; then none is taken.
 */
export async function spendRequests(
  { budgets }: Pick<Context, "budgets">,
  caller: Caller,
  cost: number,
): Promise<void> {
  const charge = { limit: requestsByPlan[caller.plan], windowMs, cost };
  const seconds = await takeFrom(budgets, accountBudget(caller), charge);
  if (seconds > 0) throw new RateLimited(seconds);
}

/** Takes from a budget and returns 0; if too little is left, takes nothing and returns the seconds until it is full. */
async function takeFrom(budgets: Budgets, name: string, charge: Charge): Promise<number> {
  const { used, resetMs } = await budgets.take(name, charge);
  return used + charge.cost <= charge.limit ? 0 : Math.max(1, Math.ceil(resetMs / 1_000));
}

/**
 * Counts the bytes of a result that is kept for an Idempotency-Key, unless it is small: no graph's size contains it.
 * @throws RateLimited when all of the user's results would take more than a graph of the plan.
 */
export async function spendResultBytes(
  context: Pick<Context, "budgets" | "caller" | "meter" | "storage" | "resultHours">,
  bytes: number,
): Promise<void> {
  if (bytes <= LIMITS.idempotency.smallResultBytes) return;
  const { budgets, caller, meter, storage, resultHours } = context;
  const { bytes: limit } = storage[caller.plan];
  const charge = { limit, windowMs: resultHours * HOUR_MS, cost: bytes };
  const seconds = await takeFrom(budgets, `results:${caller.userId}`, charge);
  if (seconds === 0) return;
  meter?.refused("results");
  throw new RateLimited(
    seconds,
    `The results kept for an account's Idempotency-Keys take at most ${limit.toLocaleString("en")} bytes in ` +
      `${resultHours} hours; without this header no result is kept.`,
  );
}
