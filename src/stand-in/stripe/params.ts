import { invalidRequest } from "./errors.js";

/** Decoded parameters: strings, and lists and hashes of them. */
export type Tree = string | readonly Tree[] | { readonly [name: string]: Tree };

/** Reads the parameter of a name; it is undefined if the request has none. Throws an ApiError. */
export type Reader<T> = (tree: Tree | undefined, param: string) => T;

/** The result of a reader. */
export type Read<R> = R extends Reader<infer T> ? T : never;

type Builder = string | { [name: string]: Builder };

const PARAMETERS_MAX = 1_000;
const DEPTH_MAX = 8;

/** Decodes `items[0][id]=…&expand[]=…`, the format of bodies and queries. Throws an ApiError. */
export function decode(text: string): { readonly [name: string]: Tree } {
  const root: { [name: string]: Builder } = {};
  const pairs = [...new URLSearchParams(text)];
  if (pairs.length > PARAMETERS_MAX)
    throw invalidRequest(`Too many parameters: at most ${PARAMETERS_MAX} are allowed.`);
  for (const [name, value] of pairs) {
    const keys = keysOf(name);
    let place = root;
    for (const [index, key] of keys.entries()) {
      const own = key === "" ? String(Object.keys(place).length) : key;
      if (index === keys.length - 1) place[own] = value;
      else place = hashAt(place, own, name);
    }
  }
  return Object.fromEntries(Object.entries(root).map(([name, value]) => [name, settle(value)]));
}

function keysOf(name: string): readonly string[] {
  const match = /^([^[\]]+)((?:\[[^[\]]*\])*)$/.exec(name);
  if (!match) throw invalidRequest(`Invalid parameter name: ${name}`, { param: name });
  const keys = [match[1] ?? "", ...Array.from((match[2] ?? "").matchAll(/\[([^[\]]*)\]/g), (key) => key[1] ?? "")];
  if (keys.length > DEPTH_MAX || keys.includes("__proto__")) throw invalidRequest("Invalid hash", { param: name });
  return keys;
}

function hashAt(place: { [name: string]: Builder }, key: string, name: string): { [name: string]: Builder } {
  const present = place[key] ?? {};
  if (typeof present === "string") throw invalidRequest("Invalid hash", { param: name });
  place[key] = present;
  return present;
}

/** A hash whose names are all numbers is a list. */
function settle(value: Builder): Tree {
  if (typeof value === "string") return value;
  const names = Object.keys(value);
  if (names.length > 0 && names.every((name) => /^\d+$/.test(name))) return Object.values(value).map(settle);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, settle(inner)]));
}

const TEXT_MAX_CHARACTERS = 5_000;

export function text(charactersMax = TEXT_MAX_CHARACTERS): Reader<string> {
  return (tree, param) => {
    if (typeof tree !== "string") throw invalidRequest("Invalid string", { param });
    if (tree === "") {
      const message = `You passed an empty string for '${param}'. It cannot be unset.`;
      throw invalidRequest(message, { code: "parameter_invalid_empty", param });
    }
    if (tree.length > charactersMax) {
      throw invalidRequest(`Invalid string: must be at most ${charactersMax} characters`, { param });
    }
    return tree;
  };
}

/** An empty value removes the field's value. */
export function clearable(charactersMax = TEXT_MAX_CHARACTERS): Reader<string | null> {
  return (tree, param) => (tree === "" ? null : text(charactersMax)(tree, param));
}

export function integer(min = 0, max = Number.MAX_SAFE_INTEGER): Reader<number> {
  return (tree, param) => {
    if (typeof tree !== "string" || !/^-?\d{1,15}$/.test(tree)) {
      throw invalidRequest(`Invalid integer: ${String(tree)}`, { code: "parameter_invalid_integer", param });
    }
    const value = Number(tree);
    if (value < min) throw invalidRequest(`This value must be greater than or equal to ${min}.`, { param });
    if (value > max) throw invalidRequest(`This value must be less than or equal to ${max}.`, { param });
    return value;
  };
}

export const boolean: Reader<boolean> = (tree, param) => {
  if (tree !== "true" && tree !== "false") throw invalidRequest(`Invalid boolean: ${String(tree)}`, { param });
  return tree === "true";
};

export function oneOf<const T extends string>(...values: readonly T[]): Reader<T> {
  return (tree, param) => {
    const value = values.find((known) => known === tree);
    if (value !== undefined) return value;
    throw invalidRequest(`Invalid ${param}: must be one of ${values.join(", ")}`, { param });
  };
}

export function list<T>(reader: Reader<T>, itemsMax = 100): Reader<readonly T[]> {
  return (tree, param) => {
    if (!isList(tree)) throw invalidRequest("Invalid array", { param });
    if (tree.length > itemsMax) throw invalidRequest(`Array too long: at most ${itemsMax} elements`, { param });
    return tree.map((item, index) => reader(item, `${param}[${index}]`));
  };
}

/** Any names with strings. An empty string removes a name; null stands for removing all. */
export const metadata: Reader<Readonly<Record<string, string | null>> | null> = (tree, param) => {
  if (tree === "") return null;
  if (tree === undefined || typeof tree === "string") throw invalidRequest("Invalid hash", { param });
  const entries = Object.entries(tree).map(([name, value]): [string, string | null] => {
    const inner = `${param}[${name}]`;
    if (typeof value !== "string") throw invalidRequest("Metadata values must be strings", { param: inner });
    if (name.length > 40 || value.length > 500) throw invalidRequest("Metadata is too long", { param: inner });
    return [name, value === "" ? null : value];
  });
  if (entries.length > 50) throw invalidRequest("Metadata can only have up to 50 keys", { param });
  return Object.fromEntries(entries);
};

/** A URL for a browser or for events. */
export const webAddress: Reader<string> = (tree, param) => {
  const value = text()(tree, param);
  if (/^https?:\/\//.test(value) && URL.canParse(value)) return value;
  throw invalidRequest("Not a valid URL", { code: "url_invalid", param });
};

export function optional<T>(reader: Reader<T>): Reader<T | undefined> {
  return (tree, param) => (tree === undefined ? undefined : reader(tree, param));
}

type Shape = Readonly<Record<string, Reader<unknown>>>;

/** A hash with fixed names: others are refused as unknown, and those that are not optional are required. */
export function fields<S extends Shape>(shape: S): Reader<{ readonly [K in keyof S]: Read<S[K]> }> {
  return (tree, param) => {
    const given = tree ?? {};
    if (typeof given === "string" || isList(given)) throw invalidRequest("Invalid hash", { param });
    const nameOf = (name: string) => (param === "" ? name : `${param}[${name}]`);
    for (const name of Object.keys(given)) {
      if (Object.hasOwn(shape, name)) continue;
      const message = `Received unknown parameter: ${nameOf(name)}`;
      throw invalidRequest(message, { code: "parameter_unknown", param: nameOf(name) });
    }
    const read = Object.entries(shape).map(([name, reader]) => [name, readField(reader, given[name], nameOf(name))]);
    return asShape<S>(Object.fromEntries(read));
  };
}

function readField(reader: Reader<unknown>, tree: Tree | undefined, param: string): unknown {
  if (tree === undefined && !toleratesAbsence(reader)) {
    throw invalidRequest(`Missing required param: ${param}.`, { code: "parameter_missing", param });
  }
  return reader(tree, param);
}

/** Whether the parameter is optional: readers made by `optional` return undefined for a missing value, others throw. */
function toleratesAbsence(reader: Reader<unknown>): boolean {
  try {
    return reader(undefined, "") === undefined;
  } catch {
    return false;
  }
}

/** Guaranteed by the readers: each name of the shape was read by its own reader. */
const asShape = <S extends Shape>(values: object) => values as { readonly [K in keyof S]: Read<S[K]> };

const isList = (tree: Tree | undefined): tree is readonly Tree[] => Array.isArray(tree);

/** The parameters that every request may have. */
export const COMMON = { expand: optional(list(text(200), 20)) };

/** The parameters of every list: a page starts after, or ends before, an object of another page. */
export const PAGING = {
  ...COMMON,
  limit: optional(integer(1, 100)),
  starting_after: optional(text()),
};
