import { runInNewContext } from "node:vm";
import { expect } from "vitest";

/** CPU time in ms that `slownessNow` needs on a machine that is neither fast nor slow. */
const REFERENCE_MS = 10;
const REFERENCE = { words: Array.from({ length: 10_000 }, (_, index) => `word ${index}`) };

/**
 * Runs work that must take at most this much CPU time, whatever other programs do. A machine that turns out to be slow
 * gets as much more. Stops it at ten times that.
 */
export function withinEffort<Result>(maxMs: number, work: () => Result): Result {
  const before = process.cpuUsage();
  try {
    return runInNewContext("work()", { work }, { timeout: 10 * maxMs }) as Result;
  } finally {
    const took = cpuMsSince(before);
    if (took >= maxMs) expect(took / slownessNow()).toBeLessThan(maxMs);
  }
}

function slownessNow(): number {
  const before = process.cpuUsage();
  for (let round = 0; round < 5; round++) {
    const { words } = JSON.parse(JSON.stringify(REFERENCE)) as typeof REFERENCE;
    words.join().split(/[, ]/);
  }
  return Math.max(1, cpuMsSince(before) / REFERENCE_MS);
}

function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
