import { createInterface } from "node:readline";
import { callService, notServed } from "../import/call-service.js";
import { ImportStopped } from "../import/import-stopped.js";
import { parseStrictly } from "../import/json-text.js";
import { codeOf } from "../import/service-client.js";
import { isObject } from "../import/text.js";
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
      if (line.trim() !== "") pass(line, options).catch((error: unknown) => console.error(sentenceFor(error)));
  });

/**
 * Passes a line on to the server, which also says what is wrong with one that is no message. A request is answered even
 * if that fails: its client waits for an answer.
 */
async function pass(line: string, options: ServiceOptions): Promise<void> {
  const value = parseStrictly(line);
  const message: Message = isObject(value) ? value : { id: null };
  const answer = await send(line, message, options).catch((error: unknown) =>
    answerTo(message, sentenceOf(error, options)),
  );
  if (message.id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", ...answer, id: message.id }));
}

/** The answer when the server gave none. For a tool call, a failed result: clients often hide errors from agents. */
function answerTo({ method, params }: Message, text: string): object {
  if (method !== "tools/call") return { error: { code: -32_603, message: text } };
  const isModern = params?._meta?.[VERSION_KEY] !== undefined;
  const result = { content: [{ type: "text", text }], isError: true };
  return { result: isModern ? { resultType: "complete", ...result } : result };
}

const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";

async function send(body: string, { method, params }: Message, { url, key = "" }: ServiceOptions): Promise<object> {
  if (!/^[\x21-\x7e]*$/.test(key)) throw new ImportStopped(`${url} ${NO_KEY}`);
  const headers = new Headers({ Authorization: `Bearer ${key}`, "Content-Type": "application/json" });
  const version = params?._meta?.[VERSION_KEY];
  if (version !== undefined) {
    // What is no text has no header: the server says what is wrong with it.
    const repeated = { "MCP-Protocol-Version": version, "Mcp-Method": method, "Mcp-Name": params?.name };
    for (const [header, text] of Object.entries(repeated))
      if (typeof text === "string") headers.set(header, encodeHeader(text));
  }
  const response = await callService(url, "/mcp", { method: "POST", headers, body });
  const text = await response.text();
  if (response.status === 401) throw new ImportStopped(`${url} ${NO_KEY}`);
  const answer = parseStrictly(text || "{}");
  if (!isObject(answer)) throw notServed(url, response.status);
  const { error } = answer;
  // Refused by a proxy, or by the service before its MCP door.
  if (!("jsonrpc" in answer) && isObject(error)) throw new ImportStopped(`${url} answers: ${String(error["message"])}`);
  return answer;
}

const NO_KEY = "does not accept this API key. Set MEMORY_GRAPH_KEY to a valid one.";

function sentenceOf(error: unknown, { url }: ServiceOptions): string {
  if (error instanceof ImportStopped) return error.message;
  return `${url} does not answer (${codeOf(error)}). Start the service there with \`npm start\`, or check --url.`;
}

interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: { readonly name?: unknown; readonly _meta?: Readonly<Record<string, unknown>> | null } | null;
}

await runCommand(program, import.meta.url);
