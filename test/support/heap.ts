import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** The size of this process's heap after a garbage collection. */
export const heapMegabytes = async (): Promise<number> => (await collected()).heapUsed / 1_048_576;

/** The bytes that this process's buffers hold after a garbage collection. */
export const bufferMegabytes = async (): Promise<number> => (await collected()).arrayBuffers / 1_048_576;

async function collected(): Promise<NodeJS.MemoryUsage> {
  // The memory of a finished request is released a moment later.
  await sleep(200);
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage();
}
