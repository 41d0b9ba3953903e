import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "./logger.js";
import { warnSeldom } from "./warn-seldom.js";

/** Something to be done again and again in the background. */
export interface Chore {
  readonly name: string;
  readonly intervalMs: number;
  /** Does a bounded piece of work; answers with whether there is more to do right now. */
  run(): Promise<boolean>;
}

/**
 * Does each chore at once and then every interval, never twice at the same time. A failure is for the log, once a
 * minute, and for the next time. Disposing of it waits for what is being done.
 */
export function startChores(chores: readonly Chore[], log: Logger): AsyncDisposable {
  const stop = new AbortController();
  // Each chore that waits listens; Node takes more than ten for a leak.
  setMaxListeners(chores.length, stop.signal);
  const ended = Promise.all(chores.map((chore) => repeat(chore, stop.signal, log)));
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
    },
  };
}

async function repeat({ name, intervalMs, run }: Chore, signal: AbortSignal, log: Logger): Promise<void> {
  while (!signal.aborted) {
    let more = false;
    try {
      more = await run();
    } catch (err) {
      // While the database is away, each chore fails again and again for the same reason.
      warnSeldom(log, `chore ${name}`, { err, chore: name }, "a chore failed; it is tried again later");
    }
    if (!more) await sleep(intervalMs, undefined, { signal, ref: false }).catch(() => {});
  }
}
