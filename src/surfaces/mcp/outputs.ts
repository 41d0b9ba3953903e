import { snakeCase } from "../../operation/names.js";

/** Which fields of an answer agents get. */
export interface Outputs {
  /** Whether agents get all fields. */
  readonly isWhole: boolean;
  /** Which fields of the field with this name, in snake_case; undefined if agents do not get that field. */
  of(name: string): Outputs | undefined;
}

export const WHOLE: Outputs = { isWhole: true, of: () => WHOLE };

/** Reads paths such as `total` and `memories.updatedAt`; without paths agents get everything. */
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
