import { LIMITS } from "../../../limits.js";
import { type Narrowing, alternativesOf, isWide } from "./narrowing.js";

/** How much a search looks at: `LIMITS.search`, except in a test that compares it with a search without bounds. */
export type SearchBounds = {
  readonly [
    Name in "concepts" | "commonConcepts" | "candidates" | "commonCandidates" | "readBytes" | "walkedRows"
  ]: number;
};

/** How many memories a gate is to find. */
export interface Expectation {
  readonly limit: number;
  /** How many memories should match; null if this is not known. */
  readonly expected: number | null;
}

/** How many of the newest and oldest memories are read before the index. */
export interface Walk {
  /** Whether only memories that pass the filters are read. */
  readonly isFiltered: boolean;
  readonly newest: number;
  readonly oldest: number;
  /** How many bytes of their words are read. */
  readonly bytes: number;
  /** With filters: the largest share of memories that may pass them. Where more do, the index finds more. */
  readonly shareMost: number;
  /**
   * With types or tags, whose shares are not known: how many memories are read is decided by the share of the newest and
   * the oldest ones that match the first gate, and none are if it is less than this. Otherwise 0.
   */
  readonly shareLeast: number;
  /** For each gate, whether what is found there may suffice. */
  readonly suffices: readonly boolean[];
}

/** How many times more memories are read than should be needed: so either half suffices if the other has no hits. */
const WALK_MARGIN = 2.2;
/** The same where some of both halves have shown how many hits are there. */
export const PROBED_MARGIN = 1.4;
/** Reading is worth it if so many times more memories match; with many types or tags, which cost more to look up. */
const WIDE_FOR_MATCHES = 3;
/** So many times more memories are read with them. */
const WIDE_ROWS = 1.5;
/** The same where only the newest are read. */
const FILTERED_MARGIN = 1.1;
/** Memories that pass a filter are read first if so many times more memories, or fewer, match the words. */
const COMMON_IF_FILTERED = 16;
/** Of the memories that may be read, this share if there are filters: these memories are far apart. */
const WALKED_IF_FILTERED = 1 / 3;
/** In small graphs fewer of them, since there the index costs less. */
const FILTERED_IN_SMALL = { least: 1_000, share: 0.02 };
/** The share of memories that types or tags are taken to let pass beside a filter, if they are few. */
const SHARE_NARROWED = 1 / 8;

/**
 * How many memories to read before the index, which takes as long as many memories match: the newest and the oldest,
 * where these should have as many hits as a gate wants; or the newest that pass the filters, where few pass.
 */
export function walkFor(
  gates: readonly Expectation[],
  { narrowing, memories, bounds }: { narrowing: Narrowing; memories: number; bounds: SearchBounds },
): Walk {
  const { walkedBytesPerMemory, walkedBytesPerRow, walkedForMatches, examined } = LIMITS.search;
  const { least, share } = FILTERED_IN_SMALL;
  const filteredMost = Math.min(bounds.walkedRows * WALKED_IF_FILTERED, Math.max(least, memories * share));
  const alternatives = alternativesOf(narrowing);
  const isNarrow = alternatives.some((some) => !isWide(some));
  const narrowed = isNarrow ? SHARE_NARROWED : 1;
  const needed = ({ limit, expected }: Expectation): number => {
    const matches = Math.max(1, expected ?? 0);
    const rows = (limit * memories) / matches;
    if (narrowing.isFiltered) {
      const isCommon = matches * COMMON_IF_FILTERED >= memories && matches > examined / gates.length;
      return isCommon ? Math.ceil(Math.min(filteredMost, (FILTERED_MARGIN * rows) / narrowed)) : 0;
    }
    const read = Math.ceil(WALK_MARGIN * rows);
    return read <= bounds.walkedRows && read * walkedForMatches <= matches ? read : 0;
  };
  const rows = Math.max(...gates.map(needed));
  const newest = narrowing.isFiltered ? rows : Math.ceil(rows / 2);
  const [most] = gates.toSorted((one, other) => (other.expected ?? 0) - (one.expected ?? 0));
  const found = (rows * narrowed * (most?.expected ?? 0)) / Math.max(1, memories);
  const isNarrowed = !narrowing.isFiltered && alternatives.length > 0;
  const isKnown = !narrowing.isFiltered && !isNarrowed;
  const wanted = PROBED_MARGIN * bounds.candidates;
  const hasWide = alternatives.some(isWide);
  const rowsMost = bounds.walkedRows * (hasWide ? WIDE_ROWS : 1);
  const forMatches = hasWide ? WIDE_FOR_MATCHES : walkedForMatches;
  const shareLeast = Math.max(wanted / rowsMost, Math.sqrt((wanted * forMatches) / Math.max(1, memories)));
  return {
    isFiltered: narrowing.isFiltered,
    newest,
    oldest: narrowing.isFiltered ? 0 : newest,
    bytes: isKnown
      ? memories * walkedBytesPerMemory
      : walkedBytesPerRow * (narrowing.isFiltered ? rows : wanted / shareLeast),
    shareMost: most && found >= most.limit ? 1 : Math.min(1, (found * gates.length) / examined),
    shareLeast: isNarrowed ? shareLeast : 0,
    suffices: gates.map((gate) => gate.expected === null || needed(gate) > 0),
  };
}
