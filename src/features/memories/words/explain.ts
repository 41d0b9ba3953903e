import type { Concept, Variant } from "./concepts.js";
import { MatchKind, MatchPlace, type SearchMatch } from "./match.js";
import { MARKS, type Mark, placeWorth, variantQuery } from "./tsquery.js";
import type { HitRow } from "./search-statements.js";
import { TUNING } from "./tuning.js";

const KINDS: Readonly<Record<Variant["way"], MatchKind>> = {
  word: MatchKind.WORD,
  form: MatchKind.WORD,
  parts: MatchKind.PARTS,
  apart: MatchKind.PARTS,
  name: MatchKind.BEGINNING,
  abbreviation: MatchKind.ABBREVIATION,
  initials: MatchKind.ABBREVIATION,
  rest: MatchKind.ABBREVIATION,
  spelling: MatchKind.SPELLING,
  begun: MatchKind.BEGINNING,
  beginning: MatchKind.BEGINNING,
  type: MatchKind.WORD,
};
const PLACES: Readonly<Record<Mark, MatchPlace>> = { "^": MatchPlace.TITLE, "#": MatchPlace.TAGS, "": MatchPlace.TEXT };

/** A variant of a concept in one place of a memory. */
interface Possibility {
  readonly concept: number;
  readonly variant: Variant;
  readonly mark: Mark;
  readonly query: string;
}

/** All ways in which a memory may match, best first. */
export function possibilitiesOf(concepts: readonly Concept[]): readonly Possibility[] {
  const all = concepts.flatMap(({ variants }, concept) =>
    variants.flatMap((variant) =>
      MARKS.map((mark) => ({
        concept,
        variant,
        mark,
        query: variantQuery(variant, mark),
      })),
    ),
  );
  return all.toSorted((one, other) => worthOf(other) - worthOf(one));
}

const worthOf = ({ variant, mark }: Possibility): number => TUNING.ways[variant.way] * placeWorth(mark);

/**
 * Which words of the query a hit matches, highest weight first. `had` are the possibilities that the hit has, best
 * first.
 */
export function matchesOf(
  { concepts: scored, weights }: Pick<HitRow, "concepts" | "weights">,
  concepts: readonly Concept[],
  had: readonly Possibility[],
): SearchMatch[] {
  const matches = (scored ?? []).flatMap((position, index) => {
    const found = had.find(({ concept }) => concept === position);
    const concept = concepts[position];
    if (!found || !concept) return [];
    const { variant, mark } = found;
    // Beside words that nearly all memories have, a name of these weighs far more than all that is asked for.
    const weight = Math.round(Math.min(1, weights?.[index] ?? 0) * 10_000) / 10_000;
    const place = variant.way === "type" ? MatchPlace.TYPE : PLACES[mark];
    return [{ word: concept.text, matched: variant.text, kind: KINDS[variant.way], place, weight }];
  });
  return matches.toSorted((one, other) => other.weight - one.weight);
}
