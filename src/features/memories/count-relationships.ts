import { LIMITS } from "../../limits.js";
import type { Database } from "../../platform/database/database.js";
import { relationshipsOfAll } from "./many-statements.js";

const { relationshipsRemoved } = LIMITS.bulk;

/**
 * How many relationships begin or end at some memories, and how many of these join two of them. Null if they are more
 * than one call may remove, which are not counted to the end.
 */
export async function countRelationships(
  database: Database,
  some: { readonly graphId: string; readonly ids: readonly string[] },
): Promise<{ readonly all: number; readonly between: number } | null> {
  // Each has at most two ends there.
  const most = 2 * relationshipsRemoved;
  const [counted] = await database.run(relationshipsOfAll, { ...some, most: most + 1 });
  const { ends = 0, between = 0 } = counted ?? {};
  const all = ends - between;
  return ends > most || all > relationshipsRemoved ? null : { all, between };
}
