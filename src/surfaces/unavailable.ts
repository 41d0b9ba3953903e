import { LIMITS } from "../limits.js";
import { UNAVAILABLE, type WhyUnavailable } from "../platform/database-errors.js";
import type { Logger } from "../platform/logger.js";

interface Noted {
  at: number;
  more: number;
}

/** By logger, so that each server of a process logs its own. */
const notedBy = new WeakMap<Logger, Map<string, Noted>>();

/** Logs why requests are answered 503, and what to do: once a minute for each reason, with how many more had it. */
export function noteUnavailable(log: Logger, why: string, error?: unknown): void {
  const noted = notedBy.get(log) ?? new Map<string, Noted>();
  notedBy.set(log, noted);
  const before = noted.get(why);
  const now = performance.now();
  if (before && now - before.at < LIMITS.log.noteEveryMs) {
    before.more++;
    return;
  }
  noted.set(why, { at: now, more: 0 });
  const more = before?.more ? { since_last_told: before.more } : {};
  log.warn(
    { why, ...more, err: error },
    `requests are answered 503. ${why in UNAVAILABLE ? UNAVAILABLE[why as WhyUnavailable] : why}`,
  );
}
