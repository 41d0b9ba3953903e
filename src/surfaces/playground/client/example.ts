import type { Ids } from "./ids.js";

/** An operation to try. Its variables use the ids of earlier answers, if there are any. */
export interface Example {
  readonly title: string;
  readonly about: string;
  readonly document: string;
  readonly variables?: (ids: Ids) => object;
}

export interface Subject {
  readonly name: string;
  readonly examples: readonly Example[];
}
