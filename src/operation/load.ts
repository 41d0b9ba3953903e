import DataLoader from "dataloader";
import type { Context } from "./context.js";

/** Fetches the values of many keys at once; the answer has one value a key, in their order. Keys may repeat. */
export type Batch<K, V> = (context: Context, keys: readonly K[]) => Promise<readonly V[]>;

/**
 * One value, fetched together with all that the same request asks of the same batch at the same moment: a list of N
 * costs one query, not N. Nothing is cached, so what a mutation changed is read anew.
 */
export function load<K, V>(context: Context, batch: Batch<K, V>, key: K): Promise<V> {
  const loaders = loadersOf.get(context) ?? new Map<unknown, unknown>();
  loadersOf.set(context, loaders);
  const loader = (loaders.get(batch) as DataLoader<K, V> | undefined) ?? loaderOf(context, batch);
  loaders.set(batch, loader);
  return loader.load(key);
}

const loaderOf = <K, V>(context: Context, batch: Batch<K, V>): DataLoader<K, V> =>
  new DataLoader(async (keys) => batch(context, keys), {
    cache: false,
    batchScheduleFn: (fetch) => void whenAllHaveAsked(context, fetch),
  });

/** What leads to further keys may still be waiting for its turn: this waits behind it. */
async function whenAllHaveAsked({ pause }: Context, fetch: () => void): Promise<void> {
  await allPromises();
  if (pause) {
    await pause();
    await allPromises();
  }
  fetch();
}

/** Settles when all has been done to which settled promises led: Node goes on to what `nextTick` was told only then. */
const allPromises = (): Promise<void> => Promise.resolve().then(() => new Promise(process.nextTick));

const loadersOf = new WeakMap<Context, Map<unknown, unknown>>();
