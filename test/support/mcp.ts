import { isDeepStrictEqual } from "node:util";
import type { GraphQLSchema } from "graphql";
import { operations } from "../../src/operations.js";
import { inputTypeOf } from "../../src/operation/input.js";
import { snakeCase } from "../../src/operation/names.js";
import type { Operation } from "../../src/operation/operation.js";
import { isLeftOut } from "../../src/operation/tool.js";
import { plainFieldsOf } from "../../src/surfaces/json-schema.js";
import { nameArguments } from "../../src/surfaces/mcp/argument-names.js";
import { readArguments } from "../../src/surfaces/mcp/arguments.js";
import { type Said, refusalIn } from "./operations.js";
import { type Answer, ask } from "./http.js";
import type { World } from "./world.js";

export const OLD = "2025-11-25";
export const NEW = "2026-07-28";

/** The operations that are offered as tools. */
export const offered = operations.filter(({ mcp }) => mcp);

/** Whether the operation's tool accepts this input: a tool may accept fewer fields and smaller numbers. */
export const isOffered = (operation: Operation, input: Readonly<Record<string, unknown>>): boolean =>
  !Object.keys(input).some((name) => isLeftOut(operation, name)) &&
  Object.entries(operation.mcp?.most ?? {}).every(
    ([name, most]) => !(typeof input[name] === "number" && input[name] > most),
  );

/** Whether a tool reads this input unchanged. Tools also convert other forms, which the other doors refuse. */
export function isReadAsIs(schema: GraphQLSchema, operation: Operation, input: Readonly<Record<string, unknown>>) {
  const args = argumentsOf(input);
  const fields = plainFieldsOf(inputTypeOf(schema, operation), operation.input);
  return isDeepStrictEqual(
    readArguments(nameArguments(args, fields), fields, { isReading: operation.kind === "query" }),
    args,
  );
}

/** A client's message. With the newer revision each request says who the client is, and repeats that in headers. */
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

interface Asking {
  readonly revision: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The query string of the address. */
  readonly search: string;
}

/** Sends one message. */
export async function askMcp(
  url: string,
  key: string | undefined,
  method: string,
  params: object = {},
  { revision = NEW, headers = {}, search = "" }: Partial<Asking> = {},
): Promise<Answer & { readonly body: Spoken }> {
  const message = messageOf(method, params, revision);
  const answer = await ask(`${url}/mcp${search}`, {
    key,
    body: message.body,
    headers: { ...message.headers, ...headers },
  });
  return answer as Answer & { readonly body: Spoken };
}

/** The result of a tool call, checked to be the same in both forms of the answer. */
export interface Called {
  readonly isError: boolean;
  /** The size of the answer's text. */
  readonly bytes: number;
  readonly answer: Record<string, unknown>;
}

/** Calls a tool and expects success. */
export async function callTool(
  url: string,
  key: string,
  name: string,
  args: object = {},
  asking: Partial<Asking> = {},
): Promise<Called> {
  const { body } = await askMcp(url, key, "tools/call", { name, arguments: args }, asking);
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

/** A user, and how an agent with the user's key calls a tool. */
export async function anAgent(world: World) {
  const { url } = await world.serve();
  const ann = await world.user();
  const call = async (name: string, args: object = {}) => (await callTool(url, ann.key, name, args)).answer;
  return { ann, call };
}

/** Calls the tool of an operation. The input has the names used in code and the values used by REST. */
export function callOperation(
  url: string,
  key: string,
  { mcp }: Operation,
  input: Readonly<Record<string, unknown>>,
): Promise<Called> {
  return callTool(url, key, mcp?.name ?? "", argumentsOf(input));
}

/** An operation's input with the names that agents use. */
export const argumentsOf = (input: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(input).map(([name, value]) => [snakeCase(name), value]));

/** The result of an operation when called as a tool. */
export async function saidByMcp(...asked: Parameters<typeof callOperation>): Promise<Said> {
  const { isError, answer } = await callOperation(...asked);
  if (!isError) return { ok: true };
  return refusalIn(answer["error"] as Parameters<typeof refusalIn>[0]);
}
