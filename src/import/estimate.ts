import { LIMITS } from "../limits.js";

/** How many requests are left, from the headers of the last answer. */
export interface Budget {
  readonly quota: number;
  readonly windowSeconds: number;
  readonly left: number;
  /** Until `quota` requests are available again. */
  readonly resetSeconds: number;
}

/** A first estimate of the time per request. */
const SECONDS_EACH = 0.05;

/** How many requests of the budget an import takes: bulk calls for its items, and one call for each update. */
export const requestsFor = (items: number, updates = 0): number =>
  Math.ceil(items / LIMITS.bulk.itemsPerRequest) + updates;

/** How long a number of requests takes: those within the budget run at once, the others after each reset. */
export function estimateSeconds(requests: number, budget: Budget | undefined, secondsEach = SECONDS_EACH): number {
  const working = requests * secondsEach;
  if (!budget || requests <= budget.left) return working;
  const windowsMore = Math.ceil((requests - Math.max(budget.left, 0)) / Math.max(budget.quota, 1)) - 1;
  return Math.max(working, budget.resetSeconds + windowsMore * budget.windowSeconds);
}

/** A duration in words, rounded like an estimate. */
export function showDuration(seconds: number): string {
  if (seconds < 10) return "a few seconds";
  if (seconds < 90) return `about ${Math.ceil(seconds / 10) * 10} s`;
  if (seconds < 5_400) return `about ${Math.ceil(seconds / 60)} min`;
  return `about ${Math.ceil(seconds / 360) / 10} h`;
}
