import { invalidRequest, missingResource } from "../errors.js";
import type { Reader, Tree } from "../params.js";
import type { Scene } from "../scene.js";
import type { CustomerRecord } from "../state.js";

/** An endpoint. Its parameters are read before it changes anything; the change itself is synchronous. */
export interface Route {
  readonly method: "GET" | "POST" | "DELETE";
  /** With `:id` in place of an id. */
  readonly path: string;
  /** Reads the parameters, and throws an ApiError if they are invalid. It changes nothing. */
  prepare(params: Tree): (scene: Scene, id: string) => object;
}

export function route<P>(
  method: Route["method"],
  path: string,
  reader: Reader<P>,
  handle: (scene: Scene, params: P, id: string) => object,
): Route {
  return {
    method,
    path,
    prepare(tree) {
      const params = reader(tree, "");
      return (scene, id) => handle(scene, params, id);
    },
  };
}

interface Page {
  readonly limit: number | undefined;
  readonly starting_after: string | undefined;
}

const PAGE_DEFAULT = 10;

/** A page of objects, newest first. Throws an ApiError when it should start at an unknown object. */
export function listOf<R extends { readonly id: string }>(
  url: string,
  oldestFirst: readonly R[],
  { limit = PAGE_DEFAULT, starting_after }: Page,
  toObject: (record: R) => object,
): object {
  const all = oldestFirst.toReversed();
  const last = all.findIndex(({ id }) => id === starting_after);
  if (starting_after !== undefined && last < 0) throw missingResource("object", starting_after, "starting_after");
  const rest = all.slice(last + 1);
  return { object: "list", data: rest.slice(0, limit).map(toObject), has_more: rest.length > limit, url };
}

/** The object that a parameter names, or without a parameter the URL; throws an ApiError if it does not exist. */
export function findNamed<R>(records: Readonly<Record<string, R>>, kind: string, id: string, param?: string): R {
  const record = Object.hasOwn(records, id) ? records[id] : undefined;
  if (record === undefined) throw missingResource(kind, id, param);
  return record;
}

/** The customer named by a parameter; throws an ApiError if it does not exist, or was deleted. */
export function findCustomer({ state }: Scene, id: string): CustomerRecord {
  const customer = findNamed(state.customers, "customer", id, "customer");
  if (customer.deleted === true) throw missingResource("customer", id, "customer");
  return customer;
}

export function exclusive(given: Readonly<Record<string, unknown>>): void {
  const names = Object.keys(given).filter((name) => given[name] !== undefined);
  if (names.length > 1) throw invalidRequest(`You may only specify one of these parameters: ${names.join(", ")}.`);
}
