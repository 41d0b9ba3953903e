import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { LIMITS } from "../limits.js";
import { UNAVAILABLE, type WhyUnavailable, isWhyUnavailable, whyUnavailable } from "./database/database-errors.js";
import type { Logger } from "./telemetry/logger.js";
import { warnSeldom } from "./telemetry/warn-seldom.js";
import { withinTime } from "../within-time.js";

/** A background job that runs again and again. */
export interface Chore {
  readonly name: string;
  readonly intervalMs: number;
  /** Does a limited piece of work; returns whether there is more to do right now. */
  run(): Promise<boolean>;
}

/**
 * Runs each chore at once and then at every interval, one run after the other. After a failure it runs again at the next
 * interval. Failures are logged at most once a minute: for each chore, or for all if the database is unavailable. A run
 * that takes longer than `runMs` is abandoned and counts as a failure, since it may wait forever: it may still go on
 * beside the next ones. Disposing waits for the current runs.
 */
export function startChores(
  chores: readonly Chore[],
  log: Logger,
  { runMs }: { readonly runMs: number } = LIMITS.chores,
): AsyncDisposable {
  const stop = new AbortController();
  // Each waiting chore adds a listener; Node warns of a leak at more than ten.
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
      more = await withinTime(run(), runMs, () => {
        throw new Error(`The background job has not ended after ${runMs} ms; it was abandoned.`);
      });
    } catch (err) {
      const why = whyUnavailable(err) ?? whyWaitFailed(err);
      const todo = why ? `. ${UNAVAILABLE[why]}` : "";
      // While the database is unavailable, all chores fail repeatedly for the same reason.
      warnSeldom(
        log,
        `chore ${why === undefined || OF_ONE_CHORE.has(why) ? name : why}`,
        { err, chore: name, why },
        `a background job failed; it will run again later${todo}`,
      );
    }
    if (!more) await sleep(intervalMs, undefined, { signal, ref: false }).catch(() => {});
  }
}

/** Reasons that may lie in a chore's own statements. */
const OF_ONE_CHORE: ReadonlySet<WhyUnavailable> = new Set(["slow", "collision"]);

/** What a failure says itself, such as that of a wait for a connection. Chores share a few, which they alone use. */
function whyWaitFailed(error: unknown): WhyUnavailable | undefined {
  const { why } = (error ?? {}) as { why?: unknown };
  if (!isWhyUnavailable(why)) return undefined;
  return why === "share" ? "busy" : why;
}
