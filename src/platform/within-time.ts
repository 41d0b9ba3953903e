import { setTimeout as sleep } from "node:timers/promises";

/** The result of `work`; after `ms` milliseconds that of `late`, and nobody waits for the work any more. */
export async function withinTime<T>(work: PromiseLike<T>, ms: number, late: () => T): Promise<T> {
  const over = new AbortController();
  try {
    return await Promise.race([work, sleep(ms, undefined, { signal: over.signal, ref: false }).then(late)]);
  } finally {
    over.abort();
  }
}
