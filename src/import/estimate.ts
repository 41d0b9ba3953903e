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

/** What an import has to do: items, stored by bulk calls, and updates, one call for each. */
export interface ImportWork {
  readonly items: number;
  /** Of the items' texts, in UTF-8. */
  readonly bytes?: number;
  readonly updates?: number;
}

/** How many requests of the budget an import takes. Bulk calls count by their items, or by their bytes if that is more. */
export function requestsFor({ items, bytes = 0, updates = 0 }: ImportWork): number {
  const { itemsPerRequest, bytesPerRequest } = LIMITS.bulk;
  return Math.max(Math.ceil(items / itemsPerRequest), Math.ceil(bytes / bytesPerRequest)) + updates;
}

/** How long a number of requests takes: those within the budget run at once, the others after each reset. */
export function estimateSeconds(requests: number, budget: Budget | undefined, secondsEach = SECONDS_EACH): number {
  const working = requests * secondsEach;
  if (!budget || requests <= budget.left) return working;
  const windowsMore = Math.ceil((requests - Math.max(budget.left, 0)) / Math.max(budget.quota, 1)) - 1;
  return Math.max(working, budget.resetSeconds + windowsMore * budget.windowSeconds);
}

/** How long the remaining steps of an import take; each is taken to have an equal part of the bytes. */
export function secondsLeft(
  steps: number,
  { items, bytes = 0 }: ImportWork,
  { budget, each }: { readonly budget: Budget | undefined; readonly each: number | undefined },
): number {
  const requests = requestsFor({ items: steps, bytes: (bytes * steps) / Math.max(items, 1) });
  return estimateSeconds(requests, budget, each && (each * steps) / Math.max(requests, 1));
}

/** A duration in words, rounded like an estimate. */
export function showDuration(seconds: number): string {
  if (seconds < 10) return "a few seconds";
  if (seconds < 90) return `about ${Math.ceil(seconds / 10) * 10} s`;
  if (seconds < 5_400) return `about ${Math.ceil(seconds / 60)} min`;
  return `about ${Math.ceil(seconds / 360) / 10} h`;
}
