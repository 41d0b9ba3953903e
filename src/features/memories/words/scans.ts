import { type Concept, type Variant, isBeside } from "./concepts.js";
import { MARKS, type Mark, TEXT, TITLE, conceptQuery, placeWorth, variantsQuery } from "./tsquery.js";
import { TUNING } from "./tuning.js";

/** The points that candidates of a gate get for a concept in a place. Without a query, all candidates get them. */
export interface Scan {
  /** From 1, as SQL counts. */
  readonly gate: number;
  readonly concept: number;
  readonly query: string | null;
  readonly points: number;
  readonly share: number;
  readonly inTitle: boolean;
  /** Whether what matches `query` passes the gate. */
  readonly passes?: boolean;
}

/** A concept that is scored. */
export interface Scored extends Concept {
  /** Its share of the weight of all concepts that a memory must have. */
  readonly worth: number;
  /** Its position among the scored concepts. */
  readonly place: number;
}

const worthOf = ({ besideShare }: Concept, way: Variant["way"]): number =>
  TUNING.ways[way] * (isBeside(way) ? Math.max(besideShare, BESIDE_LEAST[way] ?? 0) : 1);
const BESIDE_LEAST: Partial<Record<Variant["way"], number>> = TUNING.besideLeast;
/** How much of a concept a memory counts as having. With all parts of a name it has the name, though this tells little. */
const shareOf = (concept: Concept, way: Variant["way"]): number =>
  way === "apart" ? TUNING.ways.apart : worthOf(concept, way);

interface Worth {
  readonly points: number;
  readonly share: number;
}

const worthBy =
  (choose: (...worths: number[]) => number) =>
  (concept: Concept): Worth => ({
    points: choose(...concept.variants.map(({ way }) => worthOf(concept, way))),
    share: choose(...concept.variants.map(({ way }) => shareOf(concept, way))),
  });
export const bestWorth = worthBy(Math.max);
export const leastWorth = worthBy(Math.min);

/** Gives all candidates of a gate the points of a concept, without a look-up. */
export function giveConcept({ worth, place }: Scored, gate: number, mark: Mark, { points, share }: Worth): Scan {
  return {
    gate,
    concept: place,
    query: null,
    points: worth * points * placeWorth(mark),
    share: worth * share,
    inTitle: mark === TITLE,
  };
}

/** The same for all concepts that a memory must have, in its text. */
export const giveRequired = (concepts: readonly Scored[], gate: number, wayOf = bestWorth): Scan[] =>
  concepts.flatMap((concept) => (concept.isExtra ? [] : [giveConcept(concept, gate, TEXT, wayOf(concept))]));

/** Scans for any variant of a concept in a place: one look-up instead of one for each way. */
export const scanAnyWay = (concept: Scored, gate: number, mark: Mark): Scan => ({
  ...giveConcept(concept, gate, mark, bestWorth(concept)),
  query: conceptQuery(concept, mark),
});

/** Scans for concepts in places: one look-up for each way in which a concept was understood. */
export function scanEachWay(concepts: readonly Scored[], gate: number, marks: readonly Mark[] = MARKS): Scan[] {
  return concepts.flatMap((concept) => {
    const ways = [...new Set(concept.variants.map(({ way }) => way))];
    return ways.flatMap((way) => marks.map((mark) => scanOneWay(concept, gate, mark, way)));
  });
}

function scanOneWay(concept: Scored, gate: number, mark: Mark, way: Variant["way"]): Scan {
  const { variants, worth, isExtra, place } = concept;
  const inThisWay = variants.filter((variant) => variant.way === way);
  return {
    gate,
    concept: place,
    query: variantsQuery(inThisWay, mark),
    points: worth * worthOf(concept, way) * placeWorth(mark) * (isExtra ? TUNING.whole : 1),
    share: isExtra ? 0 : worth * shareOf(concept, way),
    inTitle: mark === TITLE && !isExtra,
  };
}
