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

interface Walked {
  readonly narrowing: Narrowing;
  readonly memories: number;
  readonly bounds: SearchBounds;
}

/**
 * How many memories to read before the index, which takes as long as many memories match: the newest and the oldest,
 * where these should have as many hits as a gate wants; or the newest that pass the filters, where few pass.
 */
export const walkFor = (gates: readonly Expectation[], walked: Walked): Walk =>
  walked.narrowing.isFiltered ? walkFiltered(gates, walked) : walkBothEnds(gates, walked);

const matchesOf = ({ expected }: Expectation): number => Math.max(1, expected ?? 0);
const sufficesFor = (gates: readonly Expectation[], rowsFor: (gate: Expectation) => number): boolean[] =>
  gates.map((gate) => gate.expected === null || rowsFor(gate) > 0);

/** How many times more memories are read than should be needed: so either half suffices if the other has no hits. */
const WALK_MARGIN = 2.2;
/** The same where some of both halves have shown how many hits are there. */
export const PROBED_MARGIN = 1.4;
/** With many types or tags, which cost more to look up: reading is worth it if so many times more memories match. */
const WIDE_FOR_MATCHES = 3;
/** So many times more memories are read with them. */
const WIDE_ROWS = 1.5;

function walkBothEnds(gates: readonly Expectation[], { narrowing, memories, bounds }: Walked): Walk {
  const { walkedBytesPerMemory, walkedBytesPerRow, walkedForMatches } = LIMITS.search;
  const rowsFor = (gate: Expectation): number => {
    const matches = matchesOf(gate);
    const rows = Math.ceil(WALK_MARGIN * ((gate.limit * memories) / matches));
    return rows <= bounds.walkedRows && rows * walkedForMatches <= matches ? rows : 0;
  };
  const half = Math.ceil(Math.max(...gates.map(rowsFor)) / 2);
  const suffices = sufficesFor(gates, rowsFor);
  const walk = { isFiltered: false, newest: half, oldest: half, shareMost: 1, suffices };
  const alternatives = alternativesOf(narrowing);
  if (alternatives.length === 0) return { ...walk, bytes: memories * walkedBytesPerMemory, shareLeast: 0 };
  const hasWide = alternatives.some(isWide);
  const rowsMost = bounds.walkedRows * (hasWide ? WIDE_ROWS : 1);
  const forMatches = hasWide ? WIDE_FOR_MATCHES : walkedForMatches;
  const wanted = PROBED_MARGIN * bounds.candidates;
  const shareLeast = Math.max(wanted / rowsMost, Math.sqrt((wanted * forMatches) / Math.max(1, memories)));
  return { ...walk, bytes: walkedBytesPerRow * (wanted / shareLeast), shareLeast };
}

/** How many times more memories are read than should be needed where only the newest are read. */
const FILTERED_MARGIN = 1.1;
/** Memories that pass a filter are read first if at least one memory in so many matches the words. */
const COMMON_IF_FILTERED = 16;
/** Of the memories that may be read, this share if there are filters: these memories are far apart. */
const WALKED_IF_FILTERED = 1 / 3;
/** In small graphs fewer of them, since there the index costs less. */
const FILTERED_IN_SMALL = { least: 1_000, share: 0.02 };
/** The share of memories that types or tags are taken to let pass beside a filter, if they are few. */
const SHARE_NARROWED = 1 / 8;

function walkFiltered(gates: readonly Expectation[], { narrowing, memories, bounds }: Walked): Walk {
  const { walkedBytesPerRow, examined } = LIMITS.search;
  const { least, share } = FILTERED_IN_SMALL;
  const rowsMost = Math.min(bounds.walkedRows * WALKED_IF_FILTERED, Math.max(least, memories * share));
  const narrowed = alternativesOf(narrowing).some((some) => !isWide(some)) ? SHARE_NARROWED : 1;
  const rowsFor = (gate: Expectation): number => {
    const matches = matchesOf(gate);
    const isCommon = matches * COMMON_IF_FILTERED >= memories && matches > examined / gates.length;
    const rows = (FILTERED_MARGIN * ((gate.limit * memories) / matches)) / narrowed;
    return isCommon ? Math.ceil(Math.min(rowsMost, rows)) : 0;
  };
  const newest = Math.max(...gates.map(rowsFor));
  const [most] = gates.toSorted((one, other) => (other.expected ?? 0) - (one.expected ?? 0));
  const found = (newest * narrowed * (most?.expected ?? 0)) / Math.max(1, memories);
  return {
    isFiltered: true,
    newest,
    oldest: 0,
    bytes: walkedBytesPerRow * newest,
    shareLeast: 0,
    shareMost: most && found >= most.limit ? 1 : Math.min(1, (found * gates.length) / examined),
    suffices: sufficesFor(gates, rowsFor),
  };
}
