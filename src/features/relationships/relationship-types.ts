/** A well-known relationship type; others with the same format are accepted, too. */
export interface WellKnownType {
  readonly name: string;
  readonly category: string;
  /** Whether it means the same in both directions. */
  readonly symmetric: boolean;
  /** The type with the same meaning in the other direction. */
  readonly inverse: string | null;
}

const CATALOGUE: Readonly<Record<string, readonly string[]>> = {
  causal: ["CAUSES", "TRIGGERS", "LEADS_TO", "PREVENTS", "BREAKS"],
  solution: ["SOLVES", "ADDRESSES", "ALTERNATIVE_TO", "IMPROVES", "REPLACES"],
  context: ["OCCURS_IN", "APPLIES_TO", "WORKS_WITH", "REQUIRES", "USED_IN"],
  learning: ["BUILDS_ON", "CONTRADICTS", "CONFIRMS", "GENERALIZES", "SPECIALIZES"],
  similarity: ["SIMILAR_TO", "VARIANT_OF", "RELATED_TO", "ANALOGY_TO", "OPPOSITE_OF"],
  workflow: ["FOLLOWS", "DEPENDS_ON", "ENABLES", "BLOCKS", "PARALLEL_TO"],
  quality: ["EFFECTIVE_FOR", "INEFFECTIVE_FOR", "PREFERRED_OVER", "DEPRECATED_BY", "VALIDATED_BY"],
};

const SYMMETRIC = new Set([
  "ALTERNATIVE_TO",
  "WORKS_WITH",
  "CONTRADICTS",
  "SIMILAR_TO",
  "RELATED_TO",
  "OPPOSITE_OF",
  "PARALLEL_TO",
]);

const INVERSES: ReadonlyMap<string, string> = new Map([
  ["REPLACES", "DEPRECATED_BY"],
  ["DEPRECATED_BY", "REPLACES"],
  ["GENERALIZES", "SPECIALIZES"],
  ["SPECIALIZES", "GENERALIZES"],
]);

export const WELL_KNOWN_TYPES: readonly WellKnownType[] = Object.entries(CATALOGUE).flatMap(([category, names]) =>
  names.map((name) => ({
    name,
    category,
    symmetric: SYMMETRIC.has(name),
    inverse: INVERSES.get(name) ?? null,
  })),
);

/** Names that are often used instead of a well-known type, although no view follows them. */
const SYNONYMS: ReadonlyMap<string, string> = new Map([
  ["FIXES", "SOLVES"],
  ["RESOLVES", "SOLVES"],
  ["SUPERSEDES", "REPLACES"],
]);

/** The well-known type that a name such as `SOLVED_BY`, `FIXES` or `FIXED_BY` stands for; undefined for all others. */
export function betterTypeFor(name: string): { readonly name: string; readonly isTurned: boolean } | undefined {
  if (WELL_KNOWN.has(name)) return undefined;
  const verb = /^([A-Z]+)ED_BY$/.exec(name)?.[1];
  // `SOLVES` of `SOLVED_BY`, `PREVENTS` of `PREVENTED_BY`.
  const said = verb === undefined ? [name] : [`${verb}ES`, `${verb}S`];
  const better = said.map((active) => SYNONYMS.get(active) ?? active).find((active) => WELL_KNOWN.has(active));
  return better === undefined ? undefined : { name: better, isTurned: verb !== undefined };
}

const WELL_KNOWN: ReadonlySet<string> = new Set(WELL_KNOWN_TYPES.map(({ name }) => name));
