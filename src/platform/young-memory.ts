import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const INTERVAL_MS = 5_000;
/** For so many intervals in a row nothing may have been served before all objects are collected. */
const QUIET_INTERVALS = 2;
/** A process that has not grown by so much since is not collected again. */
const GROWTH_BYTES = 8_388_608;

/**
 * Makes V8 give back memory of an idle server, by garbage collections. Under load V8 grows the space for young objects
 * to 34 MB. It shrinks the space only in a collection with little load, which may never come, so young objects are
 * collected at intervals: a collection takes 1 ms then. V8 also leaves old garbage and, from Node 22 on, pages that it
 * no longer uses: after exports of 100,000 memories 70 MB, for ever. So all objects are collected when nothing was
 * served for a while. That takes 40 ms, which a request that comes just then must wait.
 * @param isQuiet whether nothing is served, and nothing was since the last call.
 */
export function giveMemoryBack(isQuiet: () => boolean): Disposable {
  let quietIntervals = 0;
  let bytesBefore = 0;
  const collect = () => {
    quietIntervals = isQuiet() ? quietIntervals + 1 : 0;
    const grown = (residentBytes() ?? 0) - bytesBefore;
    if (quietIntervals < QUIET_INTERVALS || grown < GROWTH_BYTES) return collectGarbage({ type: "minor" });
    collectGarbage(ALL);
    bytesBefore = residentBytes() ?? bytesBefore;
  };
  const timer = setInterval(collect, INTERVAL_MS).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Undefined if it cannot be known: Linux tells it in a file, which the process may not be able to open. */
function residentBytes(): number | undefined {
  try {
    return process.memoryUsage.rss();
  } catch {
    return undefined;
  }
}

/** The flavor also gives back the pages that V8 keeps for later. Node 20 knows neither, and collects all by default. */
const ALL = /^v2[01]\./.test(process.version) ? undefined : { type: "major", flavor: "last-resort" };

let gc: ((collection?: object) => void) | undefined;

function collectGarbage(collection?: object): void {
  gc ??= functionOfV8();
  gc(collection);
}

/** Returns V8's `gc`. Only contexts that are created while the flag is set have this function. */
function functionOfV8(): NonNullable<typeof gc> {
  setFlagsFromString("--expose-gc");
  const found = runInNewContext("gc") as NonNullable<typeof gc>;
  setFlagsFromString("--no-expose-gc");
  return found;
}
