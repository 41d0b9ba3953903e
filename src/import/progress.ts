import type { WriteStream } from "node:tty";
import { showDuration } from "./estimate.js";

const BAR_WIDTH = 24;
const REDRAW_MS = 100;
const LINE_EVERY_MS = 5_000;
/** With fewer steps than this, the measured speed says little about the rest. */
const MEASURED_AFTER = 20;

interface Progress extends Disposable {
  readonly step: (items?: number) => void;
  readonly pause: (seconds: number, why: string) => void;
}

interface ProgressOptions {
  /** There may be more: counting relationships for an export ends somewhere. */
  readonly total: number;
  readonly stream: WriteStream;
  /** Estimates the time for the remaining steps, from the seconds per step without pauses. */
  readonly secondsLeft: (steps: number, secondsEach: number | undefined) => number;
}

/**
 * Shows the progress and the remaining time: on a terminal a bar in one line, which is removed at the end; elsewhere a
 * line every few seconds. It does not read the keyboard, so Ctrl-C works as usual.
 */
export function showProgress({ total, stream, secondsLeft }: ProgressOptions): Progress {
  const startedAt = performance.now();
  let done = 0;
  let shown = 0;
  let pausedMs = 0;
  let pause = { until: 0, why: "" };
  const waiting = () => {
    const seconds = Math.ceil((pause.until - performance.now()) / 1_000);
    return seconds > 0 ? `, waiting ${seconds} s: ${pause.why}` : "";
  };
  const all = () => (done > total ? `more than ${total}` : total);
  const left = () => {
    if (done >= total) return "";
    const workedMs = performance.now() - startedAt - pausedMs + Math.max(pause.until - performance.now(), 0);
    const each = done < MEASURED_AFTER ? undefined : Math.max(workedMs, 0) / done / 1_000;
    return `, ${showDuration(secondsLeft(total - done, each))} left`;
  };
  const draw = () => {
    const filled = Math.round(BAR_WIDTH * Math.min(1, done / Math.max(total, 1)));
    const bar = `${"█".repeat(filled)}${"░".repeat(BAR_WIDTH - filled)}`;
    const line = `${bar} ${done} of ${all()}${left()}${waiting()}`;
    stream.write(`\r\u001b[K${line.slice(0, (stream.columns || 80) - 1)}`);
  };
  const write = () => {
    if (done > shown) stream.write(`${done} of ${all()} done${left()}\n`);
    shown = done;
  };
  const timer = stream.isTTY ? setInterval(draw, REDRAW_MS) : setInterval(write, LINE_EVERY_MS);
  return {
    step(items = 1) {
      done += items;
    },
    pause(seconds, why) {
      pausedMs += seconds * 1_000;
      pause = { until: performance.now() + seconds * 1_000, why };
      if (stream.isTTY) return;
      shown = done;
      stream.write(`${done} of ${all()} done${left()}${waiting()}\n`);
    },
    [Symbol.dispose]() {
      clearInterval(timer);
      if (stream.isTTY) stream.write("\r\u001b[K");
    },
  };
}
