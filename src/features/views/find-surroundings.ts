import { LIMITS } from "../../limits.js";
import type { Database } from "../../platform/database/database.js";
import { idsIn, stepFrom } from "./walk-statements.js";

interface Walk {
  readonly graphId: string;
  readonly start: string;
  readonly maxDepth: number;
  /** How many memories to find at most, including the start. */
  readonly limit: number;
}

/**
 * The ids of the memories around one, nearest first, then by the strongest relationship; and whether there may be more.
 * Each step is a statement. The walk ends after `maxDepth` steps, or `LIMITS.views.drawnFrom` relationships.
 */
export async function findSurroundings(
  database: Database,
  { graphId, start, maxDepth, limit }: Walk,
): Promise<{ readonly ids: readonly string[]; readonly isCapped: boolean }> {
  const ids = new Set([start]);
  let edge = [start];
  let left: number = LIMITS.views.drawnFrom;
  for (let depth = 0; depth < maxDepth && edge.length > 0; depth++) {
    // Among one more than the limit are enough new ones: at most as many as the limit are known.
    const wanted = { types: null, direction: "any", limit: left + 1, strongest: limit + 1 };
    const [step] = await database.run(stepFrom, { graphId, ids: edge.join(), ...wanted });
    left -= step?.looked ?? 0;
    edge = idsIn(step?.ids).filter((id) => !ids.has(id));
    const room = limit - ids.size;
    for (const id of edge.slice(0, room)) ids.add(id);
    if (left < 0 || edge.length > room) return { ids: [...ids], isCapped: true };
  }
  return { ids: [...ids], isCapped: false };
}
