import { UNAVAILABLE, type WhyUnavailable } from "../platform/database/database-errors.js";
import type { Logger } from "../platform/telemetry/logger.js";
import { warnSeldom } from "../platform/telemetry/warn-seldom.js";

/** Logs why requests get 503 and what to do: once a minute per reason, with the number of further cases. */
export function noteUnavailable(log: Logger, why: string, error?: unknown): void {
  const advice = why in UNAVAILABLE ? UNAVAILABLE[why as WhyUnavailable] : why;
  warnSeldom(log, `unavailable ${why}`, { why, err: error }, `requests are answered 503. ${advice}`);
}
