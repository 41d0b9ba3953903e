import type { ToolFormat } from "./tool-format.js";

const DERIVED = ["contenthash", "exportsource", "createdatiso", "updatedatiso", "similarityscore", "relevancereason"];

/**
 * An export of mcp-memory-service: `{"export_metadata", "memories": [{"content", "content_hash", "memory_type", …}]}`,
 * or an answer of its search, where each memory is in a field `memory`, beside a score.
 */
export const MCP_MEMORY_SERVICE: ToolFormat = {
  recognises: (names) => names.has("content") && names.has("contenthash"),
  derived: new Set(DERIVED),
  isNested: true,
  alsoNamed: "contenthash",
};

/** Its backup: `{"memories": [{"id", "document", "metadata": {"content_hash", "tags": "[…]", …}, "embedding"}]}`. */
export const MCP_MEMORY_BACKUP: ToolFormat = {
  recognises: (names) => names.has("document") && names.has("metadata") && names.has("id"),
  derived: new Set([...DERIVED, "timestamp", "timestampfloat", "timestampstr", "tagsstr"]),
  isNested: true,
};
