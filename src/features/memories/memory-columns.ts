import { LIMITS } from "../../limits.js";
import { isBlank } from "../../operation/bounds.js";
import { type MissingFields, pickGiven, pickOrNull } from "../../operation/input-fields.js";
import { snakeCase } from "../../operation/names.js";
import { type Memory, type MemoryVersion, Prisma } from "../../platform/prisma/client.js";
import type { SqlType } from "../../platform/database/statement.js";

/** The columns of a memory that are not its contents: where it is, who made it when, and what is derived. */
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
 * What a memory says: the fields that users write and change, kept in versions, measured, and shown at every door. The
 * model `Memory` declares them.
 */
export type Contents = Omit<Memory, keyof typeof AROUND>;
export type ContentName = keyof Contents;

/** The names of the contents. A version must have the same fields, else this does not compile. */
export const CONTENTS: ReadonlyArray<ContentName & keyof MemoryVersion> = Object.values(
  Prisma.MemoryScalarFieldEnum,
).filter((name): name is ContentName => !(name in AROUND));

/** PostgreSQL's types of the contents, for statements. */
export const CONTENT_TYPES = {
  type: "text",
  title: "text",
  content: "text",
  summary: "text?",
  tags: "text[]",
  importance: "float8",
  context: "json?",
  confidence: "float8",
  clientId: "text?",
  expiresAt: "timestamptz?",
} as const satisfies Record<ContentName, SqlType>;

/** A memory as it is read. */
export type MemoryRow = Omit<Memory, keyof typeof UNREAD>;

/** Columns of a memory that nobody reads. */
export const UNREAD = { updatedBy: true, project: true } as const;

/** The columns of rows that a statement gets as JSON. Lists stay JSON there. */
export const jsonColumns = (types: Readonly<Record<string, SqlType>>): string =>
  Object.entries(types)
    .map(([name, type]) => `"${name}" ${type === "text[]" ? "json" : type.replace("?", "")}`)
    .join(", ");

/** The columns to read of a memory `m`, as items of a SELECT, named like the fields. */
export const MEMORY_COLUMNS: ReadonlyMap<string, string> = new Map(
  Object.values(Prisma.MemoryScalarFieldEnum)
    .filter((name) => !(name in UNREAD))
    .map((name) => [name, `m.${snakeCase(name)} AS "${name}"`]),
);

/** Selects the contents of a memory or a version, for models. */
export const SELECT_CONTENTS = Object.fromEntries(CONTENTS.map((name) => [name, true])) as Record<ContentName, true>;

/** The contents of a new memory. Fields that are left out are null. */
export const contentsOf = <Input extends Partial<Contents>>(input: Input & MissingFields<Contents, Input>): Contents =>
  withNormalTags(pickOrNull<Contents>(CONTENTS, input));

/** The contents that a change sets. Fields that are left out stay as they are. */
export const changesOf = <Input extends Partial<Contents>>(
  input: Input & MissingFields<Contents, Input>,
): Partial<Contents> => withNormalTags(pickGiven<Contents>(CONTENTS, input));

/**
 * The contents as values for a statement. JSON is sent as the text that was measured; Prisma would serialize it in
 * another way.
 */
export const forStatement = (contents: Contents) => ({ ...contents, context: jsonOf(contents.context) });

/** A context as the JSON text that is stored. */
export const jsonOf = (context: Contents["context"]): string | null =>
  context === null ? null : JSON.stringify(context);

const withNormalTags = <Values extends Partial<Contents>>(values: Values): Values =>
  values.tags ? { ...values, tags: normalTags(values.tags) } : values;

/** Tags in their normal form: trimmed, lower-cased, without blank ones and repeats. */
export function normalTags(tags: readonly string[]): string[] {
  return [...new Set(tags.map((tag) => tag.trim().toLowerCase().normalize("NFC")))].filter((tag) => !isBlank(tag));
}

/** The bytes that a row counts for besides its texts. */
export const ROW_BYTES = 200;

/**
 * The bytes of texts, lists of texts and JSON, plus those of their row. `relationship_bytes` of the database computes
 * the same.
 */
export const bytesOf = (values: readonly unknown[]): number =>
  values.flat().reduce<number>((sum, value) => sum + Buffer.byteLength(textOf(value)), ROW_BYTES);

/** A text as it is, JSON serialized; empty for numbers and times, which `ROW_BYTES` covers. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "object" && value !== null && !(value instanceof Date) ? JSON.stringify(value) : "";
}

/** How many requests of the rate limit memories of this size count as, when one call stores or moves them. */
export const costOfBytes = (bytes: number): number => Math.max(1, Math.ceil(bytes / LIMITS.bulk.bytesPerRequest));

/** The bytes that a memory or a version counts for. `memory_bytes` of the database computes the same. */
export const memoryBytes = (contents: Contents): number => bytesOf(CONTENTS.map((name) => contents[name]));
