import { readFileSync } from "node:fs";
import type pg from "pg";

/** The kernel reports times in hundredths of a second, whatever its internal unit. */
const TICK_MICROSECONDS = 10_000;

/** The CPU time that each backend of the database has used so far, in microseconds. */
export type BackendTimes = ReadonlyMap<number, number>;

/** Undefined if it is not known: on other systems than Linux, or if PostgreSQL runs on another machine. */
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

/** proc_pid_stat(5): numbers follow the name in parentheses and the state; user and system time are 12th and 13th. */
function timeOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  if (!stat.includes("(postgres)")) throw new Error("The process is another's.");
  const numbers = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(numbers[11]) + Number(numbers[12])) * TICK_MICROSECONDS;
}

/** The CPU time of all backends between two readings. A backend that ended is left out, a new one counts in full. */
export function usedBetween(before: BackendTimes | undefined, after: BackendTimes | undefined): number | undefined {
  if (!before || !after) return undefined;
  return [...after].reduce((sum, [pid, time]) => sum + time - (before.get(pid) ?? 0), 0);
}
