import { LIMITS } from "../../limits.js";
import type { Database, Statement } from "../../platform/database.js";

const { forgottenAfterHours, forgottenWords, countedMemories } = LIMITS.search;

const forgetWordsStatement: Statement = {
  name: "forget_words",
  text: "SELECT more FROM forget_words(make_interval(hours => $1::int), $2::int, $3::int) AS more",
};

/**
 * Takes words out of a graph's lexicon that no memory of it has any more, a few at a time; answers with whether there is
 * more to do. A deleted memory's words are gone within a day: some hours later, and when their turn has come.
 */
export async function forgetWords(
  { database }: { readonly database: Database },
  afterHours: number = forgottenAfterHours,
): Promise<boolean> {
  const [answer] = await database.run<{ more: boolean }>(forgetWordsStatement, [
    afterHours,
    forgottenWords,
    countedMemories,
  ]);
  return answer?.more ?? false;
}
