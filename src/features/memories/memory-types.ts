/** What is often said instead of a well-known type. */
export const SYNONYMS: ReadonlyMap<string, string> = new Map([
  ["bug", "problem"],
  ["issue", "problem"],
  ["defect", "problem"],
  ["incident", "problem"],
  ["exception", "error"],
  ["crash", "error"],
  ["bugfix", "fix"],
  ["hotfix", "fix"],
  ["resolution", "solution"],
  ["todo", "task"],
  ["problems", "problem"],
  ["errors", "error"],
  ["solutions", "solution"],
  ["fixes", "fix"],
  ["tasks", "task"],
  ["decisions", "decision"],
  ["preferences", "preference"],
  ["conventions", "convention"],
]);

/** Types of memories that are open until something solves them. */
export const OPEN_TYPES: readonly string[] = ["problem", "error"];

/** Types of memories that solve others. */
const SOLVING_TYPES: readonly string[] = ["solution", "fix"];

/** Relationships that close what they lead to. */
export const CLOSING: readonly string[] = ["SOLVES", "ADDRESSES"];

/** Whether a problem would solve its solution. */
export const isTurned = (fromType: string, relationship: string, toType: string): boolean =>
  CLOSING.includes(relationship) && OPEN_TYPES.includes(fromType) && SOLVING_TYPES.includes(toType);

/** What an agent has to know of a type that nobody looks for; undefined for all others. Every type can be stored. */
export function hintOfType(type: string): string | undefined {
  const better = SYNONYMS.get(type);
  if (better === undefined) return undefined;
  const lacks = OPEN_TYPES.includes(better)
    ? "is not among the problems that are open"
    : `is not found by filters by ${better}`;
  return `The well-known type is ${better}: what has the type ${type} ${lacks}. update_memory can change it.`;
}
