import { LIMITS } from "../../../limits.js";
import { type Concept, type Concepts, type FoundName, type Variant, isCounted, sum } from "./concepts.js";
import { UNSPACED } from "./fold.js";
import { type LookUps, chooseLookUps, documentsOf, gateFor } from "./look-ups.js";
import { patternOfPhrase } from "./names.js";
import { type Narrowing, type Wide, wideOf } from "./narrowing.js";
import type { SearchQuery } from "./query.js";
import type { Scored } from "./scans.js";
import { NOTHING, TEXT, TITLE, any, conceptQuery, quote } from "./tsquery.js";
import { TUNING } from "./tuning.js";
import { type SearchBounds, type Walk, walkFor } from "./walk.js";

export interface Plan extends LookUps {
  /** The concepts that are scored; scans refer to them by their positions. */
  readonly scored: readonly Concept[];
  /**
   * Neighbouring words of the query, side by side, with one word between, as far apart as in the query, as one, or as
   * the beginning of a name such as `StackOverflowError`; the parts of a word likewise.
   */
  readonly pairs: readonly string[];
  /** Names with signs, numbers and quoted words, as patterns. If some hits have one, the others lose this share. */
  readonly names: readonly { readonly pattern: string; readonly share: number }[];
  /** A hit must match more than this share of what the best hit matches, if any has several of the words. */
  readonly shareMin: number;
  /** Scans read the candidates' words if these have at most so many bytes together; else they look into the index. */
  readonly readBytes: number;
  readonly wide: Wide;
  readonly walk: Walk;
}

/** Plans a search: which concepts are scored, what is looked up for them, and how. */
export function planSearch(
  { concepts, names, memories }: Concepts,
  narrowing: Narrowing,
  { isPhrase, bounds }: { readonly isPhrase: boolean; readonly bounds: SearchBounds },
): Plan {
  const required = concepts.filter(({ isExtra }) => !isExtra);
  const everything = sum(required.map(({ weight }) => weight));
  const scored = scoreRarest(concepts, everything, bounds);
  const lookUps = chooseLookUps({ scored, required, isPhrase, narrowing, memories, bounds });
  return {
    scored,
    ...lookUps,
    pairs: pairsOf(required),
    names: namesToSpell(names, everything),
    shareMin: shareMinOf(required, memories),
    readBytes: readBytesOf(lookUps, memories, bounds),
    wide: wideOf(lookUps.gates, narrowing, memories),
    walk: walkFor(lookUps.gates, { narrowing, memories, bounds }),
  };
}

/**
 * Plans a search for signs alone, by memories with all of them, or for stop words alone, by titles with all of them.
 */
export function planLiterally(
  concept: Concept,
  { signs, signed, quoted }: SearchQuery,
  { narrowing, memories, bounds }: { narrowing: Narrowing; memories: number; bounds: SearchBounds },
): Plan {
  const mark = signs.length > 0 ? TEXT : TITLE;
  // Signs and stop words that the lexicon does not count may be in every memory.
  const expected = signs.some(isCounted) ? 0 : memories;
  const gate = { ...gateFor([conceptQuery(concept, mark)], { narrowing, bounds }), expected };
  return {
    scored: [concept],
    pairs: [],
    names: [...signed.map(({ pattern }) => pattern), ...quoted.map((words) => patternOfPhrase(words, () => false))]
      .slice(0, LIMITS.search.names)
      .map((pattern, _, { length }) => ({ pattern, share: lostApart(1 / length) })),
    shareMin: TUNING.shareMin.few,
    gates: [gate],
    isFirstSpared: false,
    scans: [{ gate: 1, concept: 0, query: null, points: TUNING.places.text, share: 1, inTitle: false }],
    readBytes: bounds.readBytes,
    wide: wideOf([gate], narrowing, memories),
    walk: walkFor([gate], { narrowing, memories, bounds }),
  };
}

/** The same plan without its first gate, for a graph in which no memory matches that one: it is not looked up again. */
export function withoutFirst(plan: Plan): Plan {
  const [first, ...others] = plan.gates;
  return first ? { ...plan, gates: [{ ...first, query: NOTHING, further: null }, ...others] } : plan;
}

/**
 * The concepts that are scored: the known ones first, and of these the rarest. At most half of them are names as wholes:
 * the parts of these count, too.
 */
function scoreRarest(concepts: readonly Concept[], everything: number, bounds: SearchBounds): Scored[] {
  const rarest = concepts.toSorted(
    (one, other) => Number(other.isKnown) - Number(one.isKnown) || documentsOf(one) - documentsOf(other),
  );
  const extras = new Set(rarest.filter(({ isExtra }) => isExtra).slice(bounds.concepts / 2));
  return rarest
    .filter((concept) => !extras.has(concept))
    .slice(0, bounds.concepts)
    .map((concept, place) => ({ ...concept, worth: concept.weight / everything, place }));
}

const pairsOf = (concepts: readonly Concept[]): string[] =>
  concepts
    .flatMap((concept, place) => [...asSplit(concept), ...asNeighbours(concepts[place - 1], concept)])
    .slice(0, LIMITS.search.pairs);

/** A word that may be split in two, such as "java21" or "getUser": its parts, the word as it is, or as it begins. */
function asSplit({ text, variants }: Concept): string[] {
  const split = variants.find(({ lexemes, text: parts }) => lexemes.length === 2 && parts.replace(" ", "") === text);
  return split ? [`${split.lexemes.map(quote).join(" <-> ")} | ${quote(text)}:*`] : [];
}

/** How far apart two words of a query may stand to be looked for at the same distance, as in "CUDA out of memory". */
const APART_MAX = 5;

/**
 * Whether to look for two words beside each other. A pair with an unknown word matches nothing, nor does one of two
 * words in scripts without spaces, for which the index has no places: it would take the place of another pair.
 */
const mayBeBeside = (one: Concept, other: Concept): boolean =>
  one.isKnown && other.isKnown && !(IS_UNSPACED.test(one.text) && IS_UNSPACED.test(other.text));
const IS_UNSPACED = new RegExp(UNSPACED, "u");

function asNeighbours(before: Concept | undefined, concept: Concept): string[] {
  if (before === undefined || !mayBeBeside(before, concept)) return [];
  const [words, next] = [wordsOf(before), wordsOf(concept)];
  if (words.length === 0 || next.length === 0) return [];
  const apart = (concept.position ?? 0) - (before.position ?? 0);
  const distances = [1, 2, ...(apart > 2 && apart <= APART_MAX ? [apart] : [])];
  const asOne = [...compoundOf(before, concept).map(quote), `${quote(before.text + concept.text)}:*`];
  return [[...distances.map((distance) => `${any(words)} <${distance}> ${any(next)}`), ...asOne].join(" | ")];
}

/** How many words that may stand for one are looked for beside another. */
const BESIDE_MAX = 4;
/** Other names are not looked for: with "hang" for "freeze", MRR of whole titles is 0.985 instead of 1. */
const BESIDE_WAYS: ReadonlyArray<Variant["way"]> = ["word", "form", "spelling"];

const wordsOf = ({ variants }: Concept): string[] =>
  variants
    .filter(({ lexemes, way }) => lexemes.length === 1 && BESIDE_WAYS.includes(way))
    .flatMap(({ lexemes }) => lexemes.map(quote))
    .slice(0, BESIDE_MAX);

/** The words that two neighbours form together: "signup" of "sign up", "productresolver" of "product resolver". */
const compoundOf = (one: Concept, other: Concept): string[] =>
  one.variants
    .filter(({ text, way }) => way === "parts" && text === one.text + other.text)
    .flatMap(({ lexemes }) => (lexemes.length === 1 ? lexemes : []));

/** For each name that the graph has, the share that a hit loses if it has only the name's parts. */
function namesToSpell(names: readonly FoundName[], everything: number): Plan["names"] {
  const weights = names.map(({ parts }) => sum(parts.map(({ weight }) => weight)));
  const most = Math.max(everything, sum(weights));
  return names.map(({ pattern }, place) => ({ pattern, share: lostApart((weights[place] ?? 0) / most) }));
}

/** What of this share is lost if the parts of a name stand apart. */
const lostApart = (share: number): number => share * (1 - TUNING.ways.apart);

function shareMinOf(required: readonly Concept[], memories: number): number {
  const { few, uncounted, many } = TUNING.shareMin;
  if (required.length > 3) return many;
  return memories > 0 ? few : uncounted;
}

/** In a large graph a look-up costs more, so more is read instead. */
function readBytesOf({ scans }: LookUps, memories: number, bounds: SearchBounds): number {
  const { readBytesPerLookUp, readBytesMost } = LIMITS.search;
  const lookUps = scans.filter(({ query }) => query !== null).length;
  return Math.max(bounds.readBytes, Math.min(readBytesMost, lookUps * memories * readBytesPerLookUp));
}
