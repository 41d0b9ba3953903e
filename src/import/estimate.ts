/** How many more requests the service takes, as its last answer said. */
export interface Budget {
  readonly quota: number;
  readonly windowSeconds: number;
  readonly left: number;
  /** Until there are `quota` requests again. */
  readonly resetSeconds: number;
}

/** For a first guess: what a request takes on its way and back, a few of them at once. */
const SECONDS_EACH = 0.01;

/** How long so many requests take: as many as the budget has at once, the others as it is filled again. */
export function estimateSeconds(requests: number, budget: Budget | undefined, secondsEach = SECONDS_EACH): number {
  const working = requests * secondsEach;
  if (!budget || requests <= budget.left) return working;
  const windowsMore = Math.ceil((requests - Math.max(budget.left, 0)) / Math.max(budget.quota, 1)) - 1;
  return Math.max(working, budget.resetSeconds + windowsMore * budget.windowSeconds);
}

/** A time in words, no more exact than an estimate is. */
export function showDuration(seconds: number): string {
  if (seconds < 10) return "a few seconds";
  if (seconds < 90) return `${Math.ceil(seconds / 10) * 10} s`;
  if (seconds < 5_400) return `${Math.ceil(seconds / 60)} min`;
  return `${Math.ceil(seconds / 360) / 10} h`;
}
