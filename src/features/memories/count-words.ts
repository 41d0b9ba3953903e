import { LIMITS } from "../../limits.js";
import type { Services } from "../../operation/context.js";
import type { Statement } from "../../platform/database.js";

const { uncountedWords, countedMemories } = LIMITS.search;

/** The graph with the most words that have not been counted, if they are worth counting all its memories for. */
const graphToCount: Statement = {
  name: "graph_to_count",
  text: `
    WITH waiting AS (
      SELECT graph_id, count(*) AS words FROM lexicon WHERE documents = 0 GROUP BY graph_id
    )
    SELECT waiting.graph_id FROM waiting
    LEFT JOIN lexicon counted ON counted.graph_id = waiting.graph_id AND counted.word = ''
    WHERE waiting.words >= ${uncountedWords} + coalesce(counted.documents, 0) / 20
    ORDER BY waiting.words DESC LIMIT 1`,
};

const countWords: Statement = { name: "count_words", text: "SELECT count_words($1::uuid, $2::int)" };

/**
 * Counts how many memories have each word, in the graph that needs it most; answers with whether another may need it. A
 * graph is counted anew when it has grown by enough words, so the work is a small part of that of storing them.
 */
export async function countWordsOfGraph({ database }: Pick<Services, "database">): Promise<boolean> {
  const [graph] = await database.run<{ graph_id: string }>(graphToCount, []);
  if (!graph) return false;
  await database.run(countWords, [graph.graph_id, countedMemories]);
  return true;
}
