import type { ToolFormat } from "./tool-format.js";

/** What `get_all` of mem0 answers: `{"results": [{"id", "memory", "hash", "metadata", "user_id", "categories", …}]}`. */
export const MEM0: ToolFormat = {
  recognises: (names) => names.has("memory") && (names.has("hash") || names.has("userid") || names.has("agentid")),
  derived: new Set(["hash", "score", "structuredattributes"]),
};
