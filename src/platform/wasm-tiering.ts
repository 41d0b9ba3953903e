import { setFlagsFromString } from "node:v8";

/** About how many bytes of instructions a function executes before V8 optimizes it; by default 1.8 to 13 million. */
const BUDGET = 100_000_000;

/**
 * Lets V8 optimize functions of WebAssembly later. Prisma's query compiler works most during the start. Optimizing its
 * functions then took 20 MB of memory (resident, Node 20), which stayed with the threads that had done it. The scan of
 * vectors, which works more, is still optimized in its first search among 100,000.
 */
export function optimizeWasmLate(): void {
  setFlagsFromString(`--wasm-tiering-budget=${BUDGET}`);
}
