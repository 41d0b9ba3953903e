import { invalidRequest } from "./errors.js";
import { invoiceObject } from "./invoice-object.js";
import { type JsonObject, isObject, toJson } from "./json.js";
import { customerObject, lineItemObjects, priceObject, productObject, subscriptionObject } from "./objects.js";
import { sessionObject } from "./session-object.js";
import { type Source, mustFind } from "./state.js";

const DEPTH_MAX = 4;

/** Replaces ids by objects, along a path such as `data.latest_invoice`. Throws an ApiError. */
export function expand(source: Source, answer: JsonObject, path: string): JsonObject {
  const names = path.split(".");
  if (names.length > DEPTH_MAX) {
    throw invalidRequest(`You cannot expand more than ${DEPTH_MAX} levels of a property`, { param: "expand" });
  }
  return expandNames(source, answer, names, path);
}

function expandNames(source: Source, object: JsonObject, names: readonly string[], path: string): JsonObject {
  const [name, ...rest] = names;
  if (name === undefined) return object;
  const value = isSession(object, name) ? lineItems(source, String(object["id"])) : object[name];
  if (value === undefined) {
    throw invalidRequest(`This property cannot be expanded (${path}).`, { param: "expand" });
  }
  const whole = typeof value === "string" ? readObject(source, name, value, path) : value;
  return { ...object, [name]: expandValue(source, whole, rest, path) };
}

function expandValue(source: Source, value: unknown, names: readonly string[], path: string): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => expandValue(source, item, names, path));
  return isObject(value) ? expandNames(source, value, names, path) : value;
}

const isSession = (object: JsonObject, name: string) =>
  object["object"] === "checkout.session" && name === "line_items";

const lineItems = (source: Source, id: string): JsonObject =>
  toJson({
    object: "list",
    data: lineItemObjects(source, mustFind(source.state.sessions[id])),
    has_more: false,
    url: `/v1/checkout/sessions/${id}/line_items`,
  });

function readObject(source: Source, name: string, id: string, path: string): JsonObject {
  const { customers, invoices, prices, products, sessions, subscriptions } = source.state;
  switch (name) {
    case "customer":
      return toJson(customerObject(mustFind(customers[id])));
    case "invoice":
    case "latest_invoice":
      return toJson(invoiceObject(source, mustFind(invoices[id])));
    case "price":
      return toJson(priceObject(mustFind(prices[id])));
    case "product":
      return toJson(productObject(mustFind(products[id])));
    case "session":
      return toJson(sessionObject(source, mustFind(sessions[id])));
    case "subscription":
      return toJson(subscriptionObject(source, mustFind(subscriptions[id])));
    default:
      throw invalidRequest(`This property cannot be expanded (${path}).`, { param: "expand" });
  }
}
