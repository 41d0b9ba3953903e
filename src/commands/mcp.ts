import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { callService, notServed, stoppedBy } from "../import/call-service.js";
import { ImportStopped, KEY_REFUSED, assertKeyFits } from "../import/import-stopped.js";
import { parseStrictly } from "../import/json-text.js";
import { isObject } from "../import/text.js";
import { type Forwarded, failureFor, headersOf } from "../surfaces/mcp/forwarding.js";
import { commandLine, runCommand } from "./command-line.js";
import { sentenceFor } from "./for-operator.js";
import { keyOption, type ServiceOptions, urlOption } from "./service-options.js";

export const program = commandLine({
  script: "mcp",
  description: "Connects a client of MCP that can only start programs, such as Claude Desktop, to a running server.",
  examples: ["npm run --silent mcp", "MEMORY_GRAPH_KEY=mg_live_… npm run --silent mcp -- --url https://example.com"],
  notes: "Reads a message of JSON-RPC from each line of standard input, and writes the answers to standard output.",
})
  .addOption(keyOption())
  .addOption(urlOption())
  .action(async (options: ServiceOptions) => {
    for await (const line of readLines(process.stdin))
      if (line.trim() !== "") forward(line, options).catch((error: unknown) => console.error(sentenceFor(error)));
  });

/** The service may be restarting, or still be at the call, which it then refuses to repeat. */
const REPEAT_AFTER_MS = 1_000;

/** Lines end with LF alone: newer `readline` also ends them at U+2028, which JSON may contain in any text. */
async function* readLines(input: NodeJS.ReadStream): AsyncGenerator<string> {
  let rest = "";
  for await (const piece of input.setEncoding("utf8")) {
    const lines = String(piece).split("\n");
    lines[0] = rest + (lines[0] ?? "");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  yield rest;
}

/** A request is answered even if the server cannot be reached or refuses it: its client waits for an answer. */
async function forward(line: string, options: ServiceOptions): Promise<void> {
  const value = parseStrictly(line);
  const message: Forwarded = isObject(value) ? value : { id: null };
  const answer = await send(line, message, options).catch((error: unknown) =>
    failureFor(message, stoppedBy(options.url, error).message),
  );
  if (message.id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", ...answer, id: message.id }));
}

async function send(body: string, message: Forwarded, { url, key = "" }: ServiceOptions): Promise<object> {
  if (key) assertKeyFits(key);
  const headers = {
    Authorization: `Bearer ${key}`,
    "Content-Type": "application/json",
    "Idempotency-Key": randomUUID(),
    ...headersOf(message),
  };
  const ask = async () => {
    const response = await callService(url, "/mcp", { method: "POST", headers, body });
    return { status: response.status, text: await response.text() };
  };
  // Once more if the connection is lost: the same Idempotency-Key lets a change happen once.
  const { status, text } = await ask().catch(async (error: unknown) => {
    if (error instanceof ImportStopped) throw error;
    await sleep(REPEAT_AFTER_MS);
    return ask();
  });
  if (status === 401) throw new ImportStopped(KEY_REFUSED);
  const answer = parseStrictly(text || "{}");
  if (!isObject(answer)) throw notServed(url, status);
  const { error } = answer;
  // Refused by a proxy or by the service before it took the call, however right the message is.
  const isRefused = !("jsonrpc" in answer) || status === 403 || status >= 500;
  if (isRefused && isObject(error)) throw new ImportStopped(`${url} answers: ${String(error["message"])}`);
  return answer;
}

await runCommand(program, import.meta.url);
