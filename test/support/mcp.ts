import { isDeepStrictEqual } from "node:util";
import type { GraphQLSchema } from "graphql";
import { operations } from "../../src/operations.js";
import { inputTypeOf } from "../../src/operation/input.js";
import { snakeCase } from "../../src/operation/names.js";
import type { Operation } from "../../src/operation/operation.js";
import { isLeftOut } from "../../src/operation/tool.js";
import { plainFieldsOf } from "../../src/surfaces/json-schema.js";
import { readArguments } from "../../src/surfaces/mcp/arguments.js";
import type { Said } from "./operations.js";
import { type Answer, ask } from "./http.js";

export const OLD = "2025-11-25";
export const NEW = "2026-07-28";

/** The operations that are tools. */
export const offered = operations.filter(({ mcp }) => mcp);

/** Whether a tool takes these inputs, as far as it takes less than its operation does. */
export const isOffered = (operation: Operation, input: Readonly<Record<string, unknown>>): boolean =>
  !Object.keys(input).some((name) => isLeftOut(operation, name)) &&
  Object.entries(operation.mcp?.most ?? {}).every(
    ([name, most]) => !(typeof input[name] === "number" && input[name] > most),
  );

/**
 * Whether a tool reads these inputs as they are: it makes something of other forms, too, which the other doors refuse.
 */
export function isReadAsIs(schema: GraphQLSchema, operation: Operation, input: Readonly<Record<string, unknown>>) {
  const args = argumentsOf(input);
  const fields = plainFieldsOf(inputTypeOf(schema, operation), operation);
  return isDeepStrictEqual(readArguments(args, fields, { isReading: operation.kind === "query" }), args);
}

/** What a client of a revision sends: the newer one says in each request who it is, and repeats it in headers. */
export function messageOf(method: string, params: object = {}, revision = NEW) {
  const { name } = params as { name?: string };
  const meta = {
    "io.modelcontextprotocol/protocolVersion": revision,
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  return {
    headers: {
      "mcp-protocol-version": revision,
      ...(revision === NEW ? { "mcp-method": method, ...(name === undefined ? {} : { "mcp-name": name }) } : {}),
    },
    body: { jsonrpc: "2.0", id: 1, method, params: revision === NEW ? { ...params, _meta: meta } : params },
  };
}

interface Spoken {
  readonly result?: { readonly [name: string]: unknown };
  readonly error?: { readonly code: number; readonly message: string; readonly data?: object };
  readonly id?: unknown;
}

/** Sends one message. */
export async function askMcp(
  url: string,
  key: string | undefined,
  method: string,
  params: object = {},
  { revision = NEW, headers = {} }: { revision?: string; headers?: Record<string, string> } = {},
): Promise<Answer & { readonly body: Spoken }> {
  const message = messageOf(method, params, revision);
  const answer = await ask(`${url}/mcp`, { key, body: message.body, headers: { ...message.headers, ...headers } });
  return answer as Answer & { readonly body: Spoken };
}

/** What a call of a tool came to, in what both forms of the answer say. */
export interface Called {
  readonly isError: boolean;
  /** The bytes of the answer's text. */
  readonly bytes: number;
  readonly answer: Record<string, unknown>;
}

/** Calls a tool and expects an answer. */
export async function callTool(url: string, key: string, name: string, args: object = {}): Promise<Called> {
  const { body } = await askMcp(url, key, "tools/call", { name, arguments: args });
  const {
    content,
    structuredContent,
    isError = false,
  } = (body.result ?? {}) as {
    content?: Array<{ text: string }>;
    structuredContent?: object;
    isError?: boolean;
  };
  const text = content?.[0]?.text;
  if (text === undefined) throw new Error(`No answer: ${JSON.stringify(body)}`);
  const answer = JSON.parse(text) as Record<string, unknown>;
  if (!isError && JSON.stringify(structuredContent) !== text) throw new Error("The two forms of the answer differ.");
  return { isError, bytes: Buffer.byteLength(text), answer };
}

/** Calls the tool of an operation. The input has code's names and REST's values. */
export function callOperation(
  url: string,
  key: string,
  { mcp }: Operation,
  input: Readonly<Record<string, unknown>>,
): Promise<Called> {
  return callTool(url, key, mcp?.name ?? "", argumentsOf(input));
}

/** The names that an operation's inputs have for agents. */
export const argumentsOf = (input: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(input).map(([name, value]) => [snakeCase(name), value]));

/** The result of an operation as a tool. */
export async function saidByMcp(...asked: Parameters<typeof callOperation>): Promise<Said> {
  const { isError, answer } = await callOperation(...asked);
  if (!isError) return { ok: true };
  const { code, reason } = answer["error"] as { code: string; reason?: string };
  return { ok: false, code, ...(reason === undefined ? {} : { reason }) };
}
