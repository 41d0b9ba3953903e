import { isDeepStrictEqual } from "node:util";

export interface JsonObject {
  readonly [name: string]: unknown;
}

/** An object as sent over HTTP: decimals are strings, and undefined fields are left out. */
export const toJson = (object: object): JsonObject => JSON.parse(JSON.stringify(object)) as JsonObject;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The previous values of changed attributes. Hashes are compared recursively, lists as a whole. */
export function previousAttributes(before: JsonObject, after: JsonObject): JsonObject {
  const changed = Object.entries(before).filter(([name, value]) => !isDeepStrictEqual(value, after[name]));
  const added = Object.keys(after).filter((name) => !Object.hasOwn(before, name));
  return {
    ...Object.fromEntries(changed.map(([name, value]) => [name, previousValue(value, after[name])])),
    ...Object.fromEntries(added.map((name) => [name, null])),
  };
}

const previousValue = (before: unknown, after: unknown): unknown =>
  isObject(before) && isObject(after) ? previousAttributes(before, after) : before;
