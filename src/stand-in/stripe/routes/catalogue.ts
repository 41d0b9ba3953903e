import { CURRENCIES } from "../currency.js";
import { invalidRequest, missingResource } from "../errors.js";
import { previousAttributes, toJson } from "../json.js";
import { cancelSubscription, createCustomer, hasEnded } from "../lifecycle.js";
import { customerObject, priceObject, productObject } from "../objects.js";
import {
  COMMON,
  PAGING,
  boolean,
  clearable,
  fields,
  integer,
  list,
  metadata,
  oneOf,
  optional,
  text,
} from "../params.js";
import type { Scene } from "../scene.js";
import { type PriceRecord, type ProductRecord, mergeMetadata, newId } from "../state.js";
import { type Route, listOf, findCustomer, findNamed, route } from "./route.js";

const INTERVALS = ["day", "week", "month", "year"] as const;
/** Stripe's limits, in the smallest unit of the currency and in intervals. */
const AMOUNT_MAX = 99_999_999;
const INTERVAL_COUNT_MAX = 156;

const CUSTOMER = fields({
  ...COMMON,
  balance: optional(integer(-AMOUNT_MAX, AMOUNT_MAX)),
  email: optional(clearable(512)),
  name: optional(clearable(256)),
  metadata: optional(metadata),
});

const PRODUCT = fields({
  ...COMMON,
  id: optional(text()),
  name: text(),
});

const PRICE = fields({
  ...COMMON,
  product: text(),
  currency: oneOf(...CURRENCIES),
  unit_amount: integer(0, AMOUNT_MAX),
  recurring: optional(
    fields({
      interval: oneOf(...INTERVALS),
      interval_count: optional(integer(1, INTERVAL_COUNT_MAX)),
    }),
  ),
  lookup_key: optional(text(200)),
  transfer_lookup_key: optional(boolean),
});

const PRICES = fields({
  ...PAGING,
  active: optional(boolean),
  lookup_keys: optional(list(text(200), 10)),
});

/** Customers, products and prices. */
export const catalogueRoutes: readonly Route[] = [
  route("POST", "/v1/customers", CUSTOMER, (scene, { email = null, name = null, ...given }) => {
    const { balance = 0, metadata: named } = given;
    return customerObject(createCustomer(scene, { email, name, balance, metadata: mergeMetadata({}, named) }));
  }),
  route("GET", "/v1/customers", fields(PAGING), ({ state }, params) =>
    listOf("/v1/customers", Object.values(state.customers), params, customerObject),
  ),
  route("GET", "/v1/customers/:id", fields(COMMON), ({ state }, _params, id) => {
    const customer = findNamed(state.customers, "customer", id);
    return customer.deleted === true ? deletedCustomer(id) : customerObject(customer);
  }),
  // Ends the subscriptions at once. Whether lists still name it, Stripe does not document: here they refuse.
  route("DELETE", "/v1/customers/:id", fields(COMMON), (scene, _params, id) => {
    const customer = findCustomer(scene, id);
    for (const subscription of Object.values(scene.state.subscriptions)) {
      if (subscription.customer === id && !hasEnded(subscription)) cancelSubscription(scene, subscription);
    }
    customer.deleted = true;
    scene.emit("customer.deleted", customerObject(customer));
    return deletedCustomer(id);
  }),
  route("POST", "/v1/customers/:id", CUSTOMER, (scene, { email, name, ...given }, id) => {
    const customer = findNamed(scene.state.customers, "customer", id);
    if (customer.deleted === true) throw missingResource("customer", id);
    const before = toJson(customerObject(customer));
    if (given.balance !== undefined) customer.balance = given.balance;
    if (email !== undefined) customer.email = email;
    if (name !== undefined) customer.name = name;
    customer.metadata = mergeMetadata(customer.metadata, given.metadata);
    const after = customerObject(customer);
    scene.emit("customer.updated", after, previousAttributes(before, toJson(after)));
    return after;
  }),
  route("POST", "/v1/products", PRODUCT, (scene, params) => productObject(createProduct(scene, params))),
  route("GET", "/v1/products/:id", fields(COMMON), ({ state }, _params, id) =>
    productObject(findNamed(state.products, "product", id)),
  ),
  route("POST", "/v1/prices", PRICE, (scene, params) => priceObject(createPrice(scene, params))),
  route("GET", "/v1/prices", PRICES, ({ state }, params) => {
    const { active, lookup_keys: keys } = params;
    const matching = Object.values(state.prices).filter(
      (price) =>
        active !== false && (keys === undefined || (price.lookupKey !== null && keys.includes(price.lookupKey))),
    );
    return listOf("/v1/prices", matching, params, priceObject);
  }),
  route("GET", "/v1/prices/:id", fields(COMMON), ({ state }, _params, id) =>
    priceObject(findNamed(state.prices, "price", id)),
  ),
];

const deletedCustomer = (id: string) => ({ id, object: "customer", deleted: true });

function createProduct(scene: Scene, params: ReturnType<typeof PRODUCT>): ProductRecord {
  const { id = newId("prod"), name } = params;
  if (Object.hasOwn(scene.state.products, id)) {
    throw invalidRequest("Product already exists.", { code: "resource_already_exists", param: "id" });
  }
  const product: ProductRecord = { id, created: scene.now(), name };
  scene.state.products[id] = product;
  scene.emit("product.created", productObject(product));
  return product;
}

function createPrice(scene: Scene, params: ReturnType<typeof PRICE>): PriceRecord {
  const { state } = scene;
  findNamed(state.products, "product", params.product, "product");
  const holder = Object.values(state.prices).find(
    ({ lookupKey }) => params.lookup_key !== undefined && lookupKey === params.lookup_key,
  );
  if (holder && params.transfer_lookup_key !== true) {
    const message = `A price (\`${holder.id}\`) already uses that lookup key.`;
    throw invalidRequest(message, { code: "resource_already_exists", param: "lookup_key" });
  }
  if (holder) holder.lookupKey = null;
  const { recurring } = params;
  const price: PriceRecord = {
    id: newId("price"),
    created: scene.now(),
    currency: params.currency,
    unitAmount: params.unit_amount,
    product: params.product,
    lookupKey: params.lookup_key ?? null,
    recurring: recurring ? { interval: recurring.interval, intervalCount: recurring.interval_count ?? 1 } : null,
  };
  state.prices[price.id] = price;
  scene.emit("price.created", priceObject(price));
  return price;
}

/** The prepared product and its price, created at the first start. */
export function readyPrice(scene: Scene): PriceRecord {
  const ready = Object.values(scene.state.prices)[0];
  if (ready) return ready;
  const product = createProduct(scene, PRODUCT({ name: "Seat" }, ""));
  const params = { product: product.id, currency: "usd", unit_amount: "800", recurring: { interval: "month" } };
  return createPrice(scene, PRICE(params, ""));
}
