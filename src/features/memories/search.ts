import { LIMITS } from "../../limits.js";
import type { Database } from "../../platform/database.js";
import { type MemoryFilterInput, filterValues } from "./memory-filter.js";
import { resolve } from "./search-concepts.js";
import { type Plan, planLiterally, planSearch } from "./search-plan.js";
import { readQuery } from "./search-query.js";
import { type HitRow, searchHits, searchWords, wordsAlike } from "./search-statements.js";
import { TUNING } from "./search-tuning.js";

/** How far matches are counted. */
export const TOTAL_MAX = 1_000;

type Run = Database["run"];

export interface SearchWishes extends MemoryFilterInput {
  readonly query: string;
  readonly limit: number;
}

/** Searches a graph, best hits first: reads the query, finds out what its words stand for, and looks that up. */
export async function findMemories(run: Run, graphId: string, input: SearchWishes): Promise<HitRow[]> {
  const query = readQuery(input.query);
  const resolved = await resolve(query, {
    words: (pieces) =>
      run(searchWords, {
        graphId,
        pieces: pieces.map(({ text }) => text),
        asWritten: pieces.map(({ asWritten }) => asWritten),
      }),
    alike: (words, spellings, beginnings) =>
      run(wordsAlike, { graphId, words, spellings, beginnings, most: LIMITS.search.alike }),
  });
  const filter = filterValues(input);
  const literally = query.signs.length > 0 ? query.signs : query.words.map(({ text }) => `^${text}`);
  if (resolved.concepts.length === 0 && literally.length === 0) return [];
  const find = (phrases: readonly string[]) => {
    const isPhrase = phrases.length > 0;
    const plan =
      resolved.concepts.length > 0 ? planSearch(resolved, filter, isPhrase) : planLiterally(literally, filter);
    return run(searchHits, { graphId, ...hitValues(plan, phrases, input), ...filter });
  };
  const hits = await find(query.phrases);
  return hits.length === 0 && query.phrases.length > 0 ? find([]) : hits;
}

function hitValues({ gates, scans, pairs, shareMin }: Plan, phrases: readonly string[], input: SearchWishes) {
  const tuning = [shareMin, TUNING.brevity, TUNING.importance, TUNING.length, TUNING.sideBySide, LIMITS.search.pairsIn];
  const isNarrowed = input.minImportance != null || input.createdAfter != null || input.createdBefore != null;
  return {
    gates: gates.map(({ query }) => query),
    limits: gates.map(({ limit }) => limit),
    phrases: phrases.length > 0 ? phrases : null,
    scanGates: scans.map(({ gate }) => gate),
    concepts: scans.map(({ concept }) => concept),
    scans: scans.map(({ query }) => query),
    points: scans.map(({ points }) => points),
    shares: scans.map(({ share }) => share),
    inTitle: scans.map(({ inTitle }) => inTitle),
    pairs,
    queryLength: [...input.query.trim()].length,
    tuning,
    limit: input.limit,
    offset: 0,
    examined: isNarrowed ? LIMITS.search.examined : 0,
  };
}
