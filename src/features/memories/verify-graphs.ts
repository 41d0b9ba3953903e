import { NIL_ID } from "../../operation/id.js";
import { lockRow } from "../../operation/lock-row-statement.js";
import type { Database } from "../../platform/database/database.js";
import { measure } from "./graph-room.js";

interface Usage {
  readonly memories: number;
  readonly bytes: number;
}

/** A graph whose stored count differs from what it holds. */
export interface MiscountedGraph {
  readonly graphId: string;
  readonly counted: Usage;
  readonly held: Usage;
}

const PAGE = 100;

/**
 * Counts every graph again, one after the other, and yields those whose stored counts are wrong; `repair` corrects
 * them. Changes of a graph wait while it is counted: a second for some hundred thousand memories.
 */
export async function* verifyGraphs(
  database: Database,
  { repair }: { readonly repair: boolean },
): AsyncGenerator<MiscountedGraph> {
  let last = NIL_ID;
  for (;;) {
    const page = await database.models.graph.findMany({
      where: { id: { gt: last } },
      select: { id: true },
      orderBy: { id: "asc" },
      take: PAGE,
    });
    for (const { id } of page) {
      const miscounted = await verifyGraph(database, id, repair);
      if (miscounted) yield miscounted;
      last = id;
    }
    if (page.length === 0) return;
  }
}

const verifyGraph = (database: Database, graphId: string, repair: boolean): Promise<MiscountedGraph | undefined> =>
  database.transaction(async (inner) => {
    const { graphUsage } = inner.models;
    // Every change of the graph locks this row before it commits, so a count under the lock misses none.
    await lockRow(inner, "graph_usage", { graph_id: graphId });
    const usage = await graphUsage.findUnique({ where: { graphId } });
    // The graph was deleted meanwhile.
    if (!usage) return undefined;
    const counted = { memories: usage.memories, bytes: Number(usage.bytes) };
    const { memories, bytes } = await measure({ database: inner }, graphId, null);
    const held = { memories, bytes };
    if (counted.memories === held.memories && counted.bytes === held.bytes) return undefined;
    if (repair) await graphUsage.updateMany({ where: { graphId }, data: held });
    return { graphId, counted, held };
  });
