import { quote } from "./text.js";

/** A memory to store, whatever the file it comes from. */
export interface Note {
  /** What the file's relationships call it by; all of its name where it has lines. */
  readonly key: string;
  readonly type: string;
  readonly title: string;
  readonly content: string;
  readonly summary?: string | undefined;
  readonly tags: readonly string[];
  readonly importance?: number | undefined;
  /** What the content is made of, where it may grow from one import to the next. */
  readonly lines?: readonly string[];
}

/** A relationship to store, between two notes of the same file. */
export interface Link {
  readonly from: string;
  readonly to: string;
  readonly type: string;
  readonly context?: string | undefined;
  readonly strength?: number | undefined;
  readonly confidence?: number | undefined;
  /** What reports call it. */
  readonly label: string;
}

/** A part is of a memory or relationship that was taken itself. */
export type Kind = "memory" | "relationship" | "part" | "other";

/** Something of the file that is not in the graph afterwards, and why. */
export interface NotTaken {
  readonly kind: Kind;
  readonly what: string;
  readonly reason: string;
}

/** How many a file has, and how many of these say the same as another. */
export interface Counts {
  readonly read: number;
  readonly merged: number;
}

export interface ImportedGraph {
  /** Set where all notes are found again by a tag of their own. */
  readonly tag: string | undefined;
  readonly notes: ReadonlyMap<string, Note>;
  readonly links: ReadonlyMap<string, Link>;
  readonly memories: Counts;
  readonly relationships: Counts;
  /** What is neither: lines that cannot be read, and those that only mark the file. */
  readonly others: { readonly read: number };
  readonly notTaken: readonly NotTaken[];
  /** Lines that say nothing of memories, such as the marker of a tool or a comment. */
  readonly ignored: readonly NotTaken[];
  /** Fields in whose place the service has its own, such as times, and how often they were there. */
  readonly notCarried: ReadonlyMap<string, number>;
}

export const labelOf = ({ title }: Pick<Note, "title">): string => `memory ${quote(title)}`;
