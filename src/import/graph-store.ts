import type { Link, Note } from "./graph.js";

export interface StoredMemory {
  readonly id: string;
  readonly type: string;
  readonly title: string;
  readonly content: string;
  readonly tags: readonly string[];
  readonly version: number;
}

/** What an import adds to an existing memory. */
export interface Change {
  readonly content?: string;
  readonly tags?: readonly string[];
}

/** What an import reads and writes. Every method may throw `Refused` for one item, or `ImportStopped` for all. */
export interface GraphStore {
  /** All memories, or all that have the tag. */
  memories(tag: string | undefined): AsyncIterable<StoredMemory>;
  memory(id: string): Promise<StoredMemory>;
  /** Returns the new memory's id. */
  createMemory(note: Note): Promise<string>;
  /** @throws Refused with the reason version_mismatch when the memory was changed since it was read. */
  update(memory: StoredMemory, change: Change): Promise<void>;
  createRelationship(from: string, to: string, link: Link): Promise<"created" | "existing">;
}

/** One item was refused; the import continues. */
export class Refused extends Error {
  constructor(
    message: string,
    readonly reason?: string,
  ) {
    super(message);
  }
}
