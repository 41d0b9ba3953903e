import { runInNewContext } from "node:vm";
import { expect } from "vitest";

/** Runs work that must take at most this much CPU time, whatever other programs do. Stops it at ten times that. */
export function withinEffort<Result>(maxMs: number, work: () => Result): Result {
  const before = process.cpuUsage();
  try {
    return runInNewContext("work()", { work }, { timeout: 10 * maxMs }) as Result;
  } finally {
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(maxMs);
  }
}
