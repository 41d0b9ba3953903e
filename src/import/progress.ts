import type { WriteStream } from "node:tty";
import { showDuration } from "./estimate.js";

const BAR_WIDTH = 24;
const REDRAW_MS = 100;
const LINE_EVERY_MS = 5_000;
/** Before that, how long it took so far tells little of how long it will. */
const MEASURED_AFTER = 20;

interface Progress extends Disposable {
  readonly step: () => void;
  readonly pause: (seconds: number, why: string) => void;
}

interface ProgressOptions {
  readonly total: number;
  readonly stream: WriteStream;
  /** How long so many more steps will take, at so many seconds each while nothing is waited for. */
  readonly secondsLeft: (steps: number, secondsEach: number | undefined) => number;
}

/**
 * Shows how far a run is and how long it will take: a bar on a terminal, in one line that is gone at the end; elsewhere a
 * line every few seconds. It uses no colour and leaves the keyboard alone, so that Ctrl-C stays what it is.
 */
export function showProgress({ total, stream, secondsLeft }: ProgressOptions): Progress {
  const startedAt = Date.now();
  let done = 0;
  let shown = 0;
  let pausedMs = 0;
  let pause = { until: 0, why: "" };
  const waiting = () => {
    const seconds = Math.ceil((pause.until - Date.now()) / 1_000);
    return seconds > 0 ? `, waiting ${seconds} s: ${pause.why}` : "";
  };
  const left = () => {
    if (done >= total) return "";
    const workedMs = Date.now() - startedAt - pausedMs + Math.max(pause.until - Date.now(), 0);
    const each = done < MEASURED_AFTER ? undefined : Math.max(workedMs, 0) / done / 1_000;
    return `, about ${showDuration(secondsLeft(total - done, each))} left`;
  };
  const draw = () => {
    const filled = Math.round((BAR_WIDTH * done) / Math.max(total, 1));
    const bar = `${"█".repeat(filled)}${"░".repeat(BAR_WIDTH - filled)}`;
    const line = `${bar} ${done} of ${total}${left()}${waiting()}`;
    stream.write(`\r\u001b[K${line.slice(0, (stream.columns || 80) - 1)}`);
  };
  const write = () => {
    if (done > shown) stream.write(`${done} of ${total} done${left()}\n`);
    shown = done;
  };
  const timer = stream.isTTY ? setInterval(draw, REDRAW_MS) : setInterval(write, LINE_EVERY_MS);
  return {
    step: () => void done++,
    pause(seconds, why) {
      pausedMs += seconds * 1_000;
      pause = { until: Date.now() + seconds * 1_000, why };
      if (stream.isTTY) return;
      shown = done;
      stream.write(`${done} of ${total} done${left()}${waiting()}\n`);
    },
    [Symbol.dispose]() {
      clearInterval(timer);
      if (stream.isTTY) stream.write("\r\u001b[K");
    },
  };
}
