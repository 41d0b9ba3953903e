/** The well-known types of memories; others are accepted, too. */
export const MEMORY_TYPES = [
  "task",
  "code_pattern",
  "problem",
  "solution",
  "project",
  "technology",
  "error",
  "fix",
  "command",
  "file_context",
  "workflow",
  "general",
  "conversation",
] as const;
type MemoryType = (typeof MEMORY_TYPES)[number];

/** What is often said instead of a well-known type, and is none itself. */
const INSTEAD = {
  bug: "problem",
  issue: "problem",
  defect: "problem",
  incident: "problem",
  exception: "error",
  crash: "error",
  bugfix: "fix",
  hotfix: "fix",
  resolution: "solution",
  todo: "task",
  problems: "problem",
  errors: "error",
  solutions: "solution",
  fixes: "fix",
  tasks: "task",
} satisfies Record<string, MemoryType> & Partial<Record<MemoryType, never>>;
/** Plurals of types that agents are told to use beside the well-known ones. */
const PLURALS = { decisions: "decision", preferences: "preference", conventions: "convention" };
export const SYNONYMS: ReadonlyMap<string, string> = new Map(Object.entries({ ...INSTEAD, ...PLURALS }));

/** Types of memories that are open until something solves them. */
export const OPEN_TYPES: readonly string[] = ["problem", "error"] satisfies MemoryType[];

/** Types of memories that solve others. */
const SOLVING_TYPES: readonly string[] = ["solution", "fix"] satisfies MemoryType[];

/** Relationships that close what they lead to. `solvingMemories` and `search_hits` of the database know them, too. */
export const CLOSING: readonly string[] = ["SOLVES", "ADDRESSES"];

/** Types of memories that say what happened or is to be done. All others say how things are, until another does. */
const PASSING_TYPES: readonly string[] = [
  ...OPEN_TYPES,
  ...SOLVING_TYPES,
  ...(["task", "conversation"] satisfies MemoryType[]),
];

/** Whether a later memory of the type may replace it. */
export const isLasting = (type: string): boolean => !PASSING_TYPES.includes(SYNONYMS.get(type) ?? type);

/** Whether a problem would solve its solution. */
export const isTurned = (fromType: string, relationship: string, toType: string): boolean =>
  CLOSING.includes(relationship) && OPEN_TYPES.includes(fromType) && SOLVING_TYPES.includes(toType);

/** Whether what is only planned would close a problem. */
export const isPlanned = (fromType: string, relationship: string, toType: string): boolean =>
  CLOSING.includes(relationship) &&
  (SYNONYMS.get(fromType) ?? fromType) === ("task" satisfies MemoryType) &&
  OPEN_TYPES.includes(toType);

/** What an agent has to know of a type that nobody looks for; undefined for all others. Every type can be stored. */
export function hintOfType(type: string): string | undefined {
  const better = SYNONYMS.get(type);
  if (better === undefined) return undefined;
  const lacks = OPEN_TYPES.includes(better)
    ? "is not among the problems that are open"
    : `is not found by filters by ${better}`;
  return `The well-known type is ${better}: what has the type ${type} ${lacks}. update_memory can change it.`;
}
