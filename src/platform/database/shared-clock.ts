import { randomInt } from "node:crypto";
import { v7 as uuidv7 } from "uuid";
import { LIMITS } from "../../limits.js";
import type { Logger } from "../telemetry/logger.js";
import { warnSeldom } from "../telemetry/warn-seldom.js";

const { readEveryMs, differenceMs, contradictionMs } = LIMITS.clock;

interface Parts {
  /** Reads the clock that all servers share: the database's. */
  readTime(): Promise<Date>;
  readonly log: Logger;
}

/**
 * The time that all servers agree on. While this machine's clock agrees with the database's, it is used as it is;
 * otherwise it is corrected. When somebody sets it, time goes on as before, and the database's clock is read again.
 */
export class SharedClock {
  /** What is added to this machine's clock. */
  #correctionMs = 0;
  /** When counting began by this machine's clock: it changes only if somebody sets that clock. */
  #originMs = originOfNow();
  #reading: Promise<void> | undefined;

  constructor(private readonly parts: Parts) {}

  readonly now = (): Date => {
    const setByMs = originOfNow() - this.#originMs;
    if (Math.abs(setByMs) <= differenceMs) return new Date(Date.now() + this.#correctionMs);
    this.read().catch(() => {});
    return new Date(Date.now() + this.#correctionMs - setByMs);
  };

  /** Compares the clocks. @throws when the database cannot be read; then the correction stays as it was. */
  read(): Promise<void> {
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  async #read(): Promise<void> {
    const askedAt = performance.now();
    const time = await this.parts.readTime();
    const tookMs = performance.now() - askedAt;
    // A late answer does not tell the time well.
    if (tookMs > LIMITS.clock.roundTripMs) return;
    const difference = time.getTime() + tookMs / 2 - Date.now();
    const isWrong = Math.abs(difference) > differenceMs;
    this.#correctionMs = isWrong ? Math.round(difference) : 0;
    this.#originMs = originOfNow();
    if (!isWrong) return;
    const seconds = Math.round(difference / 1_000);
    warnSeldom(
      this.parts.log,
      "clock",
      { seconds },
      "the clocks of this machine and of PostgreSQL differ: set both by NTP",
    );
  }

  /** A background job, so that a clock that goes wrong slowly is noticed, too. */
  get chore() {
    const run = async () => {
      await this.read();
      return false;
    };
    return { name: "compare the clocks", intervalMs: readEveryMs, run };
  }
}

/** This machine's time at which `performance.now()` was 0. */
const originOfNow = (): number => Date.now() - performance.now();

/**
 * Makes UUIDv7 by this clock. Each id sorts after the earlier ones of this process, even if the clock goes back. But if
 * it was far ahead, and now agrees with this machine's, ids go back with it: going on from there, they would sort after
 * all that other servers make, and could not be restored elsewhere, for as long as it was ahead.
 */
export function idsBy(now: () => Date): () => string {
  let [msecs, seq] = [0, 0];
  return () => {
    const time = now().getTime();
    const isRightAgain = time < msecs - contradictionMs && Math.abs(time - Date.now()) <= contradictionMs;
    // Half of all numbers are left for further ids of the same millisecond.
    [msecs, seq] = time > msecs || isRightAgain ? [time, randomInt(2 ** 31)] : [msecs, seq + 1];
    return uuidv7({ msecs, seq });
  };
}
