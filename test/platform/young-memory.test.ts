import { getHeapSpaceStatistics } from "node:v8";
import { expect, it } from "vitest";
import { collectYoungGarbage } from "../../src/platform/young-memory.js";

it("collects the youngest objects, and leaves no function to collect garbage behind", () => {
  const garbage = Array.from({ length: 20_000 }, (_, at) => ({ at, text: `number ${at}` }));
  garbage.length = 0;
  const before = youngBytes();

  collectYoungGarbage();

  expect(before).toBeGreaterThan(500_000);
  expect(youngBytes()).toBeLessThan(before / 2);
  expect("gc" in globalThis).toBe(false);
});

const youngBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space")?.space_used_size ?? 0;
