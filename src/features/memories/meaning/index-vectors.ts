import { setTimeout as sleep } from "node:timers/promises";
import { LIMITS } from "../../../limits.js";
import { makeNearIndexes } from "../../../platform/meaning/near-indexes.js";
import { warnSeldom } from "../../../platform/telemetry/warn-seldom.js";
import type { Embedding } from "./embedding-queue.js";

const { indexedAgainMs } = LIMITS.embeddings;

/**
 * Begins to make indexes for the vectors that did not fit into memory, and to delete useless ones. That may take longer
 * than a background job, which does not wait for it. After a failure nothing is tried for an hour.
 */
export async function indexVectors(
  { meaning, log }: Pick<Embedding, "meaning" | "log">,
  url: string,
): Promise<boolean> {
  if (meaning.indexing) return false;
  const sets = [...meaning.unfit.values()];
  meaning.unfit.clear();
  meaning.indexing = makeNearIndexes(url, sets)
    .catch(async (error: Error) => {
      const { message: reason } = error;
      warnSeldom(log, "index of vectors", { reason }, "vectors could not be indexed; it will be tried again later");
      await sleep(indexedAgainMs, undefined, { ref: false });
    })
    .finally(() => (meaning.indexing = undefined));
  return false;
}
