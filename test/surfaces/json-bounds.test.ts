import fc from "fast-check";
import { expect, it } from "vitest";
import { InvalidInput } from "../../src/operation/failure.js";
import { assertJsonFits } from "../../src/surfaces/json-bounds.js";
import { type SomeLimits, withLimits } from "../support/limits.js";

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** What is counted of a value: how deep it is, how many values it has, and the bytes of its longest name. */
interface Size {
  readonly depth: number;
  readonly values: number;
  readonly nameBytes: number;
}

/** Each comma counts as a value, and each beginning of a list or object; the value itself does, too. */
function sizeOf(value: Json): Size {
  const inner = (items: readonly Json[]): Size[] => items.map(sizeOf);
  if (typeof value !== "object" || value === null) return { depth: 0, values: 0, nameBytes: 0 };
  const isList = Array.isArray(value);
  const sizes = inner(Object.values(value));
  const names = isList ? [] : Object.keys(value).map((name) => Buffer.byteLength(JSON.stringify(name)) - 2);
  return {
    depth: 1 + Math.max(0, ...sizes.map(({ depth }) => depth)),
    values: Math.max(1, sizes.length) + sizes.reduce((sum, { values }) => sum + values, 0),
    nameBytes: Math.max(0, ...names, ...sizes.map(({ nameBytes }) => nameBytes)),
  };
}

const fits = (text: string, limits: SomeLimits["json"]): boolean => {
  using _limits = withLimits("json", limits);
  try {
    assertJsonFits(Buffer.from(text));
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidInput);
    return false;
  }
};

it("accepts JSON at each limit and refuses it beyond, whatever its texts contain", () => {
  // Texts of signs that have a meaning in JSON, also behind any number of backslashes.
  const text = fc.array(fc.constantFrom(...'\\"{}[]:,u0 é'), { maxLength: 8 }).map((signs) => signs.join(""));
  const { tree } = fc.letrec<{ tree: Json }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 5 },
      text,
      fc.constantFrom(null, true, 1.5),
      fc.array(tie("tree"), { maxLength: 4 }),
      fc.dictionary(text, tie("tree"), { maxKeys: 4 }),
    ),
  }));
  fc.assert(
    fc.property(tree, fc.constantFrom(0, 2), (value, indent) => {
      const { depth, values, nameBytes } = sizeOf(value);
      const exact = { depth, values: 1 + values, nameBytes };
      const json = JSON.stringify(value, null, indent);
      expect(fits(json, exact)).toBe(true);
      for (const name of ["depth", "values", "nameBytes"] as const) {
        if (exact[name] > 0) expect([name, fits(json, { ...exact, [name]: exact[name] - 1 })]).toEqual([name, false]);
      }
    }),
    { numRuns: 500 },
  );
});
