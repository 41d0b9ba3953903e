import { expect, it, onTestFinished, vi } from "vitest";
import { giveMemoryBack } from "../../src/platform/young-memory.js";
import { Collections } from "../support/collections.js";

/** V8 may collect all objects by itself at the same moment. */
const AGAIN = { retry: 3 };
/** How long a collection may take to be reported. */
const SOON = { timeout: 10_000 };

it(
  "collects the youngest objects at intervals until it is stopped, and leaves no global function behind",
  AGAIN,
  async () => {
    useOwnTime();
    using collections = new Collections();
    const giving = giveMemoryBack();

    await expect
      .poll(
        collections.during(() => vi.advanceTimersByTime(10_000)),
        SOON,
      )
      .toEqual(["young", "young"]);
    giving[Symbol.dispose]();

    expect(vi.getTimerCount()).toBe(0);
    expect("gc" in globalThis).toBe(false);
  },
);

it(
  "collects all objects when nothing was served for ten seconds, and again only when the process has grown",
  AGAIN,
  async () => {
    useOwnTime();
    const rss = vi.spyOn(process.memoryUsage, "rss").mockReturnValue(100_000_000);
    onTestFinished(() => rss.mockRestore());
    using collections = new Collections();
    let isQuiet = false;
    using _giving = giveMemoryBack(() => isQuiet);
    const during = (seconds: number) => collections.during(() => vi.advanceTimersByTime(seconds * 1_000));

    await expect.poll(during(10)).toEqual(["young", "young"]);
    isQuiet = true;
    await expect.poll(during(5)).toEqual(["young"]);
    await expect.poll(during(5)).toContain("all");
    await expect.poll(during(10)).toEqual(["young", "young"]);

    rss.mockReturnValue(110_000_000);
    await expect.poll(during(5)).toContain("all");
  },
);

function useOwnTime(): void {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
}
