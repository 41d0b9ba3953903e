/** The most characters of a type, of a relationship or a memory. */
export const TYPE_MAX = 50;

/** The form of a relationship's type. That of a memory's type is the same in lower case. */
export const RELATIONSHIP_FORM = new RegExp(`^[A-Z][A-Z0-9_]{0,${TYPE_MAX - 1}}$`);

/** A well-known relationship type; others with the same format are accepted, too. */
export interface WellKnownType {
  readonly name: string;
  readonly category: string;
  /** Whether it means the same in both directions. */
  readonly symmetric: boolean;
  /** The type with the same meaning in the other direction. */
  readonly inverse: string | null;
}

const CATALOGUE = {
  causal: ["CAUSES", "TRIGGERS", "LEADS_TO", "PREVENTS", "BREAKS"],
  solution: ["SOLVES", "ADDRESSES", "ALTERNATIVE_TO", "IMPROVES", "REPLACES"],
  context: ["OCCURS_IN", "APPLIES_TO", "WORKS_WITH", "REQUIRES", "USED_IN"],
  learning: ["BUILDS_ON", "CONTRADICTS", "CONFIRMS", "GENERALIZES", "SPECIALIZES"],
  similarity: ["SIMILAR_TO", "VARIANT_OF", "RELATED_TO", "ANALOGY_TO", "OPPOSITE_OF"],
  workflow: ["FOLLOWS", "DEPENDS_ON", "ENABLES", "BLOCKS", "PARALLEL_TO"],
  quality: ["EFFECTIVE_FOR", "INEFFECTIVE_FOR", "PREFERRED_OVER", "DEPRECATED_BY", "VALIDATED_BY"],
} as const;
type WellKnownName = (typeof CATALOGUE)[keyof typeof CATALOGUE][number];

const SYMMETRIC: ReadonlySet<string> = new Set<WellKnownName>([
  "ALTERNATIVE_TO",
  "WORKS_WITH",
  "CONTRADICTS",
  "SIMILAR_TO",
  "RELATED_TO",
  "OPPOSITE_OF",
  "PARALLEL_TO",
]);

/** Two types that mean the same in opposite directions. */
const PAIRS: ReadonlyArray<readonly [WellKnownName, WellKnownName]> = [
  ["REPLACES", "DEPRECATED_BY"],
  ["GENERALIZES", "SPECIALIZES"],
];
const INVERSES: ReadonlyMap<string, string> = new Map([
  ...PAIRS,
  ...PAIRS.map(([one, other]) => [other, one] as const),
]);

export const WELL_KNOWN_TYPES: readonly WellKnownType[] = Object.entries(CATALOGUE).flatMap(([category, names]) =>
  names.map((name) => ({
    name,
    category,
    symmetric: SYMMETRIC.has(name),
    inverse: INVERSES.get(name) ?? null,
  })),
);

/** The verbs of the well-known types and their synonyms: base form, present and past, which also makes the passive. */
const TRANSITIVE: Readonly<Partial<Record<WellKnownName, readonly string[]>>> = {
  SOLVES: ["SOLVE SOLVES SOLVED", "FIX FIXES FIXED", "RESOLVE RESOLVES RESOLVED"],
  REPLACES: ["REPLACE REPLACES REPLACED", "SUPERSEDE SUPERSEDES SUPERSEDED", "SUPERCEDE SUPERCEDES SUPERCEDED"],
  CAUSES: ["CAUSE CAUSES CAUSED"],
  TRIGGERS: ["TRIGGER TRIGGERS TRIGGERED"],
  PREVENTS: ["PREVENT PREVENTS PREVENTED"],
  ADDRESSES: ["ADDRESS ADDRESSES ADDRESSED"],
  IMPROVES: ["IMPROVE IMPROVES IMPROVED"],
  REQUIRES: ["REQUIRE REQUIRES REQUIRED"],
  CONTRADICTS: ["CONTRADICT CONTRADICTS CONTRADICTED"],
  CONFIRMS: ["CONFIRM CONFIRMS CONFIRMED"],
  GENERALIZES: ["GENERALIZE GENERALIZES GENERALIZED", "GENERALISE GENERALISES GENERALISED"],
  SPECIALIZES: ["SPECIALIZE SPECIALIZES SPECIALIZED", "SPECIALISE SPECIALISES SPECIALISED"],
  FOLLOWS: ["FOLLOW FOLLOWS FOLLOWED"],
  ENABLES: ["ENABLE ENABLES ENABLED"],
  BLOCKS: ["BLOCK BLOCKS BLOCKED"],
};

/** As the label of a link, `fix: [[Target]]` says that the target is the fix, in the other direction than the verb. */
const NOUNS: ReadonlySet<string> = new Set(["FIX", "CAUSE", "TRIGGER", "ADDRESS", "BLOCK"]);

/** Other ways to say a well-known type, in the same direction. */
const SAME_DIRECTION: Readonly<Partial<Record<WellKnownName, string>>> = {
  SOLVES: "SOLUTION_FOR SOLUTION_TO SOLUTION_OF FIX_FOR",
  CAUSES: "CAUSE_OF",
  LEADS_TO: "LEAD_TO LED_TO",
  BREAKS: "BREAK BROKE",
  OCCURS_IN: "OCCUR_IN OCCURRED_IN",
  APPLIES_TO: "APPLY_TO APPLIED_TO",
  WORKS_WITH: "WORK_WITH WORKED_WITH",
  BUILDS_ON: "BUILD_ON BUILT_ON BUILDS_UPON BUILT_UPON",
  SIMILAR_TO: "SIMILAR",
  RELATED_TO: "RELATED RELATES_TO RELATE_TO",
  DEPENDS_ON: "DEPENDS DEPEND_ON DEPENDED_ON DEPENDS_UPON",
};

interface BetterType {
  readonly name: string;
  /** Whether the two memories change places. */
  readonly isTurned: boolean;
  /** Whether the name may be meant as a noun, so that its direction is not clear. */
  readonly mayBeNoun?: boolean;
}

const BETTER: ReadonlyMap<string, BetterType> = new Map([
  ...Object.entries(TRANSITIVE).flatMap(([name, verbs]) =>
    verbs.flatMap((verb) => {
      const [base = "", present = "", past = ""] = verb.split(" ");
      const active = [base, present, past].map((form): [string, BetterType] => {
        return [form, { name, isTurned: false, mayBeNoun: NOUNS.has(form) }];
      });
      const passive: [string, BetterType] = [`${past}_BY`, { name, isTurned: true }];
      return [...active, passive];
    }),
  ),
  ["BROKEN_BY", { name: "BREAKS", isTurned: true }],
  ...Object.entries(SAME_DIRECTION).flatMap(([name, others]) =>
    others.split(" ").map((other): [string, BetterType] => [other, { name, isTurned: false }]),
  ),
]);

/**
 * The well-known type that a name such as `FIXES`, `CAUSED` or `IS_SOLVED_BY` stands for; undefined for all others, and
 * for names that may mean several, such as `USED_BY`.
 */
export function betterTypeFor(name: string): BetterType | undefined {
  if (WELL_KNOWN.has(name)) return undefined;
  const said = name.replace(/^(?:IS|ARE|WAS|WERE)_/, "");
  if (said === name) return BETTER.get(name);
  // With such a word, `BLOCKED` says nothing of who blocks.
  if (WELL_KNOWN.has(said)) return { name: said, isTurned: false };
  return said.endsWith("_BY") ? BETTER.get(said) : undefined;
}

const WELL_KNOWN: ReadonlySet<string> = new Set(WELL_KNOWN_TYPES.map(({ name }) => name));
