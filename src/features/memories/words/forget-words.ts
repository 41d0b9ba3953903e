import { LIMITS } from "../../../limits.js";
import type { Database } from "../../../platform/database/database.js";
import { forgetNextWords } from "./word-statements.js";

const { forgottenAfterHours, forgottenWords, countedMemories } = LIMITS.search;

/**
 * Removes words from a graph's lexicon that none of its memories has any more, a few at a time. Returns whether there
 * is more to do. A deleted memory's words are gone within a day: they are due after some hours, then wait for their
 * turn.
 */
export async function forgetWords(
  { database }: { readonly database: Database },
  afterHours: number = forgottenAfterHours,
): Promise<boolean> {
  const values = { afterHours, words: forgottenWords, sample: countedMemories };
  const [answer] = await database.run(forgetNextWords, values);
  return answer?.more ?? false;
}
