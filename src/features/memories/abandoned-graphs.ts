import { LIMITS } from "../../limits.js";
import { lockRow } from "../../operation/lock-row-statement.js";
import type { Database } from "../../platform/database.js";

/** How many graphs to look at for one that no other server is emptying. */
const CANDIDATES = 10;

/**
 * Deletes the next batch of what a deleted team or user left behind; answers with whether there may be more. What is
 * left to do is read off the database each time, so it goes on after a restart and on any instance.
 */
export function forgetAbandonedGraph({ database }: { readonly database: Database }): Promise<boolean> {
  return database.transaction(async (inner) => {
    const graphId = await claimAbandonedGraph(inner);
    if (graphId === undefined) return false;
    if (!(await deleteBatch(inner, graphId))) await inner.models.graph.deleteMany({ where: { id: graphId } });
    return true;
  });
}

/** Locks the graph: other servers take the next one, and requests still running cannot store in it meanwhile. */
async function claimAbandonedGraph(inner: Database): Promise<string | undefined> {
  const candidates = await inner.models.graph.findMany({
    where: { userId: null, teamId: null },
    select: { id: true },
    orderBy: { id: "asc" },
    take: CANDIDATES,
  });
  for (const { id } of candidates) if (await lockRow(inner, "graph", { id }, { skipLocked: true })) return id;
  return undefined;
}

/**
 * Answers with whether there was anything. Versions and relationships before memories: rows deleted by a cascade would
 * not count towards the batch.
 */
async function deleteBatch({ models }: Database, graphId: string): Promise<boolean> {
  const batch = { where: { graphId }, limit: LIMITS.chores.rows };
  const steps = [
    () => models.memoryVersion.deleteMany(batch),
    () => models.relationship.deleteMany(batch),
    () => models.lexiconWord.deleteMany(batch),
    () => models.memoryVector.deleteMany(batch),
    () => models.memory.deleteMany(batch),
  ];
  for (const step of steps) if ((await step()).count > 0) return true;
  return false;
}
