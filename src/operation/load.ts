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
  const loader =
    (loaders.get(batch) as DataLoader<K, V> | undefined) ??
    new DataLoader<K, V>(async (keys) => batch(context, keys), { cache: false });
  loaders.set(batch, loader);
  return loader.load(key);
}

const loadersOf = new WeakMap<Context, Map<unknown, unknown>>();
