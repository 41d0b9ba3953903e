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
 * them. Changes of a graph whose counts seem wrong wait while it is counted once more: a second for some hundred
 * thousand memories.
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

/** A graph that seems right is not locked: that would write to the disk for each of them, and delay its changes. */
async function verifyGraph(database: Database, id: string, repair: boolean): Promise<MiscountedGraph | undefined> {
  if (!(await compareCounts(database, id))) return undefined;
  return database.transaction(async (inner) => {
    // Every change of the graph locks this row before it commits, so a count under the lock misses none.
    await lockRow(inner, "graph_usage", { graph_id: id });
    const miscounted = await compareCounts(inner, id);
    if (miscounted && repair) {
      await inner.models.graphUsage.updateMany({ where: { graphId: id }, data: miscounted.held });
    }
    return miscounted;
  });
}

/** Undefined if the counts are right, or the graph was deleted meanwhile. */
async function compareCounts(database: Database, graphId: string): Promise<MiscountedGraph | undefined> {
  const usage = await database.models.graphUsage.findUnique({ where: { graphId } });
  if (!usage) return undefined;
  const counted = { memories: usage.memories, bytes: Number(usage.bytes) };
  const { memories, bytes } = await measure({ database }, graphId, null);
  const isRight = counted.memories === memories && counted.bytes === bytes;
  return isRight ? undefined : { graphId, counted, held: { memories, bytes } };
}
