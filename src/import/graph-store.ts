import type { Link, Note } from "./graph.js";

export interface StoredMemory {
  readonly id: string;
  readonly type: string;
  readonly title: string;
  readonly content: string;
  readonly tags: readonly string[];
  readonly version: number;
}

/** What a memory gains by an import that finds it there. */
export interface Change {
  readonly content?: string;
  readonly tags?: readonly string[];
}

/** What an import reads and writes. All of it may raise `Refused` for one thing, or `ImportStopped` for all. */
export interface GraphStore {
  /** All memories, or all that have the tag. */
  memories(tag: string | undefined): AsyncIterable<StoredMemory>;
  memory(id: string): Promise<StoredMemory>;
  /** Answers with the new memory's id. */
  createMemory(note: Note): Promise<string>;
  /** @throws Refused for the reason version_mismatch when the memory was changed since it was read. */
  update(memory: StoredMemory, change: Change): Promise<void>;
  createRelationship(from: string, to: string, link: Link): Promise<"created" | "existing">;
}

/** One thing is not taken; the rest can go on. */
export class Refused extends Error {
  constructor(
    message: string,
    readonly reason?: string,
  ) {
    super(message);
  }
}
