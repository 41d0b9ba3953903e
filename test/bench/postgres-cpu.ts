import { readFileSync } from "node:fs";
import type pg from "pg";

/** The kernel tells times in hundredths of a second, whatever it counts in itself. */
const TICK_MICROSECONDS = 10_000;

/** What each backend of the database has used of the CPU so far, in microseconds. */
export type BackendTimes = ReadonlyMap<number, number>;

/** Undefined where it cannot be told: off Linux, or when PostgreSQL runs on another machine. */
export async function backendTimes(monitor: pg.Client): Promise<BackendTimes | undefined> {
  if (process.platform !== "linux") return undefined;
  const { rows } = await monitor.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity
     WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`,
  );
  try {
    return new Map(rows.map(({ pid }) => [pid, timeOf(pid)]));
  } catch {
    return undefined;
  }
}

/**
 * proc_pid_stat(5): after the name in parentheses come the state and the numbers, user and system time the 12th and
 * 13th.
 */
function timeOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  if (!stat.includes("(postgres)")) throw new Error("The process is another's.");
  const numbers = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(numbers[11]) + Number(numbers[12])) * TICK_MICROSECONDS;
}

/** What all of them used between two looks. One that ended in between is left out, one that began counts in full. */
export function usedBetween(before: BackendTimes | undefined, after: BackendTimes | undefined): number | undefined {
  if (!before || !after) return undefined;
  return [...after].reduce((sum, [pid, time]) => sum + time - (before.get(pid) ?? 0), 0);
}
