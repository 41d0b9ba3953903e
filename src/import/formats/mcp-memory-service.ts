import type { ToolFormat } from "./tool-format.js";

/** An export of mcp-memory-service: `{"export_metadata", "memories": [{"content", "content_hash", "memory_type", …}]}`. */
export const MCP_MEMORY_SERVICE: ToolFormat = {
  recognises: (names) => names.has("content") && names.has("contenthash"),
  derived: new Set(["contenthash", "exportsource", "createdatiso", "updatedatiso"]),
};
