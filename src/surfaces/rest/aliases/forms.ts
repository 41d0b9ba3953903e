import type { Plain } from "../../run.js";
import { pick, shorten } from "./values.js";

const MEMORY_FIELDS = ["type", "title", "content", "summary", "tags", "importance", "confidence", "context"] as const;
const RELATIONSHIP_FIELDS = [
  "from_memory_id",
  "to_memory_id",
  "relationship_type",
  "strength",
  "confidence",
  "context",
];

/** What a client says of a memory, as `createMemory` and `updateMemory` take it. */
export const memoryInput = (body: Plain): Plain => pick(body, MEMORY_FIELDS);

export const relationshipInput = (body: Plain): Plain => pick(body, RELATIONSHIP_FIELDS);

/** A memory under the id that its client has given it, or else ours. */
export function memoryOf(memory: Plain): Plain {
  const said = Object.fromEntries(MEMORY_FIELDS.map((name) => [name, memory[name]]));
  const { created_at, updated_at } = memory;
  return { id: memory["external_id"] ?? memory["id"], ...said, created_at, updated_at };
}

/** What the published parser takes: it drops memories with longer texts. */
const TITLE_MAX = 200;
const SUMMARY_MAX = 500;

export function shortMemoryOf(memory: Plain): Plain {
  const { title, summary, ...others } = memoryOf(memory);
  return { ...others, title: shorten(title, TITLE_MAX), summary: shorten(summary, SUMMARY_MAX) };
}

/** The ends as the client has called them. */
export function relationshipOf(relationship: Plain, { from_memory_id, to_memory_id }: Plain): Plain {
  const { id, type: relationship_type, strength, confidence, context, created_at } = relationship;
  return { id, from_memory_id, to_memory_id, relationship_type, strength, confidence, context, created_at };
}

/** Counts as one object, by type. */
export const countsOf = (counts: unknown): Plain =>
  Object.fromEntries((counts as { type: string; count: number }[]).map(({ type, count }) => [type, count]));
