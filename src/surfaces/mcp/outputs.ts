import { snakeCase } from "../../operation/names.js";

/** Which parts of an answer agents get, by the names that they have there. */
export interface Outputs {
  /** Whether it is all of them. */
  readonly isWhole: boolean;
  /** What of the part with this name; undefined for nothing. */
  of(name: string): Outputs | undefined;
}

export const WHOLE: Outputs = { isWhole: true, of: () => WHOLE };

/** Of paths such as `total` and `memories.updatedAt`. */
export function outputsOf(paths: readonly string[] | undefined): Outputs {
  if (!paths) return WHOLE;
  const inner = new Map<string, string[]>();
  for (const path of paths) {
    const [name = "", ...rest] = path.split(".");
    const below = inner.get(snakeCase(name)) ?? [];
    inner.set(snakeCase(name), rest.length > 0 ? [...below, rest.join(".")] : below);
  }
  const parts = new Map(Array.from(inner, ([name, below]) => [name, outputsOf(below.length > 0 ? below : undefined)]));
  return { isWhole: false, of: (name) => parts.get(name) };
}
