import { readFileSync } from "node:fs";

export interface LabelledMemory {
  readonly id: string;
  readonly type: string;
  readonly title: string;
  readonly content: string;
  readonly tags: readonly string[];
  readonly importance: number;
}

/** A query, its class, and the memories that answer it. */
export interface LabelledQuery {
  readonly id: string;
  readonly class: string;
  readonly query: string;
  readonly relevant: readonly string[];
}

interface LabelledSet {
  readonly name: string;
  readonly memories: readonly LabelledMemory[];
  readonly queries: readonly LabelledQuery[];
}

const lines = <Item>(file: string): Item[] =>
  readFileSync(`test/search-quality/data/${file}.jsonl`, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Item);

/** `first`: a labelled set of 394 memories of developers and agents, with queries in six classes. */
export const labelledSet = (name: "first"): LabelledSet => ({
  name,
  memories: lines(`${name}-memories`),
  queries: lines(`${name}-queries`),
});
