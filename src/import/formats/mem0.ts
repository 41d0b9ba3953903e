import type { JsonObject } from "../text.js";
import type { ToolFormat } from "./tool-format.js";

/**
 * The answer of mem0's `get_all`: `{"results": [{"id", "memory", "hash", "metadata", "user_id", "categories", …}]}`.
 */
export const MEM0: ToolFormat = {
  recognises: (names) => names.has("memory") && (names.has("hash") || names.has("userid") || names.has("agentid")),
  derived: new Set(["hash", "score", "structuredattributes", "textlemmatized"]),
  isNested: true,
};

/** A point of Qdrant, where mem0 keeps its memories by default: `{"id", "payload": {"data", "user_id", "hash", …}}`. */
export const MEM0_POINT: ToolFormat = {
  recognises: (names) => names.has("payload") && names.has("id"),
  derived: new Set(["hash", "textlemmatized"]),
  isNested: true,
};

/**
 * What its history lists: `{"memory_id", "old_memory", "new_memory", "event", …}`; by its package for JavaScript
 * `{"memory_id", "previous_value", "new_value", "action", …}`.
 */
export const isMem0Change = (value: JsonObject): boolean =>
  ("old_memory" in value && "new_memory" in value) ||
  ("memory_id" in value && "previous_value" in value && "new_value" in value);
