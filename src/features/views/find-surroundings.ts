import { LIMITS } from "../../limits.js";
import type { Database } from "../../platform/database.js";
import { stepFrom } from "./walk-statements.js";

interface Walk {
  readonly graphId: string;
  readonly start: string;
  readonly maxDepth: number;
  /** How many memories to find at most, including the start. */
  readonly limit: number;
}

/**
 * The ids of the memories around one, nearest first, then by the strongest relationship; and whether there may be more.
 */
export async function findSurroundings(
  database: Database,
  { graphId, start, maxDepth, limit }: Walk,
): Promise<{ readonly ids: readonly string[]; readonly isCapped: boolean }> {
  const ids = new Set([start]);
  let edge = [start];
  let left: number = LIMITS.views.drawnFrom;
  for (let depth = 0; depth < maxDepth && edge.length > 0; depth++) {
    const values = { graphId, ids: edge, types: null, direction: "any", limit: left + 1 };
    const rows = await database.run(stepFrom, values);
    left -= rows[0]?.looked ?? 0;
    const reached = rows.filter((row): row is typeof row & { id: string } => row.id !== null && !ids.has(row.id));
    edge = reached.sort((one, other) => other.strength - one.strength || compare(one.id, other.id)).map(({ id }) => id);
    const room = limit - ids.size;
    for (const id of edge.slice(0, room)) ids.add(id);
    if (left < 0 || edge.length > room) return { ids: [...ids], isCapped: true };
  }
  return { ids: [...ids], isCapped: false };
}

const compare = (one: string, other: string): number => (one < other ? -1 : 1);
