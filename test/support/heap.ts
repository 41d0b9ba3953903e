import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** The size of this process's heap after a garbage collection. */
export async function heapMegabytes(): Promise<number> {
  // The memory of a finished request is released a moment later.
  await sleep(200);
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed / 1_048_576;
}
