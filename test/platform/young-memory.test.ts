import { constants, PerformanceObserver } from "node:perf_hooks";
import { expect, it, onTestFinished, vi } from "vitest";
import { giveMemoryBack } from "../../src/platform/young-memory.js";

it("collects the youngest objects at intervals until it is stopped, and leaves no global function behind", async () => {
  const collections: string[] = [];
  const observer = new PerformanceObserver((list) =>
    collections.push(...list.getEntries().map(detailOf).filter(isForced).map(ageOf)),
  );
  observer.observe({ entryTypes: ["gc"] });
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
    observer.disconnect();
  });

  const giving = giveMemoryBack();
  vi.advanceTimersByTime(10_000);
  giving[Symbol.dispose]();
  vi.advanceTimersByTime(10_000);
  vi.useRealTimers();
  await expect.poll(() => collections).toEqual(["young", "young"]);

  expect("gc" in globalThis).toBe(false);
});

type Collection = { flags: number; kind: number };

const detailOf = (entry: object): Collection => (entry as { detail: Collection }).detail;
const isForced = ({ flags }: Collection): boolean => (flags & constants.NODE_PERFORMANCE_GC_FLAGS_FORCED) !== 0;
const ageOf = ({ kind }: Collection): string => (kind === constants.NODE_PERFORMANCE_GC_MINOR ? "young" : "any");
