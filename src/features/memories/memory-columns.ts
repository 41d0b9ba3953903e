import { type Memory, type MemoryVersion, Prisma } from "../../platform/prisma/client.js";
import type { SqlType } from "../../platform/statement.js";

/** What is stored of a memory beside what it says: where it is, and who made it when. */
const AROUND = {
  graphId: true,
  id: true,
  version: true,
  createdBy: true,
  createdAt: true,
  updatedBy: true,
  updatedAt: true,
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
} as const satisfies Record<ContentName, SqlType>;

/** What is read of a memory. */
export type MemoryRow = Omit<Memory, "updatedBy">;

/** The column of a field of the models. */
export const columnOf = (field: string): string => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** What is read of a memory `m`, as a SELECT lists it, under the names of the fields. */
export const MEMORY_COLUMNS: ReadonlyMap<string, string> = new Map(
  Object.values(Prisma.MemoryScalarFieldEnum)
    .filter((name) => name !== "updatedBy")
    .map((name) => [name, `m.${columnOf(name)} AS "${name}"`]),
);

/** For models: all that a memory or a version says. */
export const SELECT_CONTENTS = Object.fromEntries(CONTENTS.map((name) => [name, true])) as Record<ContentName, true>;

/** Has a field for everything that a memory says. */
type Whole<Input> = ContentName extends keyof Input ? unknown : never;

/** What somebody says of a new memory; what is left out is null. */
export const contentsOf = <Input extends Partial<Contents>>(input: Input & Whole<Input>): Contents =>
  Object.fromEntries(CONTENTS.map((name) => [name, normal(name, input[name] ?? null)])) as unknown as Contents;

/** What somebody changes of a memory: what is left out stays. */
export const changesOf = <Input extends Partial<Contents>>(input: Input & Whole<Input>): Partial<Contents> =>
  Object.fromEntries(
    CONTENTS.filter((name) => input[name] !== undefined).map((name) => [name, normal(name, input[name] ?? null)]),
  );

const normal = (name: ContentName, value: Contents[ContentName]): unknown =>
  name === "tags" && Array.isArray(value) ? normalTags(value) : value;

/** Tags in their normal form: trimmed, lower-cased, without empties and repeats. */
export function normalTags(tags: readonly string[]): string[] {
  return [...new Set(tags.map((tag) => tag.trim().toLowerCase().normalize("NFC")))].filter((tag) => tag !== "");
}

/** What a row takes beside its texts. */
const ROW_BYTES = 200;

/** What texts, or lists of them, take with their row; `relationship_bytes` of the database says the same. */
export function bytesOf(values: readonly unknown[]): number {
  const texts = values.flat().filter((value): value is string => typeof value === "string");
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), ROW_BYTES);
}

/** What a memory or a version takes; `memory_bytes` of the database says the same. */
export const memoryBytes = (contents: Contents): number => bytesOf(CONTENTS.map((name) => contents[name]));
