import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { MemoryFilterInput } from "../../src/features/memories/memory-filter.js";

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
  /** Types, tags and others that the search is given besides. */
  readonly filters?: Partial<Omit<MemoryFilterInput, "graphId">>;
  /** Never read while search is improved: it shows whether changes help queries that nobody has seen. */
  readonly held?: boolean;
}

export interface LabelledSet {
  readonly name: string;
  readonly memories: readonly LabelledMemory[];
  readonly queries: readonly LabelledQuery[];
}

const lines = <Item>(file: string): Item[] =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Item);

const setOf = (name: string, files: string): LabelledSet => ({
  name,
  memories: lines<LabelledMemory>(`${files}memories.jsonl`).map((memory) => ({
    ...memory,
    id: `${name}-${memory.id}`,
  })),
  queries: lines<LabelledQuery>(`${files}queries.jsonl`).map((query) => ({
    ...query,
    relevant: query.relevant.map((id) => `${name}-${id}`),
  })),
});

/**
 * `first`: 394 memories of developers and agents, with queries in six classes. `own`: 72 memories with queries as
 * people type them: parts of identifiers, beginnings of words, pasted errors, Chinese, Japanese and Korean,
 * abbreviations, questions. Half of its memories' queries are held back. `languages`: 144 memories of teams that write
 * in one of twelve languages, with queries of a few words, and of one word in another form than the memory has it; the
 * class is the language. Half of each language's queries are held back. `themes`: 304 memories of teams that make no
 * software, such as a law firm and a family, with 1,739 short queries; the class is the theme.
 */
export const labelledSet = (name: "first" | "own" | "languages" | "themes"): LabelledSet =>
  setOf(name, `test/search-quality/data/${name}-`);

/** The set in `memories.jsonl` and `queries.jsonl` of a folder. */
export const labelledFolder = (folder: string): LabelledSet => setOf("given", join(folder, "/"));
