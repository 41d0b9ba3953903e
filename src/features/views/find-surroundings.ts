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
  let frontier = [start];
  let relationshipsLeft: number = LIMITS.views.drawnFrom;
  for (let depth = 0; depth < maxDepth && frontier.length > 0; depth++) {
    // At most `ids.size` of these are known already, so the rest fills the room and shows whether there are more.
    const wanted = { types: null, direction: "any", limit: relationshipsLeft + 1, strongest: limit + 1 };
    const [step] = await database.run(stepFrom, { graphId, ids: frontier.join(), ...wanted });
    relationshipsLeft -= step?.looked ?? 0;
    frontier = idsIn(step?.ids).filter((id) => !ids.has(id));
    const room = limit - ids.size;
    for (const id of frontier.slice(0, room)) ids.add(id);
    if (relationshipsLeft < 0 || frontier.length > room) return { ids: [...ids], isCapped: true };
  }
  return { ids: [...ids], isCapped: false };
}
