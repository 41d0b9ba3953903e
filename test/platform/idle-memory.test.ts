import { setImmediate as turn } from "node:timers/promises";
import { expect, it, onTestFinished, vi } from "vitest";
import { giveMemoryBack } from "../../src/platform/young-memory.js";
import { heapMegabytes } from "../support/heap.js";

it("collects old objects when nothing was served for ten seconds, and again only when the process has grown", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const rss = vi.spyOn(process.memoryUsage, "rss").mockReturnValue(100_000_000);
  onTestFinished(() => {
    vi.useRealTimers();
    rss.mockRestore();
  });
  let isQuiet = false;
  using _giving = giveMemoryBack(() => isQuiet);
  const wait = async (seconds: number) => {
    vi.advanceTimersByTime(seconds * 1_000);
    // What a weak reference has shown stays until the next turn.
    await turn();
  };
  const first = await makeOldGarbage();

  await wait(20);
  expect(isThere(first)).toBe(true);
  isQuiet = true;
  await turn();
  await wait(5);
  expect(isThere(first)).toBe(true);
  await turn();
  await wait(5);
  expect(isThere(first)).toBe(false);

  isQuiet = false;
  const second = await makeOldGarbage();
  isQuiet = true;
  await wait(20);
  expect(isThere(second)).toBe(true);
  rss.mockReturnValue(110_000_000);
  await turn();
  await wait(5);
  expect(isThere(second)).toBe(false);
});

/** Makes an object that has survived a full collection, so that only another one finds that it is garbage. */
async function makeOldGarbage(): Promise<WeakRef<object>> {
  const held = { object: {} };
  const garbage = new WeakRef(held.object);
  await heapMegabytes();
  held.object = {};
  await turn();
  return garbage;
}

const isThere = (garbage: WeakRef<object>): boolean => garbage.deref() !== undefined;
