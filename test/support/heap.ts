import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** What this process holds in its heap, after everything that nobody holds has been collected. */
export async function heapMegabytes(): Promise<number> {
  // What a finished request still holds is let go of a moment later.
  await sleep(200);
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed / 1_048_576;
}
