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
  const loader = (loaders.get(batch) as Loader<K, V> | undefined) ?? new Loader(context, batch);
  loaders.set(batch, loader);
  loader.keys++;
  return loader.load(key);
}

class Loader<K, V> extends DataLoader<K, V> {
  /** How many it was asked for. */
  keys = 0;

  constructor(context: Context, batch: Batch<K, V>) {
    super(async (keys) => batch(context, keys), {
      cache: false,
      batchScheduleFn: (fetch) => void this.#fetchAfterOthers(context, fetch),
    });
  }

  /**
   * Waits for a turn, and for further ones while they bring more keys: what else of this request waits for its turn
   * comes first, such as the other objects of a long list.
   */
  async #fetchAfterOthers({ pause }: Context, fetch: () => void): Promise<void> {
    await settlePromises();
    let known: number;
    do {
      known = this.keys;
      await pause();
      await settlePromises();
    } while (this.keys > known);
    fetch();
  }
}

/** Settles when no promise callbacks are left to run: only then does Node call what was given to `nextTick`. */
const settlePromises = (): Promise<void> => Promise.resolve().then(() => new Promise(process.nextTick));

const loadersOf = new WeakMap<Context, Map<unknown, unknown>>();
