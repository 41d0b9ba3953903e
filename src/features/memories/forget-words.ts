import { LIMITS } from "../../limits.js";
import type { Database } from "../../platform/database.js";
import { forgetNextWords } from "./word-statements.js";

const { forgottenAfterHours, forgottenWords, countedMemories } = LIMITS.search;

/**
 * Takes words out of a graph's lexicon that no memory of it has any more, a few at a time; answers with whether there
 * is more to do. A deleted memory's words are gone within a day: some hours later, and when their turn has come.
 */
export async function forgetWords(
  { database }: { readonly database: Database },
  afterHours: number = forgottenAfterHours,
): Promise<boolean> {
  const values = { afterHours, words: forgottenWords, sample: countedMemories };
  const [answer] = await database.run(forgetNextWords, values);
  return answer?.more ?? false;
}
