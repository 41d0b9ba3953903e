import { describe, expect, it, onTestFinished, vi } from "vitest";
import { giveMemoryBack } from "../../src/platform/young-memory.js";
import { Collections } from "../support/collections.js";

/** How long a collection may take to be reported. */
const SOON = { timeout: 10_000 };

// Again if V8 collects all objects by itself at the same moment.
describe("the memory of an idle server", { retry: 3 }, () => {
  it("collects the youngest objects at intervals until it is stopped, and leaves no global function behind", async () => {
    using idle = new IdleServer();

    await expect.poll(idle.during(10), SOON).toEqual(["young", "young"]);
    idle.giving[Symbol.dispose]();

    expect(vi.getTimerCount()).toBe(0);
    expect("gc" in globalThis).toBe(false);
  });

  it("collects all objects when nothing was served for ten seconds, and again only when the process has grown", async () => {
    const rss = vi.spyOn(process.memoryUsage, "rss").mockReturnValue(100_000_000);
    onTestFinished(() => rss.mockRestore());
    using idle = new IdleServer();

    await expect.poll(idle.during(10), SOON).toEqual(["young", "young"]);
    idle.isQuiet = true;
    await expect.poll(idle.during(5), SOON).toEqual(["young"]);
    await expect.poll(idle.during(5), SOON).toContain("all");
    await expect.poll(idle.during(10), SOON).toEqual(["young", "young"]);

    rss.mockReturnValue(110_000_000);
    await expect.poll(idle.during(5), SOON).toContain("all");
  });

  it("goes on while its memory cannot be known, as without a file that may still be opened", async () => {
    const rss = vi.spyOn(process.memoryUsage, "rss").mockImplementation(() => {
      throw Object.assign(new Error("uv_resident_set_memory"), { code: "EMFILE" });
    });
    onTestFinished(() => rss.mockRestore());
    using idle = new IdleServer();
    idle.isQuiet = true;

    await expect.poll(idle.during(15), SOON).toEqual(["young", "young", "young"]);
  });
});

/** A process that gives memory back, with a time of its own. */
class IdleServer implements Disposable {
  isQuiet = false;
  readonly #collections = new Collections();
  readonly giving: Disposable;

  constructor() {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    this.giving = giveMemoryBack(() => this.isQuiet);
  }

  /** Lets so many seconds pass; the function returned tells which collections there were meanwhile. */
  during(seconds: number) {
    return this.#collections.during(() => vi.advanceTimersByTime(seconds * 1_000));
  }

  [Symbol.dispose](): void {
    this.giving[Symbol.dispose]();
    this.#collections[Symbol.dispose]();
    vi.useRealTimers();
  }
}
