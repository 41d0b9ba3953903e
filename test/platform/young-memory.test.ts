import { getHeapSpaceStatistics } from "node:v8";
import { expect, it, onTestFinished, vi } from "vitest";
import { giveMemoryBack } from "../../src/platform/young-memory.js";

it("collects the youngest objects at intervals until it is stopped, and leaves no global function behind", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const giving = giveMemoryBack();
  makeGarbage();
  const before = youngBytes();

  vi.advanceTimersByTime(5_000);
  const after = youngBytes();
  giving[Symbol.dispose]();

  expect(before).toBeGreaterThan(500_000);
  expect(after).toBeLessThan(before / 2);
  expect("gc" in globalThis).toBe(false);
  expect(vi.getTimerCount()).toBe(0);
});

function makeGarbage(): void {
  const garbage = Array.from({ length: 20_000 }, (_, at) => ({ at, text: `number ${at}` }));
  garbage.length = 0;
}

const youngBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space")?.space_used_size ?? 0;
