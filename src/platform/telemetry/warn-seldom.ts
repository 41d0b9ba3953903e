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
  if (last && !isWarningDue(log, kind)) {
    last.suppressed++;
    return false;
  }
  warnings.set(kind, { at: performance.now(), suppressed: 0 });
  log.warn({ ...fields, ...(last?.suppressed ? { suppressed: last.suppressed } : {}) }, message);
  return true;
}

/** Whether `warnSeldom` would log a warning of this kind now: its fields may take work that is needed only then. */
export function isWarningDue(log: Logger, kind: string): boolean {
  const last = warningsOf.get(log)?.get(kind);
  return !last || performance.now() - last.at >= LIMITS.log.noteEveryMs;
}
