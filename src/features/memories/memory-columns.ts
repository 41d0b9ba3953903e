import { type Whole, changedOf, saidOf } from "../../operation/said.js";
import { type Memory, type MemoryVersion, Prisma } from "../../platform/prisma/client.js";
import type { SqlType } from "../../platform/statement.js";

/** What is stored of a memory beside what it says: where it is, who made it when, and what is derived of it. */
const AROUND = {
  graphId: true,
  id: true,
  version: true,
  createdBy: true,
  createdAt: true,
  updatedBy: true,
  updatedAt: true,
  project: true,
} as const satisfies Partial<Record<keyof Memory, true>>;

/**
 * What a memory says. It is written and changed by its author, kept in versions, measured, and shown at every door; the
 * model `Memory` is where it is declared.
 */
export type Contents = Omit<Memory, keyof typeof AROUND>;
export type ContentName = keyof Contents;

/** The names of what a memory says. A version has the same: else this does not compile. */
export const CONTENTS: ReadonlyArray<ContentName & keyof MemoryVersion> = Object.values(
  Prisma.MemoryScalarFieldEnum,
).filter((name): name is ContentName => !(name in AROUND));

/** What it says, by PostgreSQL's types: for statements. */
export const CONTENT_TYPES = {
  type: "text",
  title: "text",
  content: "text",
  summary: "text?",
  tags: "text[]",
  importance: "float8",
  context: "json?",
  confidence: "float8",
  externalId: "text?",
  expiresAt: "timestamptz?",
} as const satisfies Record<ContentName, SqlType>;

/** What is read of a memory. */
export type MemoryRow = Omit<Memory, keyof typeof UNREAD>;

/** Columns of a memory that nobody reads. */
export const UNREAD = { updatedBy: true, project: true } as const;

/** The column of a field of the models. */
export const columnOf = (field: string): string => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** What is read of a memory `m`, as a SELECT lists it, under the names of the fields. */
export const MEMORY_COLUMNS: ReadonlyMap<string, string> = new Map(
  Object.values(Prisma.MemoryScalarFieldEnum)
    .filter((name) => !(name in UNREAD))
    .map((name) => [name, `m.${columnOf(name)} AS "${name}"`]),
);

/** For models: all that a memory or a version says. */
export const SELECT_CONTENTS = Object.fromEntries(CONTENTS.map((name) => [name, true])) as Record<ContentName, true>;

/** What somebody says of a new memory; what is left out is null. */
export const contentsOf = <Input extends Partial<Contents>>(input: Input & Whole<Contents, Input>): Contents =>
  withNormalTags(saidOf<Contents>(CONTENTS, input));

/** What somebody changes of a memory: what is left out stays. */
export const changesOf = <Input extends Partial<Contents>>(input: Input & Whole<Contents, Input>): Partial<Contents> =>
  withNormalTags(changedOf<Contents>(CONTENTS, input));

/** What a statement takes: JSON as it is measured, which Prisma would write anew where it sends the statement. */
export const forStatement = (contents: Contents) => ({ ...contents, context: jsonOf(contents.context) });

/** A context as it is stored. */
export const jsonOf = (context: Contents["context"]): string | null =>
  context === null ? null : JSON.stringify(context);

const withNormalTags = <Said extends Partial<Contents>>(said: Said): Said =>
  said.tags ? { ...said, tags: normalTags(said.tags) } : said;

/** Tags in their normal form: trimmed, lower-cased, without empties and repeats. */
export function normalTags(tags: readonly string[]): string[] {
  return [...new Set(tags.map((tag) => tag.trim().toLowerCase().normalize("NFC")))].filter((tag) => tag !== "");
}

/** What a row takes beside its texts. */
const ROW_BYTES = 200;

/** What texts, lists of them, or JSON take with their row; `relationship_bytes` of the database says the same. */
export const bytesOf = (values: readonly unknown[]): number =>
  values.flat().reduce<number>((sum, value) => sum + Buffer.byteLength(textOf(value)), ROW_BYTES);

/** A text as it is, JSON as it is written; nothing for numbers and times, which have their place in the row. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "object" && value !== null && !(value instanceof Date) ? JSON.stringify(value) : "";
}

/** What a memory or a version takes; `memory_bytes` of the database says the same. */
export const memoryBytes = (contents: Contents): number => bytesOf(CONTENTS.map((name) => contents[name]));
