import type { Context } from "../../../operation/context.js";
import { type MemoryFilterInput, expiryFor, filterValues } from "../memory-filter.js";
import { passingMemories } from "../many-statements.js";
import { narrowedMemories } from "./narrowed-statement.js";
import { narrowingQueries } from "./narrowing.js";
import { narrowingOf } from "./find-memories.js";
import { all } from "./tsquery.js";

/** Which of the memories found to return, in the order of their ids. */
interface Part {
  /** Only those below this id. */
  readonly before?: string | null;
  readonly isNewestFirst: boolean;
  readonly limit: number;
  readonly offset?: number;
}

/**
 * The tags and types of a filter as a query of the search index; null if it has none. Only this index has tags. It
 * finds a rare tag or type at once, but reads all entries of a common one.
 */
export function indexQueryOf(filter: Partial<MemoryFilterInput>): string | null {
  const queries = narrowingQueries(narrowingOf(filter));
  return queries.length === 0 ? null : all(queries);
}

/** Finds memories that pass a filter with such words: the wanted part, each row with the total number. */
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

/** Those of some memories that pass a filter, with their versions. */
export function findPassing(
  context: Pick<Context, "database" | "now">,
  graphId: string,
  filter: Partial<MemoryFilterInput>,
  ids: readonly string[],
) {
  const { types, tags, anyTag } = narrowingOf(filter);
  const words = { types: types.length > 0 ? types : null, tags, anyTag };
  const values = { graphId, ids, ...words, ...filterValues(filter), now: expiryFor(context, filter) };
  return context.database.run(passingMemories, values);
}
