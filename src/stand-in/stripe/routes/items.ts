import { billedOf } from "../billing.js";
import { invalidRequest } from "../errors.js";
import { makeItem } from "../lifecycle.js";
import { fields, integer, list, optional, text } from "../params.js";
import type { Scene } from "../scene.js";
import { type ItemRecord, type PriceRecord, type SubscriptionRecord } from "../state.js";
import { findNamed } from "./route.js";

export const QUANTITY_MAX = 999_999;
/** How many prices a subscription may have. */
const ITEMS_MAX = 20;

export const NEW_ITEMS = list(fields({ price: text(), quantity: optional(integer(0, QUANTITY_MAX)) }), ITEMS_MAX);

export const CHANGED_ITEMS = list(
  fields({
    id: optional(text()),
    price: optional(text()),
    quantity: optional(integer(0, QUANTITY_MAX)),
  }),
  ITEMS_MAX,
);

/** The price named by a parameter; throws an ApiError unless it exists and is recurring. */
export function recurringPrice({ state }: Scene, id: string, param: string): PriceRecord {
  const price = findNamed(state.prices, "price", id, param);
  if (price.recurring) return price;
  throw invalidRequest("The price specified is set to `type=one_time`, but a recurring one is needed.", { param });
}

export function newItems(scene: Scene, given: ReturnType<typeof NEW_ITEMS>): readonly ItemRecord[] {
  if (given.length === 0)
    throw invalidRequest("Missing required param: items.", { code: "parameter_missing", param: "items" });
  const items = given.map(({ price, quantity = 1 }, index) =>
    makeItem(scene, recurringPrice(scene, price, `items[${index}][price]`).id, quantity),
  );
  assertOneInterval(scene, items);
  return items;
}

/** An item with an id is changed, one without an id is added, as at Stripe. What is not prorated is not debited now. */
export function changedItems(
  scene: Scene,
  subscription: SubscriptionRecord,
  given: ReturnType<typeof CHANGED_ITEMS>,
  prorates = true,
): readonly ItemRecord[] {
  const items = new Map(subscription.items.map((item) => [item.id, item]));
  for (const [index, { id, price, quantity }] of given.entries()) {
    const param = `items[${index}]`;
    if (price !== undefined) recurringPrice(scene, price, `${param}[price]`);
    if (id === undefined) {
      const missing = { code: "parameter_missing", param: `${param}[price]` };
      if (price === undefined) throw invalidRequest(`Missing required param: ${param}[price].`, missing);
      const item = makeItem(scene, price, quantity ?? 1);
      items.set(item.id, item);
      continue;
    }
    const before = findNamed(Object.fromEntries(items), "subscription item", id, `${param}[id]`);
    const item = { ...before, price: price ?? before.price, quantity: quantity ?? before.quantity };
    const isDebited = prorates && (item.price !== before.price || item.quantity !== before.quantity);
    items.set(id, { ...item, billed: isDebited ? undefined : billedOf(before) });
  }
  assertOneInterval(scene, [...items.values()]);
  return [...items.values()];
}

function assertOneInterval({ state }: Scene, items: readonly ItemRecord[]): void {
  const intervals = new Set(items.map(({ price }) => JSON.stringify(state.prices[price]?.recurring)));
  if (intervals.size > 1) throw invalidRequest("The stand-in knows only items of one interval.", { param: "items" });
}
