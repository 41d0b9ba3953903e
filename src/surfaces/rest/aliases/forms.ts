import { isBlank } from "../../../operation/bounds.js";
import { isObject } from "../../json-object.js";
import type { Plain } from "../../run.js";
import { onlyWhere, pick, shorten } from "./values.js";

const MEMORY_FIELDS = ["type", "title", "content", "summary", "tags", "importance", "confidence", "context"] as const;
const RELATIONSHIP_FIELDS = [
  "from_memory_id",
  "to_memory_id",
  "relationship_type",
  "strength",
  "confidence",
  "context",
];

/** What `createMemory` and `updateMemory` take of a client's body: other fields are left out. */
export const memoryInput = (body: Plain): Plain => pick(body, MEMORY_FIELDS);

/** What `createRelationship` takes of a client's body. */
export const relationshipInput = (body: Plain): Plain => pick(body, RELATIONSHIP_FIELDS);

/** A memory for a client, with the client's own id, or else ours. */
export function memoryOf(memory: Plain): Plain {
  const said = Object.fromEntries(MEMORY_FIELDS.map((name) => [name, memory[name]]));
  const { created_at, updated_at } = memory;
  return { id: memory["client_id"] ?? memory["id"], ...said, created_at, updated_at };
}

/**
 * What the parser of MemoryGraph's MCP server takes. It drops memories with longer texts, or with other types in these
 * fields of the context.
 */
const TEXTS_MAX = { title: 200, summary: 500 } as const;
const isText = (value: unknown): boolean => typeof value === "string";
const areTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const CONTEXT_KINDS = new Map<string, (value: unknown) => boolean>([
  ...["project_path", "git_commit", "git_branch", "working_directory"].map((name) => [name, isText] as const),
  ...["files_involved", "languages", "frameworks", "technologies"].map((name) => [name, areTexts] as const),
  ["additional_metadata", isObject],
]);

/** A memory for MemoryGraph's MCP server, so that its parser does not drop it. */
export function backendMemoryOf(memory: Plain): Plain {
  const { title, summary, context, ...others } = memoryOf(memory);
  return {
    ...others,
    title: shorten(title, TEXTS_MAX.title),
    summary: shorten(summary, TEXTS_MAX.summary),
    context: context && contextOf(context as Plain),
  };
}

/** Removes values that the parser does not take. Most contexts are not copied: they may have 2,000 entries. */
function contextOf(context: Plain): Plain {
  const wrong = [...CONTEXT_KINDS].filter(([name, isRight]) => Object.hasOwn(context, name) && !isRight(context[name]));
  if (wrong.length === 0) return context;
  // JSON leaves out what is undefined.
  return { ...context, ...Object.fromEntries(wrong.map(([name]) => [name, undefined])) };
}

/**
 * Whether a body may send back a text that was cut for the parser. Its length does not tell, since the parser removes
 * blanks.
 */
export const mayBeCut = (body: Plain): boolean =>
  Object.keys(TEXTS_MAX).some((name) => {
    const text = body[name];
    return typeof text === "string" && text.endsWith("…");
  });

const TEXTS = ["title", "content", "summary"] as const;
/** Whether a body has a text of a memory. */
export const hasText = (body: Plain): boolean => TEXTS.some((name) => isText(body[name]));

/** The stored texts of a memory that the client did not change: the body has them as they were shown. */
export function textsAsShown(memory: Plain, body: Plain): Plain {
  const shown = backendMemoryOf(memory);
  return onlyWhere(pick(memory, TEXTS), (name) => isAsShown(body[name], shown[name]));
}

/** The parser removes the blanks at both ends of a text. */
function isAsShown(sent: unknown, shown: unknown): boolean {
  if (typeof sent !== "string" || typeof shown !== "string") return false;
  const start = shown.indexOf(sent.charAt(0));
  const isThere = start >= 0 && shown.startsWith(sent, start);
  return isThere && isBlank(shown.slice(0, start)) && isBlank(shown.slice(start + sent.length));
}

/** A relationship for a client. Its ends have the ids that the client has sent. */
export function relationshipOf(relationship: Plain, { from_memory_id, to_memory_id }: Plain): Plain {
  const { id, type: relationship_type, strength, confidence, context, created_at } = relationship;
  return { id, from_memory_id, to_memory_id, relationship_type, strength, confidence, context, created_at };
}

/** Counts as one object, by type. */
export const countsOf = (counts: unknown): Plain =>
  Object.fromEntries((counts as { type: string; count: number }[]).map(({ type, count }) => [type, count]));
