import { UNAVAILABLE, isWhyUnavailable } from "../platform/database/database-errors.js";
import type { Logger } from "../platform/telemetry/logger.js";
import { warnSeldom } from "../platform/telemetry/warn-seldom.js";

/**
 * Logs why requests get 503 and what to do: once a minute per reason, with the number of further cases. A reason that
 * `UNAVAILABLE` does not explain is one of `/readyz`.
 */
export function noteUnavailable(log: Logger, why: string, error?: unknown): void {
  const message = isWhyUnavailable(why)
    ? `requests are answered 503. ${UNAVAILABLE[why]}`
    : `\`/readyz\` answers 503: ${why}. \`npm run doctor\` says what to do.`;
  warnSeldom(log, `unavailable ${why}`, { why, err: error }, message);
}
