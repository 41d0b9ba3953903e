import DataLoader from "dataloader";
import type { Context } from "./context.js";

/** Fetches the values of many keys at once: one value for each key, in the same order. Keys may repeat. */
export type Batch<K, V> = (context: Context, keys: readonly K[]) => Promise<readonly V[]>;

/**
 * Loads one value, together with all others that the same request loads by the same batch at the same moment: a list of
 * N costs one query, not N. Nothing is cached, so later loads see the changes of a mutation.
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
    batchScheduleFn: (fetch) => void fetchAfterOthers(context, fetch),
  });

/** Waits for a turn. Fields of this request that wait for theirs come first: they may add keys to the batch. */
async function fetchAfterOthers({ pause }: Context, fetch: () => void): Promise<void> {
  await settlePromises();
  await pause();
  await settlePromises();
  fetch();
}

/** Settles when no promise callbacks are left to run: only then does Node call what was given to `nextTick`. */
const settlePromises = (): Promise<void> => Promise.resolve().then(() => new Promise(process.nextTick));

const loadersOf = new WeakMap<Context, Map<unknown, unknown>>();
