/** Work that takes less CPU time than this at its larger size is not compared: that would measure noise. */
const NOISE_MS = 15;
/** How much more a fourfold input may take. Linear work takes 4 times as much, quadratic work 16 times. */
const GROWTH_MAX = 8;
const TRIES = 6;

/**
 * Whether an input of four times the size takes more than about four times the CPU time, by the fastest of several
 * tries. Other programs on the machine change both times alike.
 * @returns what was measured if so; undefined if not.
 */
export async function findGrowth<Input>(
  size: number,
  make: (size: number) => Input,
  work: (input: Input) => unknown,
): Promise<string | undefined> {
  const [small, large] = [make(size), make(4 * size)];
  await work(small);
  let [fewest, most] = [Infinity, Infinity];
  for (let attempt = 0; attempt < TRIES; attempt++) {
    fewest = Math.min(fewest, await cpuOf(() => work(small)));
    most = Math.min(most, await cpuOf(() => work(large)));
    if (most < NOISE_MS || most < GROWTH_MAX * fewest) return undefined;
  }
  return `${fewest.toFixed(1)} ms for ${size}, but ${most.toFixed(1)} ms for ${4 * size}`;
}

/** The CPU time that work takes, in milliseconds. */
async function cpuOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
