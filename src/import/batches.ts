import { LIMITS } from "../limits.js";
import { Refused } from "./graph-store.js";

/** Less than the limit of a body: the rest is for the JSON around the items. */
const BYTES_MAX = LIMITS.http.bodyBytes - 65_536;

/** Splits items into lists that each fit into one call, if their contexts and tags have not too many values. */
function* batchesOf<Item extends object>(items: Iterable<Item>): Generator<Item[]> {
  let [batch, bytes]: [Item[], number] = [[], 0];
  for (const item of items) {
    const ownBytes = Buffer.byteLength(JSON.stringify(item));
    if (batch.length === LIMITS.bulk.items || (batch.length > 0 && bytes + ownBytes > BYTES_MAX)) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(item);
    bytes += ownBytes;
  }
  if (batch.length > 0) yield batch;
}

/** Stores items, as many in one call as fit. If the service refuses a call, reports the items that it refuses alone. */
export async function storeAll<Item extends object>(
  items: Iterable<Item>,
  store: (items: readonly Item[]) => Promise<void>,
  refuse: (item: Item, failure: Refused) => void,
): Promise<void> {
  for (const batch of batchesOf(items)) await storeTogether(batch, store, refuse);
}

/** Stores items in one call. If the service refuses it, stores each half by itself, down to the single refused items. */
async function storeTogether<Item>(
  items: readonly Item[],
  store: (items: readonly Item[]) => Promise<void>,
  refuse: (item: Item, failure: Refused) => void,
): Promise<void> {
  try {
    await store(items);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const [only] = items;
    if (items.length === 1 && only !== undefined) return refuse(only, error);
    const middle = Math.ceil(items.length / 2);
    await storeTogether(items.slice(0, middle), store, refuse);
    await storeTogether(items.slice(middle), store, refuse);
  }
}
