import { LIMITS } from "../../limits.js";
import type { Database } from "../../platform/database.js";
import { type MemoryFilterInput, filterValues } from "./memory-filter.js";
import { resolve } from "./search-concepts.js";
import { type Plan, planLiterally, planSearch } from "./search-plan.js";
import { readQuery } from "./search-query.js";
import {
  type AlikeWord,
  type HitRow,
  type KnownPiece,
  searchHits,
  searchWords,
  wordsAlike,
} from "./search-statements.js";
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
      run<KnownPiece>(searchWords, [graphId, pieces.map(({ text }) => text), pieces.map(({ asWritten }) => asWritten)]),
    alike: (...wanted) => run<AlikeWord>(wordsAlike, [graphId, ...wanted, LIMITS.search.alike]),
  });
  const [types, tags, ...rest] = filterValues(input) as [string[] | null, string[] | null, ...unknown[]];
  const narrowing = { types, tags };
  const literally = query.signs.length > 0 ? query.signs : query.words.map(({ text }) => `^${text}`);
  if (resolved.concepts.length === 0 && literally.length === 0) return [];
  const find = (phrases: readonly string[]) => {
    const isPhrase = phrases.length > 0;
    const plan =
      resolved.concepts.length > 0 ? planSearch(resolved, narrowing, isPhrase) : planLiterally(literally, narrowing);
    return run<HitRow>(searchHits, [...hitValues(graphId, plan, phrases, input), types, tags, ...rest]);
  };
  const hits = await find(query.phrases);
  return hits.length === 0 && query.phrases.length > 0 ? find([]) : hits;
}

function hitValues(
  graphId: string,
  { gates, scans, pairs, shareMin }: Plan,
  phrases: readonly string[],
  input: SearchWishes,
) {
  const tuning = [shareMin, TUNING.brevity, TUNING.importance, TUNING.length, TUNING.sideBySide, LIMITS.search.pairsIn];
  const isNarrowed = input.minImportance != null || input.createdAfter != null || input.createdBefore != null;
  return [
    graphId,
    gates.map(({ query }) => query),
    gates.map(({ limit }) => limit),
    phrases.length > 0 ? phrases : null,
    scans.map(({ gate }) => gate),
    scans.map(({ concept }) => concept),
    scans.map(({ query }) => query),
    scans.map(({ points }) => points),
    scans.map(({ share }) => share),
    scans.map(({ inTitle }) => inTitle),
    pairs,
    [...input.query.trim()].length,
    tuning,
    input.limit,
    0,
    isNarrowed ? LIMITS.search.examined : 0,
  ];
}
