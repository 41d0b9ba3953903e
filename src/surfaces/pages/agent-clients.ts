/** How a program for agents is connected to the service. */
interface AgentClient {
  readonly name: string;
  /** Where `code` belongs. */
  readonly about: string;
  /** For the service at `AGENTS_URL`, with `KEY` in place of a key. */
  readonly code: string;
}

export const AGENTS_URL = "http://127.0.0.1:4000";
const KEY = "mg_live_…";

export const AGENT_CLIENTS: readonly AgentClient[] = [
  {
    name: "Claude Code",
    about: "In a terminal:",
    code: `claude mcp add --transport http memory-graph ${AGENTS_URL}/mcp \\
  --header "Authorization: Bearer ${KEY}"`,
  },
  {
    name: "Cursor",
    about: "In `.cursor/mcp.json` of a project, or in `~/.cursor/mcp.json`:",
    code: `{ "mcpServers": { "memory-graph": {
  "url": "${AGENTS_URL}/mcp", "headers": { "Authorization": "Bearer ${KEY}" }
} } }`,
  },
  {
    name: "VS Code",
    about: "In `.vscode/mcp.json` of a project, or in the one that `MCP: Open User Configuration` opens:",
    code: `{ "servers": { "memory-graph": {
  "type": "http", "url": "${AGENTS_URL}/mcp", "headers": { "Authorization": "Bearer ${KEY}" }
} } }`,
  },
  {
    name: "Codex",
    about: "In `~/.codex/config.toml`; the key is in the environment variable `MEMORY_GRAPH_KEY`:",
    code: `[mcp_servers.memory-graph]
url = "${AGENTS_URL}/mcp"
bearer_token_env_var = "MEMORY_GRAPH_KEY"`,
  },
  {
    name: "Gemini CLI",
    about: "In a terminal:",
    code: `gemini mcp add --transport http --header "Authorization: Bearer ${KEY}" \\
  memory-graph ${AGENTS_URL}/mcp`,
  },
];
