/** How often a request waits for the rate limit: other clients may use up the same account's budget each time. */
export const RATE_WAITS_MAX = 60;
/** Why a command waits after the status 429. */
export const RATE_LIMITED = "rate limit reached";
/** How long to wait first when the server does not say how long. */
export const FIRST_BACKOFF_MS = 500;
const WAIT_MAX_MS = 600_000;

/**
 * How many milliseconds to wait by an answer's Retry-After, at most ten minutes; undefined if it says nothing. It has
 * seconds, or a date, which is compared with the server's own clock.
 */
export function retryAfterMs(headers: Headers): number | undefined {
  const [value = "", date = ""] = ["retry-after", "date"].map((name) => headers.get(name) ?? "");
  if (/^\d{1,6}$/.test(value)) return Math.min(Number(value) * 1_000, WAIT_MAX_MS);
  const [until, now] = [value, date].map((text) => (text.endsWith(" GMT") ? Date.parse(text) : Number.NaN));
  return until ? Math.min(Math.max(until - (now || Date.now()), 0), WAIT_MAX_MS) : undefined;
}
