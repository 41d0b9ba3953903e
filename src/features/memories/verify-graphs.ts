import type { Database, Statement } from "../../platform/database.js";

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

const graphsAfter: Statement = {
  name: "graphs_after",
  text: "SELECT id FROM graph WHERE id > $1::uuid ORDER BY id LIMIT 100",
};

/** Every change of the graph locks this row before it commits, so a count under the lock misses none. */
const holdUsage: Statement = {
  name: "hold_graph_usage",
  text: "SELECT memories, bytes::float8 FROM graph_usage WHERE graph_id = $1::uuid FOR UPDATE",
};

const measureGraph: Statement = {
  name: "measure_graph",
  text: "SELECT memories, bytes::float8 FROM measure_graph($1::uuid)",
};

const setUsage: Statement = {
  name: "set_graph_usage",
  text: "UPDATE graph_usage SET memories = $2::int, bytes = $3::bigint WHERE graph_id = $1::uuid",
};

const FIRST = "00000000-0000-0000-0000-000000000000";

/**
 * Counts every graph anew, one after the other, and yields those that are counted wrongly; `repair` sets them right.
 * Changes of a graph wait while it is counted: a second for some hundred thousand memories.
 */
export async function* verifyGraphs(
  database: Database,
  { repair }: { readonly repair: boolean },
): AsyncGenerator<MiscountedGraph> {
  let last = FIRST;
  for (;;) {
    const page = await database.run<{ id: string }>(graphsAfter, [last]);
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
    const [counted] = await inner.run<Usage>(holdUsage, [graphId]);
    const [held] = await inner.run<Usage>(measureGraph, [graphId]);
    // Without a count the graph was deleted meanwhile.
    if (!counted || !held) return undefined;
    if (counted.memories === held.memories && counted.bytes === held.bytes) return undefined;
    if (repair) await inner.run(setUsage, [graphId, held.memories, held.bytes]);
    return { graphId, counted, held };
  });
