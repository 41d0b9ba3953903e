import type { WriteStream } from "node:tty";

const BAR_WIDTH = 24;
const REDRAW_MS = 100;
const LINE_EVERY_MS = 5_000;

interface Progress extends Disposable {
  readonly step: () => void;
  readonly pause: (seconds: number, why: string) => void;
}

/**
 * Shows how far a run is: a bar on a terminal, in one line that is gone at the end; elsewhere a line every few seconds.
 * It uses no colour and leaves the keyboard alone, so that Ctrl-C stays what it is.
 */
export function showProgress(total: number, stream: WriteStream): Progress {
  let done = 0;
  let shown = 0;
  let pause = { until: 0, why: "" };
  const waiting = () => {
    const seconds = Math.ceil((pause.until - Date.now()) / 1_000);
    return seconds > 0 ? `, waiting ${seconds} s: ${pause.why}` : "";
  };
  const draw = () => {
    const filled = Math.round((BAR_WIDTH * done) / Math.max(total, 1));
    const line = `${"█".repeat(filled)}${"░".repeat(BAR_WIDTH - filled)} ${done} of ${total}${waiting()}`;
    stream.write(`\r\u001b[K${line.slice(0, (stream.columns || 80) - 1)}`);
  };
  const write = () => {
    if (done > shown) stream.write(`${done} of ${total} done\n`);
    shown = done;
  };
  const timer = stream.isTTY ? setInterval(draw, REDRAW_MS) : setInterval(write, LINE_EVERY_MS);
  return {
    step: () => void done++,
    pause(seconds, why) {
      pause = { until: Date.now() + seconds * 1_000, why };
      if (stream.isTTY) return;
      shown = done;
      stream.write(`${done} of ${total} done${waiting()}\n`);
    },
    [Symbol.dispose]() {
      clearInterval(timer);
      if (stream.isTTY) stream.write("\r\u001b[K");
    },
  };
}
