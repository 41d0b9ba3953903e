import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { LIMITS } from "../limits.js";
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
 * minute, and for the next time. A run that has not ended after `runMs` is left behind, and counts as a failure: what
 * it waits for may never come. Disposing of it waits for what is being done.
 */
export function startChores(
  chores: readonly Chore[],
  log: Logger,
  { runMs }: { readonly runMs: number } = LIMITS.chores,
): AsyncDisposable {
  const stop = new AbortController();
  // Each chore that waits listens; Node takes more than ten for a leak.
  setMaxListeners(chores.length, stop.signal);
  const ended = Promise.all(chores.map((chore) => repeat(chore, runMs, stop.signal, log)));
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
    },
  };
}

async function repeat(
  { name, intervalMs, run }: Chore,
  runMs: number,
  signal: AbortSignal,
  log: Logger,
): Promise<void> {
  while (!signal.aborted) {
    let more = false;
    try {
      more = await withinTime(run(), runMs);
    } catch (err) {
      // While the database is away, each chore fails again and again for the same reason.
      warnSeldom(log, `chore ${name}`, { err, chore: name }, "a chore failed; it is tried again later");
    }
    if (!more) await sleep(intervalMs, undefined, { signal, ref: false }).catch(() => {});
  }
}

async function withinTime<T>(run: Promise<T>, runMs: number): Promise<T> {
  const over = new AbortController();
  const late = sleep(runMs, undefined, { signal: over.signal, ref: false }).then(() => {
    throw new Error(`The chore has not ended after ${runMs} ms; it is left behind.`);
  });
  try {
    return await Promise.race([run, late]);
  } finally {
    late.catch(() => {});
    over.abort();
  }
}
