import { setTimeout as sleep } from "node:timers/promises";
import { LIMITS } from "../../limits.js";
import type { Context } from "../../operation/context.js";
import { isTimeout } from "../../platform/database.js";
import { warnSeldom } from "../../platform/warn-seldom.js";
import { findMemories } from "./search.js";
import type { SimilarMemory } from "./similar-memory.js";

const { most, scoreMin, waitMs, ...bounds } = LIMITS.similar;

/**
 * Memories that may say the same as one with this title. Null where that cannot be told in time: storing a memory never
 * fails for it.
 */
export async function findSimilar(context: Context, graphId: string, title: string): Promise<SimilarMemory[] | null> {
  const over = new AbortController();
  const late = sleep(waitMs, null, { signal: over.signal, ref: false }).catch(() => null);
  try {
    return await Promise.race([search(context, graphId, title), late]);
  } finally {
    over.abort();
  }
}

/** Not on the connection of a transaction, which a failure would end. */
async function search({ shares, caller, log, now }: Context, graphId: string, title: string) {
  const wishes = { query: title, limit: most, offset: 0, explain: false, withText: false, expired: now() };
  try {
    const { hits } = await shares.of(caller.userId).search((run) => findMemories(run, graphId, wishes, bounds));
    return hits
      .filter(({ relevance }) => relevance >= scoreMin)
      .map(({ id: memoryId, title: name, relevance: score }) => ({ memoryId, title: name, score }));
  } catch (err) {
    if (!isTimeout(err)) warnSeldom(log, "similar memories", { err }, "similar memories could not be looked for");
    return null;
  }
}
