import { LIMITS } from "../../limits.js";
import type { Services } from "../../operation/context.js";
import { countWords } from "./word-statements.js";

/**
 * Counts how many memories have each word, in the graph that needs it most; answers with whether another may need it. A
 * graph is counted anew when it has grown by enough words, so the work is a small part of that of storing them.
 */
export async function countWordsOfGraph({ database }: Pick<Services, "database">): Promise<boolean> {
  const [answer] = await database.run(countWords, { sample: LIMITS.search.countedMemories });
  return (answer?.counted ?? null) !== null;
}
