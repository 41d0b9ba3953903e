import type { DatedNote, Link, Note } from "./graph.js";
import { ImportStopped } from "./import-stopped.js";

export interface StoredMemory {
  readonly id: string;
  readonly type: string;
  readonly title: string;
  readonly content: string;
  readonly tags: readonly string[];
  readonly client_id?: string | null;
  readonly version: number;
}

export interface StoredLink {
  readonly from: string;
  readonly to: string;
  readonly type: string;
}

/** What an import adds to an existing memory. */
export interface Change {
  readonly content?: string;
  readonly tags?: readonly string[];
}

/** A relationship between stored memories. */
export interface PlacedLink extends Link {
  readonly fromId: string;
  readonly toId: string;
}

/** A relationship whose time of creation is known. */
export interface DatedLink extends PlacedLink {
  readonly createdAt: Date;
}

export const isDatedLink = (link: PlacedLink): link is DatedLink => link.createdAt !== undefined;

/** What an import reads and writes. Every method may throw `Refused` for one item, or `ImportStopped` for all. */
export interface GraphStore {
  /** All memories, or all that have the tag. */
  memories(tag: string | undefined): AsyncIterable<StoredMemory>;
  memory(id: string): Promise<StoredMemory>;
  /** All relationships of up to fifty types. */
  relationships(types: readonly string[]): AsyncIterable<StoredLink>;
  /** All relationships, if that takes at most so many requests. */
  relationshipsWithin(requests: number): Promise<AsyncIterable<StoredLink> | undefined>;
  /** Creates all or none; returns the new memories' ids in their order. */
  createMemories(notes: readonly Note[]): Promise<readonly string[]>;
  /** The same, keeping the times of the notes. */
  createDated(notes: readonly DatedNote[]): Promise<readonly string[]>;
  /** @throws Refused with the reason version_mismatch when the memory was changed since it was read. */
  update(memory: StoredMemory, change: Change): Promise<void>;
  /** Creates all that do not exist, or none; returns how many existed. */
  createRelationships(links: readonly PlacedLink[]): Promise<number>;
  /** The same, keeping the times of the relationships. */
  createDatedRelationships(links: readonly DatedLink[]): Promise<number>;
}

/** One item was refused; the import continues. */
export class Refused extends Error {
  constructor(
    message: string,
    /** The service's reason for the refusal; its error code if it gives no reason. */
    readonly reason?: string,
  ) {
    super(message);
  }
}

/** Whether an error is a refusal, of one item or of all, and no bug. */
export const isRefusal = (error: unknown): error is Error => error instanceof Refused || error instanceof ImportStopped;
