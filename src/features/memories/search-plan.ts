import { LIMITS } from "../../limits.js";
import { type Concept, type Concepts, type FoundName, type Variant, isCounted, sum } from "./search-concepts.js";
import { type Narrowing, type Wide, alternativesOf, isWide, wideOf } from "./search-narrowing.js";
import type { SearchQuery } from "./search-query.js";
import {
  MARKS,
  type Mark,
  TAG,
  TEXT,
  TITLE,
  all,
  any,
  conceptQuery,
  placeWorth,
  quote,
  variantsQuery,
} from "./search-tsquery.js";
import { TUNING } from "./search-tuning.js";
import { type Expectation, type SearchBounds, type Walk, walkFor } from "./search-walk.js";

/** The look-ups in the index: gates find the candidates, scans score them. */
export interface Plan {
  /** The concepts that are scored; scans refer to them by their positions. */
  readonly scored: readonly Concept[];
  /** The first gate finds the memories that match the whole query. */
  readonly gates: readonly Gate[];
  /**
   * Whether to skip the first gate if another gate is full: its other hits are worth less, and are more than a search
   * counts.
   */
  readonly isFirstSpared: boolean;
  readonly scans: readonly Scan[];
  /** Neighbouring words of the query, side by side or with one word between. */
  readonly pairs: readonly string[];
  /** Names whose signs matter, as regular expressions. If some hits have a name, the others lose this share. */
  readonly names: readonly { readonly pattern: string; readonly share: number }[];
  /** A hit must match more than this share of what the best hit matches. */
  readonly shareMin: number;
  /** Scans read the candidates' words if these have at most so many bytes together; else they look into the index. */
  readonly readBytes: number;
  readonly wide: Wide;
  readonly walk: Walk;
}

interface Gate extends Expectation {
  readonly query: string;
  /** What a memory must match besides. PostgreSQL looks it up only for what matches `query`. */
  readonly further: string | null;
  /** The gate that finds all that this one finds, from 1; 0 if there is none. */
  readonly within: number;
}

/** The points that candidates of a gate get for a concept in a place. Without a query, all candidates get them. */
interface Scan {
  /** From 1, as SQL counts. */
  readonly gate: number;
  readonly concept: number;
  readonly query: string | null;
  readonly points: number;
  readonly share: number;
  readonly inTitle: boolean;
}

/** If this many times more memories than are ranked should have all words, no others are looked up. */
const FULL_ENOUGH = 2;
/** Of so many words a memory must have, PostgreSQL looks up the others only if it has these. */
const FIRST_PARTS = 3;

const documentsOf = ({ variants }: Concept): number => sum(variants.map(({ documents }) => documents));

/**
 * Plans a search. Candidates are the memories that match the whole query, and those with any of its rare concepts: the
 * rarest first, as many concepts as there is room for. If all concepts are common, those with the rarest one are taken
 * instead, and those that match the whole query and have some of it in the title.
 */
export function planSearch(
  { concepts, names: found, memories }: Concepts,
  narrowing: Narrowing,
  { isPhrase, bounds }: { readonly isPhrase: boolean; readonly bounds: SearchBounds },
): Plan {
  const rarest = concepts
    .toSorted((one, other) => Number(other.isKnown) - Number(one.isKnown) || documentsOf(one) - documentsOf(other))
    .slice(0, bounds.concepts);
  const required = concepts.filter(({ isExtra }) => !isExtra);
  const everything = sum(required.map(({ weight }) => weight));
  const scored = rarest.map((concept, place) => ({ ...concept, worth: concept.weight / everything, place }));
  const sure = required
    .map((concept) => ({ ...concept, variants: sureVariants(concept) }))
    .toSorted((one, other) => documentsOf(one) - documentsOf(other));
  const words = sure.map((concept) => conceptQuery(concept));
  const whole = all(words);
  const narrow = (...parts: string[]): Gate =>
    gateOf(parts, narrowing, { limit: bounds.candidates, expected: null, within: 0 });
  const wholeGate: Gate = { ...narrow(...words), expected: expectedWith(sure, memories) };
  const given = (gate: number, worthOf = bestWorth) =>
    scored.flatMap((concept) => (concept.isExtra ? [] : [givenBy(concept, gate, TEXT, worthOf(concept))]));
  const rare = rareAmong(rarest, bounds.candidates);
  const { few, uncounted, many } = TUNING.shareMin;
  const shareOfFew = memories > 0 ? few : uncounted;
  const [pairs, shareMin] = [pairsOf(required), required.length > 3 ? many : shareOfFew];
  const names = namesToSpell(found, everything);
  const scans = (gate: number, of: Scored[], marks: readonly Mark[]) =>
    of.flatMap((concept) => scansOf(concept, gate, marks));
  const plan = (gates: readonly Gate[], lookedUp: readonly Scan[]): Plan => {
    const walk = walkFor(gates, { narrowing, memories, bounds });
    const lookUps = lookedUp.filter(({ query }) => query !== null).length;
    const { readBytesPerLookUp, readBytesMost } = LIMITS.search;
    const inLarge = Math.min(readBytesMost, lookUps * memories * readBytesPerLookUp);
    const readBytes = Math.max(bounds.readBytes, inLarge);
    const wide = wideOf(gates, narrowing, memories);
    return { scored, pairs, names, shareMin, gates, isFirstSpared: false, scans: lookedUp, readBytes, wide, walk };
  };
  if (isPhrase) return plan([wholeGate], [...given(1), ...scans(1, scored, [TITLE, TAG])]);
  if (rare.length > 0) {
    const anyRare = any(rare.map((concept) => conceptQuery(concept)));
    const isSame = anyRare === whole;
    const gates = [narrow(...words), ...(isSame ? [] : [narrow(anyRare)])];
    const found = gates.length;
    // Scans, one for each way, tell what matches better than in the worst way. A concept with a single worth needs none
    // of its text.
    const known = scored.filter((concept) => isSame && !concept.isExtra && leastWorth(concept) === bestWorth(concept));
    const others = scored.filter((concept) => !known.includes(concept));
    const looked = [...scans(found, known, [TITLE, TAG]), ...scans(found, others, MARKS)];
    return plan(gates, [...given(1, leastWorth), ...looked]);
  }
  // What only begins with a common word is left out: it would count as if it were the word.
  const telling = scored
    .filter(({ isExtra }) => !isExtra)
    .slice(0, bounds.commonConcepts)
    .map((concept) => ({ ...concept, variants: sureVariants(concept) }));
  const [first] = telling;
  if (!first) return plan([wholeGate], given(1));
  if (required.length === 1) {
    const gates = [wholeGate, narrow(conceptQuery(first, TITLE)), narrow(conceptQuery(first, TAG))];
    const marks: readonly Mark[] = [TITLE, TAG];
    const places = marks.map((mark, index) => givenBy(first, index + 2, mark));
    return { ...plan(gates, [...given(1), ...places]), isFirstSpared: true };
  }
  const titled = any(telling.map((concept) => conceptQuery(concept, TITLE)));
  const plainly = (gate: number, marks: readonly Mark[]) =>
    telling.flatMap((concept) =>
      marks.map((mark) => {
        // All candidates of the gate have what the gate asks for, so this takes no look-up.
        return concept === first && mark === TEXT ? givenBy(concept, gate, mark) : scanAnyWay(concept, gate, mark);
      }),
    );
  const some = (...parts: string[]): Gate => ({ ...narrow(...parts), limit: bounds.commonCandidates });
  const rarestOnes: Gate = { ...some(conceptQuery(first)), expected: expectedWith([first], memories) };
  // One memory hardly ever has so many words, and it is costly to look for them all in titles too.
  if (required.length > telling.length)
    return plan([wholeGate, rarestOnes], [...given(1), ...plainly(2, [TITLE, TEXT])]);
  const inFull = plan(
    [wholeGate, { ...some(titled, whole), within: 1 }],
    [...given(1), ...given(2), ...plainly(2, [TITLE])],
  );
  // If so many memories should have all words, one that lacks a word is not among the best.
  if (expectedWith(required, memories) > FULL_ENOUGH * bounds.candidates) return inFull;
  return plan([...inFull.gates, rarestOnes], [...inFull.scans, ...plainly(3, [TITLE, TEXT])]);
}

/** How many memories should have all of these concepts if concepts were independent; mostly there are more. */
const expectedWith = (concepts: readonly Concept[], memories: number): number =>
  concepts.reduce((left, concept) => left * Math.min(1, documentsOf(concept) / Math.max(1, memories)), memories);

/**
 * A gate for memories that match all of these parts, the rarest first, and the narrowing. PostgreSQL looks up all words
 * of one query for each memory that has the first, so most of them are left to a second one.
 */
function gateOf(
  parts: readonly string[],
  narrowing: Narrowing,
  given: Pick<Gate, "limit" | "expected" | "within">,
): Gate {
  const alternatives = alternativesOf(narrowing);
  const narrow = alternatives.filter((some) => !isWide(some));
  const conditions = [...parts, ...narrow.map(any)];
  // Wide alternatives are looked up elsewhere; without them, something is left to the second query.
  const most = narrow.length < alternatives.length ? conditions.length : conditions.length - 1;
  const first = Math.min(parts.length, FIRST_PARTS, Math.max(1, most));
  const further = conditions.slice(first);
  return { query: all(conditions.slice(0, first)), further: further.length > 0 ? all(further) : null, ...given };
}

interface Scored extends Concept {
  readonly worth: number;
  /** Its position among the scored concepts. */
  readonly place: number;
}

function rareAmong(rarest: readonly Concept[], candidates: number): Concept[] {
  const rare: Concept[] = [];
  let expected = 0;
  for (const concept of rarest) {
    expected += documentsOf(concept);
    if (expected > candidates) break;
    rare.push(concept);
  }
  return rare;
}

/** The variants of a known word without the words that it only begins: the first gate asks for what was written. */
function sureVariants({ variants }: Concept): readonly Variant[] {
  const known = variants.filter(({ way }) => way !== "beginning");
  return known.some(({ way, documents }) => way !== "word" || documents > 1) ? known : variants;
}

function pairsOf(concepts: readonly Concept[]): string[] {
  const words = concepts.map(
    ({ variants }) => variants.find(({ lexemes, documents }) => lexemes.length === 1 && documents > 0)?.lexemes[0],
  );
  return words
    .slice(1)
    .flatMap((next, place) => {
      const word = words[place];
      if (word === undefined || next === undefined) return [];
      return [`${quote(word)} <-> ${quote(next)} | ${quote(word)} <2> ${quote(next)}`];
    })
    .slice(0, LIMITS.search.pairs);
}

/** In a graph that has a name, its parts also stand elsewhere, where they are worth less. */
function namesToSpell(names: readonly FoundName[], everything: number): Plan["names"] {
  const weights = names.map(({ parts }) => sum(parts.map(({ weight }) => weight)));
  const most = Math.max(everything, sum(weights));
  return names.map(({ pattern }, place) => ({ pattern, share: lostApart((weights[place] ?? 0) / most) }));
}

const lostApart = (share: number): number => share * (1 - TUNING.ways.apart);

const worthOf = ({ begunShare }: Concept, way: Variant["way"]): number =>
  TUNING.ways[way] * (way === "beginning" ? begunShare : 1);
const worthsOf = (concept: Concept): number[] => concept.variants.map(({ way }) => worthOf(concept, way));
const bestWorth = (concept: Concept): number => Math.max(...worthsOf(concept));
const leastWorth = (concept: Concept): number => Math.min(...worthsOf(concept));

/** Gives all candidates of a gate the points of a concept, without a look-up. */
function givenBy({ worth, place, ...concept }: Scored, gate: number, mark: Mark, way = bestWorth(concept)): Scan {
  return {
    gate,
    concept: place,
    query: null,
    points: worth * way * placeWorth(mark),
    share: worth * way,
    inTitle: mark === TITLE,
  };
}

/** The same for the candidates that have any variant in a place: one look-up instead of one for each way. */
const scanAnyWay = (concept: Scored, gate: number, mark: Mark): Scan => ({
  ...givenBy(concept, gate, mark),
  query: conceptQuery(concept, mark),
});

function scansOf(concept: Scored, gate: number, marks: readonly Mark[]): Scan[] {
  const { variants, worth, isExtra, place } = concept;
  const ways = [...new Set(variants.map(({ way }) => way))];
  return ways.flatMap((way) =>
    marks.map((mark) => ({
      gate,
      concept: place,
      query: variantsQuery(
        variants.filter((variant) => variant.way === way),
        mark,
      ),
      points: worth * worthOf(concept, way) * placeWorth(mark) * (isExtra ? TUNING.whole : 1),
      share: isExtra ? 0 : worth * worthOf(concept, way),
      inTitle: mark === TITLE && !isExtra,
    })),
  );
}

/**
 * Plans a search for signs alone, by memories with all of them, or for stop words alone, by titles with all of them.
 */
export function planLiterally(
  concept: Concept,
  { signs, signed }: SearchQuery,
  { narrowing, memories, bounds }: { narrowing: Narrowing; memories: number; bounds: SearchBounds },
): Plan {
  const mark = signs.length > 0 ? TEXT : TITLE;
  // Of what is not counted, most memories may have it.
  const expected = signs.some(isCounted) ? 0 : memories;
  const gate = gateOf([conceptQuery(concept, mark)], narrowing, { limit: bounds.candidates, expected, within: 0 });
  const points = { concept: 0, points: TUNING.places.text, share: 1, inTitle: false };
  return {
    scored: [concept],
    pairs: [],
    names: signed.map(({ pattern }) => ({ pattern, share: lostApart(1 / signed.length) })),
    shareMin: TUNING.shareMin.few,
    gates: [gate],
    isFirstSpared: false,
    scans: [{ ...points, gate: 1, query: null }],
    readBytes: bounds.readBytes,
    wide: wideOf([gate], narrowing, memories),
    walk: walkFor([gate], { narrowing, memories, bounds }),
  };
}
