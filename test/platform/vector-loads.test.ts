import { expect, it } from "vitest";
import { NoRoomForVectors, VectorLoads } from "../../src/platform/meaning/vector-loads.js";

const LATER = 60_000;

/** How many of ten loads of a matrix are granted at a time. */
function loadsOf(loads: VectorLoads, matrix: string, bytes: number, now: number): number {
  const tries = Array.from({ length: 10 }, () => {
    try {
      loads.check(matrix, now);
      loads.take(matrix, bytes, now);
      return 1;
    } catch (error) {
      if (error instanceof NoRoomForVectors) return 0;
      throw error;
    }
  });
  return tries.reduce<number>((sum, granted) => sum + granted, 0);
}

it("leaves half of what may be loaded in a minute to other graphs, if one is loaded again and again", () => {
  const loads = new VectorLoads(1_000, 1_000);
  loads.take("none", 0, LATER);

  expect(loadsOf(loads, "one", 200, LATER)).toBe(2);
  expect(loadsOf(loads, "another", 200, LATER + 1)).toBe(2);
  expect(loadsOf(loads, "one", 200, 2 * LATER - 1)).toBe(0);
  expect(loadsOf(loads, "one", 200, 2 * LATER)).toBe(2);
});

it("loads a graph that needs more than half of that once a minute", () => {
  const loads = new VectorLoads(1_000, 1_000);

  expect(loadsOf(loads, "one", 900, LATER)).toBe(1);
  expect(loadsOf(loads, "one", 900, 2 * LATER - 1)).toBe(0);
  expect(loadsOf(loads, "one", 900, 2 * LATER)).toBe(1);
});

it("refuses graphs that take each other's place, until what they took of a minute's loads is earned again", () => {
  const loads = new VectorLoads(1_000, 1_000);

  expect(loadsOf(loads, "one", 400, LATER)).toBe(1);
  expect(loadsOf(loads, "another", 400, LATER)).toBe(1);
  expect(() => loads.take("third", 400, LATER)).toThrow("EMBEDDINGS_MEMORY_MB could be larger");
  expect(() => loads.check("third", 2 * LATER - 1)).toThrow(NoRoomForVectors);
  expect(loadsOf(loads, "third", 400, 2 * LATER)).toBe(1);
});
