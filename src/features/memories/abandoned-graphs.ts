import { LIMITS } from "../../limits.js";
import { lockRow } from "../../operation/lock-row-statement.js";
import type { Database } from "../../platform/database/database.js";
import { emptyGraph } from "./graph-room-statements.js";

/** How many graphs to look at for one that no other server is emptying. */
const CANDIDATES = 10;

/**
 * Deletes the next batch of rows of a graph whose team or user was deleted. Returns whether there may be more. Each run
 * finds the remaining work in the database, so any server continues it, also after a restart.
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
 * Locks the root of an abandoned graph. Other servers then take the next one, and requests that still run cannot store
 * anything in it.
 */
async function claimAbandonedGraph(inner: Database): Promise<string | undefined> {
  const candidates = await inner.models.graph.findMany({
    where: { userId: null, teamId: null },
    select: { id: true },
    orderBy: { id: "asc" },
    take: CANDIDATES,
  });
  for (const { id } of candidates) {
    if (await lockRow(inner, "graph_root", { graph_id: id }, { skipLocked: true })) return id;
    // On another node than the graph, the root may have been deleted alone by a run that crashed. Then no rows are left,
    // and servers that delete the graph at the same time wait for the first one, and delete nothing.
    if (!(await inner.models.graphRoot.findUnique({ where: { graphId: id } }))) return id;
  }
  return undefined;
}
