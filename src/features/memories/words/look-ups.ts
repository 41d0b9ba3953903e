import { type Concept, type Variant, sum } from "./concepts.js";
import { type Narrowing, alternativesOf, isNarrowed, isWide } from "./narrowing.js";
import {
  type Scan,
  type Scored,
  bestWorth,
  giveConcept,
  giveRequired,
  leastWorth,
  scanAnyWay,
  scanEachWay,
} from "./scans.js";
import { type Mark, TAG, TEXT, TITLE, all, any, conceptQuery } from "./tsquery.js";
import type { Expectation, SearchBounds } from "./walk.js";

/** What is looked up in the index: gates find the candidates, scans score them. */
export interface LookUps {
  /** The first gate finds the memories that match the whole query. */
  readonly gates: readonly Gate[];
  /**
   * Whether to skip the first gate if another gate is full: its other hits are worth less, and are more than a search
   * counts.
   */
  readonly isFirstSpared: boolean;
  readonly scans: readonly Scan[];
}

interface Gate extends Expectation {
  readonly query: string;
  /** What a memory must match besides. PostgreSQL looks it up only for what matches `query`. */
  readonly further: string | null;
  /** The gate that finds all that this one finds, from 1; 0 if there is none. */
  readonly within: number;
}

/** What a query asks for, and where. */
export interface Asked {
  /** The rarest first. */
  readonly scored: readonly Scored[];
  /** The concepts that a memory must have. */
  readonly required: readonly Concept[];
  readonly isPhrase: boolean;
  readonly narrowing: Narrowing;
  readonly memories: number;
  readonly bounds: SearchBounds;
}

/** If this many times more memories than are ranked should have all words, no others are looked up. */
const FULL_ENOUGH = 2;
/** Of so many words a memory must have, PostgreSQL looks up the others only if it has these. */
const FIRST_PARTS = 3;

/**
 * Chooses what to look up. Candidates are the memories that match the whole query, and those with any of its rare
 * concepts: the rarest first, as many concepts as there is room for. If all concepts are common, those with the rarest
 * one are taken instead, and those that match the whole query and have some of it in the title. A name in camelCase is
 * rare, however common its parts are, and so is a word as it is written, however common another form of it is.
 */
export function chooseLookUps(asked: Asked): LookUps {
  if (asked.isPhrase) return lookUpPhrase(asked);
  const rare = rareAmong(asked.scored, asked.bounds.candidates);
  const names = rareNames(asked, rare);
  if (rare.length > 0) return lookUpRare(asked, [...rare, ...names]);
  return names.length > 0 ? lookUpNames(asked, names) : lookUpAllCommon(asked);
}

function lookUpAllCommon(asked: Asked): LookUps {
  const common = commonAmong(asked);
  const [rarest] = common;
  if (!rarest) return lookUpWhole(asked);
  return asked.required.length === 1 ? lookUpOneCommon(asked, rarest) : lookUpCommon(asked, rarest, common);
}

const IN_TITLE_OR_TEXT: readonly Mark[] = [TITLE, TEXT];

/** Also finds what was written itself. What the other gates find counts as its parts or another form, as most is. */
function lookUpNames(asked: Asked, names: readonly Scored[]): LookUps {
  const isName = (concept: Scored) => names.some(({ place }) => place === concept.place);
  const scored = asked.scored.map((concept) => (isName(concept) ? asLess(concept) : concept));
  const { gates, scans, isFirstSpared } = lookUpAllCommon({ ...asked, scored });
  const gate = gates.length + 1;
  const others = scored.filter((concept) => !concept.isExtra && !isName(concept));
  return {
    gates: [
      ...gates,
      { ...gateFor([any(names.map((name) => conceptQuery(name)))], asked), expected: documentsOfAll(names) },
    ],
    isFirstSpared,
    scans: [
      ...scans,
      ...scanEachWay(names, gate),
      ...others.flatMap((concept) => IN_TITLE_OR_TEXT.map((mark) => scanAnyWay(concept, gate, mark))),
    ],
  };
}

const lookUpWhole = (asked: Asked): LookUps => ({
  gates: [wholeGate(asked)],
  isFirstSpared: false,
  scans: giveRequired(asked.scored, 1),
});

function lookUpPhrase(asked: Asked): LookUps {
  const whole = lookUpWhole(asked);
  return { ...whole, scans: [...whole.scans, ...scanEachWay(asked.scored, 1, [TITLE, TAG])] };
}

function lookUpRare(asked: Asked, rare: readonly Scored[]): LookUps {
  const words = withoutBeginnings(asked.required).map((concept) => conceptQuery(concept));
  const anyRare = any(rare.map((concept) => conceptQuery(concept)));
  const isSame = anyRare === all(words);
  const gates = [gateFor(words, asked), ...(isSame ? [] : [gateFor([anyRare], asked)])];
  // Scans, one for each way, tell what matches better than in the worst way. A concept with a single worth needs none
  // of its text.
  const isGiven = (concept: Scored) =>
    isSame && !concept.isExtra && leastWorth(concept).points === bestWorth(concept).points;
  const wholes = new Set(rare.filter((concept) => asked.scored.includes(concept)).map(({ place }) => place));
  const given = asked.scored.filter(isGiven);
  const others = asked.scored.filter((concept) => !isGiven(concept));
  return {
    gates,
    isFirstSpared: false,
    scans: [
      ...giveRequired(asked.scored, 1, leastWorth),
      ...[...scanEachWay(given, gates.length, [TITLE, TAG]), ...scanEachWay(others, gates.length)].map((scan) => ({
        ...scan,
        passes: wholes.has(scan.concept),
      })),
    ],
  };
}

function lookUpOneCommon(asked: Asked, concept: Scored): LookUps {
  const marks: readonly Mark[] = [TITLE, TAG];
  const whole = lookUpWhole(asked);
  const marked = marks.map((mark) => gateFor([conceptQuery(concept, mark)], asked));
  const given = marks.map((mark, index) => giveConcept(concept, index + 2, mark, bestWorth(concept)));
  return { gates: [...whole.gates, ...marked], isFirstSpared: true, scans: [...whole.scans, ...given] };
}

function lookUpCommon(asked: Asked, rarest: Scored, common: readonly Scored[]): LookUps {
  const { required, memories, bounds } = asked;
  const whole = lookUpWhole(asked);
  const few = { ...asked, bounds: { ...bounds, candidates: bounds.commonCandidates } };
  const withRarest = { ...gateFor([conceptQuery(rarest)], few), expected: expectedWith([rarest], memories) };
  const scan = (gate: number, marks: readonly Mark[]) =>
    common.flatMap((concept) =>
      marks.map((mark) =>
        // All candidates of the gate have what the gate asks for, so this takes no look-up.
        concept === rarest && mark === TEXT
          ? giveConcept(concept, gate, mark, bestWorth(concept))
          : scanAnyWay(concept, gate, mark),
      ),
    );
  // If so many memories should have all words, one that lacks a word is not among the best.
  const isFull = expectedWith(required, memories) > FULL_ENOUGH * bounds.candidates;
  // Else one memory hardly ever has so many words, and it is costly to look for them all in titles too.
  if (required.length > common.length && (!isFull || isNarrowed(asked.narrowing))) {
    return { ...whole, gates: [...whole.gates, withRarest], scans: [...whole.scans, ...scan(2, [TITLE, TEXT])] };
  }
  const titled = any(common.map((concept) => conceptQuery(concept, TITLE)));
  const words = all(withoutBeginnings(required).map((concept) => conceptQuery(concept)));
  const gates = [...whole.gates, { ...gateFor([titled, words], few), within: 1 }];
  const scans = [...whole.scans, ...giveRequired(asked.scored, 2), ...scan(2, [TITLE])];
  if (isFull) return { ...whole, gates, scans };
  return { ...whole, gates: [...gates, withRarest], scans: [...scans, ...scan(3, [TITLE, TEXT])] };
}

/** The rarest concepts that so many memories should have together. */
function rareAmong(scored: readonly Scored[], candidates: number): Scored[] {
  const rare: Scored[] = [];
  let expected = 0;
  for (const concept of scored) {
    expected += documentsOf(concept);
    if (expected > candidates) break;
    rare.push(concept);
  }
  return rare;
}

/** Whether a memory has less than what was written: the parts of a name in camelCase, or another form of a word. */
const isLess = ({ way }: Variant): boolean => way === "apart" || way === "form";
/** A concept that counts in any case as if a memory had less. */
const asLess = (concept: Scored): Scored => ({
  ...concept,
  variants: concept.variants.map((one) => (one.way === "beginning" ? one : { ...one, way: "apart" })),
});

/**
 * The names in camelCase whose parts are common, without these, and the words of which another form is common: few
 * memories have what was written itself. The rarest that should have so few memories together.
 */
function rareNames({ scored, bounds }: Asked, rare: readonly Concept[]): Scored[] {
  const names = scored
    .filter((concept) => concept.variants.some(isLess) && !rare.includes(concept))
    .map((concept) => ({ ...concept, variants: concept.variants.filter((variant) => !isLess(variant)) }))
    .filter(({ variants }) => variants.length > 0)
    .toSorted((one, other) => documentsOf(one) - documentsOf(other));
  return rareAmong(names, bounds.candidates - documentsOfAll(rare));
}

/** The concepts that are looked up if all are common. */
const commonAmong = ({ scored, bounds }: Asked): Scored[] =>
  scored
    .filter(({ isExtra }) => !isExtra)
    .slice(0, bounds.commonConcepts)
    // What only begins with a common word is left out: it would count as if it were the word.
    .map(withoutBegun);

/** How many memories have a concept, counted once for each variant. */
export const documentsOf = ({ variants }: Concept): number => sum(variants.map(({ documents }) => documents));
const documentsOfAll = (concepts: readonly Concept[]): number => sum(concepts.map(documentsOf));

/** Concepts without the words that they only begin, the rarest first: the whole query asks for what was written. */
const withoutBeginnings = (concepts: readonly Concept[]): Concept[] =>
  concepts.map(withoutBegun).toSorted((one, other) => documentsOf(one) - documentsOf(other));

/** A concept without the words that it only begins, unless the graph has nothing else of it. */
function withoutBegun<Some extends Concept>(concept: Some): Some {
  const known = concept.variants.filter(({ way }) => way !== "beginning");
  const isKnown = known.some(({ way, documents }) => way !== "word" || documents > 1);
  return isKnown ? { ...concept, variants: known } : concept;
}

/** How many memories should have all of these concepts if concepts were independent; mostly there are more. */
const expectedWith = (concepts: readonly Concept[], memories: number): number =>
  concepts.reduce((left, concept) => left * Math.min(1, documentsOf(concept) / Math.max(1, memories)), memories);

/** A gate for the memories that match the whole query. */
function wholeGate(asked: Asked): Gate {
  const sure = withoutBeginnings(asked.required);
  const words = sure.map((concept) => conceptQuery(concept));
  return { ...gateFor(words, asked), expected: expectedWith(sure, asked.memories) };
}

/**
 * A gate for memories that match all of these parts, the rarest first, and the narrowing. PostgreSQL looks up all words
 * of one query for each memory that has the first, so most of them are left to a second one.
 */
export function gateFor(parts: readonly string[], { narrowing, bounds }: Pick<Asked, "narrowing" | "bounds">): Gate {
  const alternatives = alternativesOf(narrowing);
  const narrow = alternatives.filter((some) => !isWide(some));
  const conditions = [...parts, ...narrow.map(any)];
  // Wide alternatives are looked up elsewhere; without them, something is left to the second query.
  const most = narrow.length < alternatives.length ? conditions.length : conditions.length - 1;
  const first = Math.min(parts.length, FIRST_PARTS, Math.max(1, most));
  const further = conditions.slice(first);
  return {
    query: all(conditions.slice(0, first)),
    further: further.length > 0 ? all(further) : null,
    limit: bounds.candidates,
    expected: null,
    within: 0,
  };
}
