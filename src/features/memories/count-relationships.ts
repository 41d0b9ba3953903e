import type { Database } from "../../platform/database/database.js";
import { relationshipsOfEach } from "./many-statements.js";

/** How many relationships begin or end at some memories, and how many of these join two of them. */
export async function countRelationships(
  database: Database,
  some: { readonly graphId: string; readonly ids: readonly string[] },
): Promise<{ readonly all: number; readonly between: number }> {
  const ofEach = await database.run(relationshipsOfEach, some);
  const between = ofEach.reduce((sum, { toOthers }) => sum + toOthers, 0);
  // A relationship between two of them is counted at both.
  return { all: ofEach.reduce((sum, { count }) => sum + count, 0) - between, between };
}
