import type { Database, Statement } from "../../platform/database.js";
import { LIMITS } from "../../limits.js";

const BATCH = LIMITS.chores.rows;

/** Locks the graph: other servers take the next one, and requests still running cannot store in it meanwhile. */
const claimAbandonedGraph: Statement = {
  name: "claim_abandoned_graph",
  text: `SELECT id FROM graph WHERE user_id IS NULL AND team_id IS NULL
    ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED`,
};

const emptyStatement = (table: string, key: string): Statement => ({
  name: `empty_${table}`,
  text: `DELETE FROM ${table} WHERE graph_id = $1::uuid AND (${key}) IN (
      SELECT ${key} FROM ${table} WHERE graph_id = $1::uuid LIMIT ${BATCH}) RETURNING 1 AS gone`,
});

/** Versions and relationships before memories: rows deleted by a cascade would not count towards the batch. */
const EMPTYING: readonly Statement[] = [
  emptyStatement("memory_version", "memory_id, version"),
  emptyStatement("relationship", "id"),
  emptyStatement("lexicon", "word"),
  emptyStatement("memory", "id"),
];

const removeGraph: Statement = { name: "remove_graph", text: "DELETE FROM graph WHERE id = $1::uuid" };

/**
 * Deletes the next batch of what a deleted team or user left behind; answers with whether there may be more. What is
 * left to do is read off the database each time, so it goes on after a restart and on any instance.
 */
export function forgetAbandonedGraph({ database }: { readonly database: Database }): Promise<boolean> {
  return database.transaction(async (inner) => {
    const [graph] = await inner.run<{ id: string }>(claimAbandonedGraph, []);
    if (!graph) return false;
    for (const statement of EMPTYING) {
      const gone = await inner.run(statement, [graph.id]);
      if (gone.length > 0) return true;
    }
    await inner.run(removeGraph, [graph.id]);
    return true;
  });
}
