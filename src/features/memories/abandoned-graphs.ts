import { LIMITS } from "../../limits.js";
import { lockRow } from "../../operation/lock-row-statement.js";
import type { Database } from "../../platform/database.js";
import { emptyGraph } from "./graph-room-statements.js";

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
    const [emptied] = await inner.run(emptyGraph, { graphId, rows: LIMITS.chores.rows });
    if (!emptied?.rows) await inner.models.graph.deleteMany({ where: { id: graphId } });
    return true;
  });
}

/**
 * Locks the graph: other servers take the next one, and requests still running cannot store below its root meanwhile.
 */
async function claimAbandonedGraph(inner: Database): Promise<string | undefined> {
  const candidates = await inner.models.graph.findMany({
    where: { userId: null, teamId: null },
    select: { id: true },
    orderBy: { id: "asc" },
    take: CANDIDATES,
  });
  for (const { id } of candidates) {
    if (!(await lockRow(inner, "graph", { id }, { skipLocked: true }))) continue;
    if (await lockRow(inner, "graph_root", { graph_id: id }, { skipLocked: true })) return id;
    // Where it is on another node, a crash may have deleted it alone.
    if (!(await inner.models.graphRoot.findUnique({ where: { graphId: id } }))) return id;
  }
  return undefined;
}
