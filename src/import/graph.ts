import { type JsonObject, quote } from "./text.js";

/** What a memory keeps from its source besides its text. */
export interface Kept {
  readonly confidence?: number | undefined;
  readonly context?: JsonObject | undefined;
  /** The id that it had. */
  readonly clientId?: string | undefined;
  readonly createdAt?: Date | undefined;
  readonly updatedAt?: Date | undefined;
  readonly expiresAt?: Date | undefined;
}

/** If only the last change has a time, the creation gets the same time. */
export const timesOf = (createdAt: Date | undefined, updatedAt: Date | undefined): Kept => ({
  createdAt: createdAt ?? updatedAt,
  updatedAt,
});

/** A memory to store, from a file of any format. */
export interface Note {
  /** Identifies it for relationships; its full name if it has lines. */
  readonly key: string;
  readonly type: string;
  readonly title: string;
  readonly content: string;
  readonly summary?: string | undefined;
  readonly tags: readonly string[];
  readonly importance?: number | undefined;
  readonly kept?: Kept | undefined;
  /** The lines of the content, if a later import may add more. */
  readonly lines?: readonly string[];
}

/** About how many bytes of text notes have, in UTF-8. */
export function bytesIn(notes: Iterable<Note>): number {
  let bytes = 0;
  for (const { title, content, summary = "" } of notes) bytes += Buffer.byteLength(title + content + summary);
  return bytes;
}

/** A memory whose time of creation is known. */
export interface DatedNote extends Note {
  readonly kept: Kept & { readonly createdAt: Date };
}

export const isDated = (note: Note): note is DatedNote => note.kept?.createdAt !== undefined;

/** @see Link.earlier; turned if it leads the other way. */
export interface EarlierType {
  readonly type: string;
  readonly isTurned: boolean;
}

/** A relationship to store, between two notes of the same file. */
export interface Link {
  readonly from: string;
  readonly to: string;
  readonly type: string;
  readonly context?: string | undefined;
  readonly strength?: number | undefined;
  readonly confidence?: number | undefined;
  readonly createdAt?: Date | undefined;
  /** The types of the file that `type` stands for: an earlier import stored it by one of these. */
  readonly earlier?: readonly EarlierType[];
  /** Its name in reports. */
  readonly label: string;
}

/** A "part" belongs to a memory or relationship that was imported itself. */
export type Kind = "memory" | "relationship" | "part" | "other";

/** Something in the file that was not imported, and why. */
export interface NotTaken {
  readonly kind: Kind;
  readonly what: string;
  readonly reason: string;
}

/** How many were read, and how many of these were merged with another. */
export interface Counts {
  readonly read: number;
  readonly merged: number;
}

export interface ImportedGraph {
  /** Set if a later import can find all notes by this tag. */
  readonly tag: string | undefined;
  readonly notes: ReadonlyMap<string, Note>;
  readonly links: ReadonlyMap<string, Link>;
  readonly memories: Counts;
  readonly relationships: Counts;
  /** Neither memory nor relationship: lines that cannot be read, and markers of the file. */
  readonly others: { readonly read: number };
  readonly notTaken: readonly NotTaken[];
  /** Lines without data, such as the marker of a tool or a comment. */
  readonly ignored: readonly NotTaken[];
  /** Fields that are not imported, such as versions and messages of a conversation, and how often they occurred. */
  readonly notCarried: ReadonlyMap<string, number>;
}

export const labelOf = ({ title }: Pick<Note, "title">): string => `memory ${quote(title)}`;
