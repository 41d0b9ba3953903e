import { LIMITS } from "../../../limits.js";
import type { Services } from "../../../operation/context.js";
import { countWords } from "./word-statements.js";

/**
 * Counts how many memories have each word, in the next graph with enough uncounted words. Returns whether another graph
 * may need it. A graph is counted again only after it has gained enough new words, so counting costs little compared
 * with storing.
 */
export async function countWordsOfGraph({ database }: Pick<Services, "database">): Promise<boolean> {
  const [answer] = await database.run(countWords, { sample: LIMITS.search.countedMemories });
  return (answer?.counted ?? null) !== null;
}
