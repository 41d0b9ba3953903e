import { LIMITS } from "../../limits.js";
import type { Logger } from "./logger.js";

interface LastWarning {
  at: number;
  suppressed: number;
}

/** By logger, so that each server of a process logs its own warnings. */
const warningsOf = new WeakMap<Logger, Map<string, LastWarning>>();

/**
 * Logs each kind of warning at most once a minute, with the number of suppressed ones: one fault affects every request
 * and every connection. There must be few kinds, since each is kept in memory.
 * @returns whether it was logged.
 */
export function warnSeldom(log: Logger, kind: string, fields: object, message: string): boolean {
  const warnings = warningsOf.get(log) ?? new Map<string, LastWarning>();
  warningsOf.set(log, warnings);
  const last = warnings.get(kind);
  const now = performance.now();
  if (last && now - last.at < LIMITS.log.noteEveryMs) {
    last.suppressed++;
    return false;
  }
  warnings.set(kind, { at: now, suppressed: 0 });
  log.warn({ ...fields, ...(last?.suppressed ? { suppressed: last.suppressed } : {}) }, message);
  return true;
}
