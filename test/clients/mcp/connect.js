/**
 * How the SDKs' clients connect: the older one, up to revision 2025-11-25, by HTTP and by a program that forwards
 * messages; and the newest one, which finds out what a server supports.
 */
export const CLIENTS = {
  async handshake(url, headers) {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const client = new Client({ name: "handshake", version: "1" });
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
    return client;
  },
  async "a program"(url, { Authorization: key }) {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
    const client = new Client({ name: "program", version: "1" });
    const args = ["../../dist/commands/mcp.js", "--url", new URL(url).origin];
    const env = { MEMORY_GRAPH_KEY: key.replace("Bearer ", "") };
    await client.connect(new StdioClientTransport({ command: process.execPath, args, env }));
    return client;
  },
  async stateless(url, headers) {
    const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
    const client = new Client({ name: "stateless", version: "1" }, { versionNegotiation: { mode: "auto" } });
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
    if (client.getNegotiatedProtocolVersion() !== "2026-07-28") throw new Error("The client fell back.");
    return client;
  },
};
