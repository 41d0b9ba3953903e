import { LIMITS } from "../limits.js";
import { Refused } from "./graph-store.js";

/** Less than the limit of a body: the rest is for the JSON around the items. */
const BYTES_MAX = LIMITS.http.bodyBytes - 65_536;
const VALUES_MAX = LIMITS.json.values - 1_000;

/** Splits items into lists that each fit into one call. */
function* batchesOf<Item extends object>(items: Iterable<Item>): Generator<Item[]> {
  let [batch, bytes, values]: [Item[], number, number] = [[], 0, 0];
  for (const item of items) {
    const text = JSON.stringify(item);
    const [ownBytes, ownValues] = [Buffer.byteLength(text), valuesIn(text)];
    const isFull =
      batch.length === LIMITS.bulk.items || bytes + ownBytes > BYTES_MAX || values + ownValues > VALUES_MAX;
    if (isFull && batch.length > 0) {
      yield batch;
      [batch, bytes, values] = [[], 0, 0];
    }
    batch.push(item);
    bytes += ownBytes;
    values += ownValues;
  }
  if (batch.length > 0) yield batch;
}

/** An upper bound of the values that the service counts: it also counts signs within texts. */
const valuesIn = (text: string): number => text.match(/[,[{]/g)?.length ?? 0;

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
