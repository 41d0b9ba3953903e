import type { JsonObject } from "../text.js";

/** A whole file of another tool. */
export interface ToolFile {
  /** Where in the file the memories are, unless the file is nothing else. */
  readonly place?: string;
  readonly memories: readonly unknown[];
  /** How many there are of each other field, so that nothing is left out silently. */
  readonly others: ReadonlyMap<string, number>;
}

/** Counts what is in each field: the items of a list, or one value. */
export function countOthers(others: JsonObject): ReadonlyMap<string, number> {
  const counts = Object.entries(others).map(([name, value]) => [name, [value ?? []].flat().length] as const);
  return new Map(counts.filter(([, count]) => count > 0));
}
