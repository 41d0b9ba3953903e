import type { Logger } from "./logger.js";

const LOOK_MS = 1_000;
/** Shorter pauses are ordinary, and `nodejs_eventloop_lag_max_seconds` shows them. */
const REPORT_MS = 3_000;

/**
 * Logs when the process did nothing for seconds, or was busy with one thing: to such a process the network and the
 * database seem broken, and the other lines of the log say so. A machine that was suspended shows in the time of day.
 */
export function reportPauses(log: Logger, { lookMs = LOOK_MS, reportMs = REPORT_MS } = {}): Disposable {
  let last = readClocks();
  const look = (): void => {
    const now = readClocks();
    const seconds = (Math.max(now.runningMs - last.runningMs, now.dayMs - last.dayMs) - lookMs) / 1_000;
    const busySeconds = (now.cpuMs - last.cpuMs) / 1_000;
    last = now;
    if (seconds * 1_000 < reportMs) return;
    const fields = { seconds: rounded(seconds), cpu_seconds: rounded(busySeconds) };
    // A process that others leave little CPU may be busy as well.
    log.warn(fields, busySeconds > seconds / 4 ? BUSY : PAUSED);
  };
  const timer = setInterval(look, lookMs).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

const PAUSED =
  "this process did not run for some time: it was stopped, its machine was suspended or had no CPU for it, or the " +
  "clock was set forward; waits and connections that failed now may have failed because of that";
const BUSY =
  "this process was busy for some time and read nothing meanwhile; waits and connections that failed now may have " +
  "failed because of that";

function readClocks() {
  const { user, system } = process.cpuUsage();
  return { runningMs: performance.now(), dayMs: Date.now(), cpuMs: (user + system) / 1_000 };
}

const rounded = (seconds: number): number => Math.round(seconds * 10) / 10;
