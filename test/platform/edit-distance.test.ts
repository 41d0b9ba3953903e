import fc from "fast-check";
import { expect, it } from "vitest";
import { editDistance } from "../../src/platform/edit-distance.js";
import { roundsOf } from "../support/rounds.js";

/** The definition of the distance, in exponential time. */
function distanceOf(one: string, other: string): number {
  if (one === "" || other === "") return one.length + other.length;
  const [[a = "", b = ""], [c = "", d = ""]] = [one, other];
  return Math.min(
    distanceOf(one.slice(1), other) + 1,
    distanceOf(one, other.slice(1)) + 1,
    distanceOf(one.slice(1), other.slice(1)) + (a === c ? 0 : 1),
    b !== "" && a === d && b === c ? distanceOf(one.slice(2), other.slice(2)) + 1 : Infinity,
  );
}

it("counts the letters that are added, removed, replaced or swapped", () => {
  const words = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 6 });
  fc.assert(
    fc.property(words, words, (one, other) => {
      expect(editDistance(one, other)).toBe(distanceOf(one, other));
    }),
    { numRuns: roundsOf(1_000) },
  );
});
