import type { Context } from "../../operation/context.js";
import { type MemoryFilterInput, expiryFor, filterValues } from "./memory-filter.js";
import { narrowedMemories } from "./narrowed-statement.js";
import { narrowingQueries } from "./search-plan.js";
import { narrowingOf } from "./search.js";
import { all } from "./search-tsquery.js";

/** Which of the memories that are found, in the order of their ids. */
interface Part {
  /** Only those below this id. */
  readonly before?: string | null;
  readonly isNewestFirst: boolean;
  readonly limit: number;
  readonly offset?: number;
}

/**
 * The tags and types of a filter as words of the index of the search; null where it has none. No other index has tags,
 * and this one finds a rare tag or type at once; but of one that is common it reads all.
 */
export function wordsOf(filter: Partial<MemoryFilterInput>): string | null {
  const queries = narrowingQueries(narrowingOf(filter));
  return queries.length === 0 ? null : all(queries);
}

/** The memories that a filter with such words lets through: some of them, each with the number of all. */
export const findNarrowed = (
  context: Pick<Context, "database" | "now">,
  graphId: string,
  filter: Partial<MemoryFilterInput> & { readonly words: string },
  { before = null, offset = 0, ...part }: Part,
) => {
  const { words } = filter;
  const values = { graphId, words, ...filterValues(filter), now: expiryFor(context, filter) };
  return context.database.run(narrowedMemories, { ...values, ...part, before, offset });
};
