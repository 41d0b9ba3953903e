import { createInterface } from "node:readline";
import { encodeHeader } from "../surfaces/mcp/header-value.js";
import { commandLine, runCommand } from "./command-line.js";
import { keyOption, type ServiceOptions, urlOption } from "./service-options.js";
import { sentenceFor } from "./for-operator.js";

export const program = commandLine({
  script: "mcp",
  description: "Connects a client of MCP that can only start programs, such as Claude Desktop, to a running server.",
  examples: ["npm run --silent mcp", "MEMORY_GRAPH_KEY=mg_live_… npm run --silent mcp -- --url https://example.com"],
  notes: "Reads a message of JSON-RPC from each line of standard input, and writes the answers to standard output.",
})
  .addOption(keyOption())
  .addOption(urlOption())
  .action(async (options: ServiceOptions) => {
    for await (const line of createInterface({ input: process.stdin }))
      pass(line, options).catch((error: unknown) => console.error(sentenceFor(error)));
  });

/** Passes a message on. Whatever comes of it, a request is answered: its client waits for that. */
async function pass(line: string, options: ServiceOptions): Promise<void> {
  const message = JSON.parse(line) as Message;
  const answer = await send(line, message, options).catch((error: unknown) => {
    return { error: { code: -32_603, message: `The call of ${options.url} failed: ${String(error)}` } };
  });
  if (message.id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", ...answer, id: message.id }));
}

async function send(body: string, { method, params }: Message, { url, key = "" }: ServiceOptions): Promise<object> {
  const headers = new Headers({ Authorization: `Bearer ${key}`, "Content-Type": "application/json" });
  const version = params?._meta?.["io.modelcontextprotocol/protocolVersion"];
  if (version !== undefined) {
    headers.set("MCP-Protocol-Version", version);
    headers.set("Mcp-Method", encodeHeader(String(method)));
    if (params?.name !== undefined) headers.set("Mcp-Name", encodeHeader(String(params.name)));
  }
  const response = await fetch(new URL("/mcp", url), { method: "POST", headers, body });
  return JSON.parse((await response.text()) || "{}") as object;
}

interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: { readonly name?: unknown; readonly _meta?: Readonly<Record<string, string>> | null } | null;
}

await runCommand(program, import.meta.url);
