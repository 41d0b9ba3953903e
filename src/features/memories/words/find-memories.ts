import { LIMITS } from "../../../limits.js";
import { type Database, isTimeout } from "../../../platform/database/database.js";
import { type MemoryFilterInput, TagsMatch, filterValues, needsRows, tagsAskedFor } from "../memory-filter.js";
import type { Lexicon } from "./alike.js";
import { type Apart, spellApart } from "./apart.js";
import { type Concept, type Concepts, type TakenWord, literalConcept, resolve } from "./concepts.js";
import { matchesOf, possibilitiesOf } from "./explain.js";
import type { SearchMatch } from "./match.js";
import type { Narrowing } from "./narrowing.js";
import { type Plan, planLiterally, planSearch, withoutFirst } from "./plan.js";
import { type SearchQuery, readQuery } from "./query.js";
import { type HitRow, matchesOfHits, searchHits, searchWords, wordsAlike } from "./search-statements.js";
import { variantQuery } from "./tsquery.js";
import { TUNING } from "./tuning.js";
import type { UnknownWord } from "./unknown-word.js";
import { stemsOf } from "./variants.js";
import { PROBED_MARGIN, type SearchBounds } from "./walk.js";

/** Matches are counted up to this number, and no page goes beyond it. */
export const TOTAL_MAX = LIMITS.search.ranked;

const { bestBytes: bytes } = LIMITS.search;

/** The total where phrases were not looked for, since no memory has all their words. */
const NO_WORDS = -1;

type Run = Database["run"];

export interface SearchWishes extends Partial<MemoryFilterInput> {
  readonly query: string;
  readonly limit: number;
  /** At most `TOTAL_MAX`. */
  readonly offset: number;
  readonly explain: boolean;
  /** Whether the contents of the hits are needed, to show where they match. */
  readonly withText: boolean;
  /** Whether to tell which memories supersede and solve the hits. */
  readonly withLinks: boolean;
  /** Whether to tell which words of the query no memory has. */
  readonly withUnknownWords?: boolean;
  /** Memories that have expired by this time are left out; without it, none are. */
  readonly expired?: Date | null;
}

/** A row that has a hit. */
interface FoundRow extends HitRow {
  readonly id: string;
}

export interface Hit extends FoundRow {
  /** Which words of the query it matches; null unless requested. */
  readonly matches: SearchMatch[] | null;
  /** Where in `text` begins what is near to the query in meaning, up to the end; undefined if words found the hit. */
  readonly meantFrom?: number;
}

export interface Found {
  readonly hits: readonly Hit[];
  /** How many match; one more than `TOTAL_MAX` where there are more. */
  readonly total: number;
  /** The concepts of the query. */
  readonly concepts: readonly Concept[];
  /** Empty unless requested. */
  readonly unknownWords: readonly UnknownWord[];
}

/** Searches a graph, best hits first: reads the query, finds out what its words stand for, and looks that up. */
export async function findMemories(
  run: Run,
  graphId: string,
  wishes: SearchWishes,
  bounds: SearchBounds = LIMITS.search,
): Promise<Found> {
  const lexicon: Lexicon = {
    words: (pieces) =>
      run(searchWords, {
        graphId,
        pieces: pieces.map(({ text }) => text),
        asWritten: pieces.map(({ asWritten }) => asWritten),
      }),
    alike: (words, spellings, beginnings) =>
      run(wordsAlike, { graphId, words, spellings, beginnings, most: LIMITS.search.alike }),
  };
  const read = async (text: string): Promise<ReadQuery> => {
    const query = readQuery(text);
    return { text, query, resolved: await resolve(query, lexicon) };
  };
  const search = (one: ReadQuery) => findHits(run, graphId, one, { wishes, bounds });
  const readApart = async (one: ReadQuery, apart: Apart): Promise<ReadQuery> => {
    const text = spellApart(one.text, apart);
    return text === one.text ? one : read(text);
  };
  const written = await read(wishes.query);
  const asked = await readApart(written, written.resolved.apart.names);
  let found = await search(asked);
  let { unknown } = asked.resolved;
  const { words } = asked.resolved.apart;
  const inParts = found.total > 0 ? asked : await readApart(asked, words);
  if (inParts !== asked) {
    found = await search(inParts);
    unknown = unknown.map((one) => takenInParts(one, words, inParts.resolved.concepts));
  }
  const told = wishes.withUnknownWords ? unknown : [];
  return { ...found, unknownWords: await tellUnknown(run, graphId, told, found.hits) };
}

interface ReadQuery {
  readonly text: string;
  readonly query: SearchQuery;
  readonly resolved: Concepts;
}

/** Looks up what a query stands for; without its phrases if nothing has them. */
async function findHits(
  run: Run,
  graphId: string,
  { query, resolved }: ReadQuery,
  { wishes, bounds }: { readonly wishes: SearchWishes; readonly bounds: SearchBounds },
): Promise<Omit<Found, "unknownWords">> {
  const narrowing = narrowingOf(wishes);
  const literal = literalConcept(query);
  const find = async (phrases: readonly string[], isFirstEmpty = false): Promise<Omit<Found, "unknownWords">> => {
    const plan =
      resolved.concepts.length > 0
        ? planSearch(resolved, narrowing, { isPhrase: phrases.length > 0, bounds })
        : literal && planLiterally(literal, query, { narrowing, memories: resolved.memories, bounds });
    if (!plan) return { hits: [], total: 0, concepts: [] };
    const values = hitValues(isFirstEmpty ? withoutFirst(plan) : plan, phrases, wishes);
    const rows = await run(searchHits, { graphId, ...values });
    const found = rows.filter(isHit);
    const hits = wishes.explain
      ? await explainHits(run, graphId, found, plan.scored)
      : found.map((row) => ({ ...row, matches: null }));
    return { hits, total: rows[0]?.total ?? 0, concepts: plan.scored };
  };
  const first = await find(query.phrases);
  return first.total <= 0 && query.phrases.length > 0 ? find([], first.total === NO_WORDS) : first;
}

/** An unknown word whose parts were looked for one by one. */
function takenInParts({ word, takenAs }: TakenWord, apart: Apart, concepts: readonly Concept[]): TakenWord {
  const parts = apart.get(word)?.split("_") ?? [];
  const ofParts = concepts.filter(({ text }) => parts.includes(text)).flatMap(({ variants }) => variants);
  return { word, takenAs: parts.length > 0 ? ofParts.slice(0, LIMITS.search.takenAs) : takenAs };
}

/**
 * Names of what was looked for instead only what hits have, by its stem: the lexicon has words of deleted memories for
 * up to a day, which nobody may read any more. If that takes too long, the search succeeds without it.
 */
async function tellUnknown(
  run: Run,
  graphId: string,
  unknown: readonly TakenWord[],
  hits: readonly FoundRow[],
): Promise<UnknownWord[]> {
  const queries = unknown.flatMap(({ takenAs }) => takenAs.map((variant) => variantQuery(variant, "")));
  const ids = hits.slice(0, LIMITS.search.takenFrom).map(({ id }) => id);
  const rows =
    queries.length > 0 && ids.length > 0
      ? await run(matchesOfHits, { graphId, ids, queries, bytes }).catch(noneInTime)
      : [];
  const had = new Set(rows.flatMap(({ places }) => places.map((place) => queries[place])));
  return unknown.flatMap(({ word, takenAs }) => {
    const found = takenAs.filter((variant) => had.has(variantQuery(variant, "")));
    return found.some(({ way }) => way === "type") ? [] : [{ word, takenAs: found.map(stemsOf) }];
  });
}

function noneInTime(error: unknown): never[] {
  if (isTimeout(error)) return [];
  throw error;
}

const isHit = (row: HitRow): row is FoundRow => row.id !== null;

async function explainHits(run: Run, graphId: string, rows: readonly FoundRow[], concepts: readonly Concept[]) {
  if (rows.length === 0) return [];
  const possibilities = possibilitiesOf(concepts);
  const ids = rows.map(({ id }) => id);
  const queries = possibilities.map(({ query }) => query);
  const had = new Map(
    (await run(matchesOfHits, { graphId, ids, queries, bytes })).map(({ id, places }) => [id, places]),
  );
  return rows.map((row) => {
    const places = new Set(had.get(row.id));
    return {
      ...row,
      matches: matchesOf(
        row,
        concepts,
        possibilities.filter((_, place) => places.has(place)),
      ),
    };
  });
}

export const narrowingOf = (filter: Partial<MemoryFilterInput>): Narrowing => ({
  types: filter.types ?? [],
  tags: tagsAskedFor(filter.tags),
  anyTag: filter.tagsMatch === TagsMatch.ANY,
  isFiltered: needsRows(filter),
});

function hitValues(plan: Plan, phrases: readonly string[], wishes: SearchWishes) {
  const { gates, scans, pairs, names, wide, walk } = plan;
  const { limit, offset, explain, withText, expired } = wishes;
  return {
    gates: gates.map(({ query }) => query),
    furtherWords: gates.map(({ further }) => further),
    within: gates.map((gate) => gate.within),
    limits: gates.map((gate) => gate.limit),
    walks: walk.suffices,
    wide: wide.query,
    compares: [...wide.compares],
    types: wide.types && [...wide.types],
    tags: wide.tags && [...wide.tags],
    phrases: phrases.length > 0 ? phrases : null,
    scanGates: scans.map(({ gate, passes }) => (passes ? -gate : gate)),
    concepts: scans.map(({ concept }) => concept),
    scans: scans.map(({ query }) => query),
    points: scans.map(({ points }) => points),
    shares: scans.map(({ share }) => share),
    inTitle: scans.map(({ inTitle }) => inTitle),
    pairs,
    names: names.map(({ pattern }) => pattern),
    nameShares: names.map(({ share }) => share),
    queryLength: [...wishes.query.trim()].length,
    tuning: tuningOf(plan, wishes),
    limit: Math.min(limit, TOTAL_MAX - offset),
    offset,
    examined: Math.floor(LIMITS.search.examined / gates.length),
    ...filterValues(wishes),
    now: expired ?? null,
    textBytes: withText ? LIMITS.search.snippetBytes : 0,
    textLeast: LIMITS.search.snippetCharacters,
    explains: explain,
    probes: phrases.length > 0 && (gates[0]?.expected ?? Infinity) < 1,
  };
}

/** What `search_hits` reads by its place: the first of these is `p_tuning[1]`, the last one `p_tuning[23]`. */
function tuningOf({ isFirstSpared, shareMin, readBytes, wide, walk }: Plan, { withLinks }: SearchWishes): number[] {
  const { pairsIn, namesIn, nameBytes, phraseBytes, bestBytes } = LIMITS.search;
  const { brevity, importance, length, sideBySide, superseded } = TUNING;
  return [
    shareMin,
    brevity,
    importance,
    length,
    sideBySide,
    pairsIn,
    superseded,
    readBytes,
    namesIn,
    // From 10 on.
    Number(isFirstSpared),
    walk.newest,
    walk.oldest,
    walk.bytes,
    nameBytes,
    walk.shareMost,
    walk.shareLeast,
    // From 17 on.
    PROBED_MARGIN,
    Number(walk.isFiltered),
    wide.shareLeast,
    TUNING.shareMin.single,
    Number(withLinks),
    // From 22 on.
    phraseBytes,
    bestBytes,
  ];
}
