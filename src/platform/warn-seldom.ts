import { LIMITS } from "../limits.js";
import type { Logger } from "./logger.js";

interface Told {
  at: number;
  more: number;
}

/** By logger, so that each server of a process logs its own. */
const toldBy = new WeakMap<Logger, Map<string, Told>>();

/**
 * Warns once a minute of each kind of trouble, with how often it was met since: one fault is met by every request and
 * by every connection. There must be few kinds: each is remembered.
 */
export function warnSeldom(log: Logger, kind: string, fields: object, message: string): void {
  const told = toldBy.get(log) ?? new Map<string, Told>();
  toldBy.set(log, told);
  const before = told.get(kind);
  const now = performance.now();
  if (before && now - before.at < LIMITS.log.noteEveryMs) {
    before.more++;
    return;
  }
  told.set(kind, { at: now, more: 0 });
  log.warn({ ...fields, ...(before?.more ? { since_last_told: before.more } : {}) }, message);
}
