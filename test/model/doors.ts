import { type GraphQLObjectType, type GraphQLSchema, getNamedType, isEnumType, isObjectType } from "graphql";
import type { Operation } from "../../src/operation/operation.js";
import { outputTypeOf, restNameOf } from "../../src/operation/output.js";
import { followedFields } from "../../src/surfaces/json-schema.js";
import { argumentsOf, askMcp } from "../support/mcp.js";
import { methodOf, problemsWith } from "../support/openapi.js";
import { askGraphQL, askRest } from "../support/operations.js";
import { Disagreement } from "./agree.js";

/** The answer of a door in a form that is the same for all doors: names as in code, values as in REST. */
export type Verdict =
  | { readonly ok: true; readonly output: Answered | undefined; readonly has?: "everything" | "some" | "what fits" }
  | { readonly ok: false; readonly code: string; readonly reason: string | undefined; readonly status: number };
export type Answered = Readonly<Record<string, unknown>>;

export interface Question {
  readonly url: string;
  readonly schema: GraphQLSchema;
  readonly door: "rest" | "graphql" | "mcp";
  readonly operation: Operation;
  readonly input: Readonly<Record<string, unknown>>;
  readonly key: string | undefined;
  readonly idempotencyKey: string | undefined;
}

export async function askDoor(question: Question): Promise<Verdict> {
  const { url, schema, door, operation, input, key, idempotencyKey } = question;
  if (door === "mcp") return askByMcp(question);
  const headers: Record<string, string> = idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey };
  const type = outputTypeOf(schema, operation);
  if (door === "rest") {
    const answer = await askRest(url, key, operation, input, headers);
    const { status, body } = answer;
    // A server that is too busy cannot tell yet whose budget a request is counted in.
    const [problem] = status < 500 ? problemsWith(answer, methodOf(operation)) : [];
    if (problem !== undefined) throw new Disagreement(`The document says otherwise: ${JSON.stringify(problem)}`);
    const { error } = (body || {}) as { error?: { code: string; reason?: string } };
    if (error) return { ok: false, code: error.code, reason: error.reason, status };
    return { ok: true, output: body === "" ? undefined : (read(type, body, "rest") as Answered) };
  }
  const selection = selectionOf(type, SHOWS_RELATIONSHIPS.has(operation.name));
  const { status, body } = await askGraphQL(url, key, schema, operation, input, headers, selection);
  const { data, errors } = body as {
    data?: Record<string, unknown>;
    errors?: { message: string; extensions: { code: string; reason?: string } }[];
  };
  const [error] = errors ?? [];
  if (error) {
    const { code, reason } = error.extensions;
    return { ok: false, code: code.toLowerCase(), reason, status };
  }
  return { ok: true, output: read(type, data?.[operation.name], "graphql") as Answered };
}

/** Agents get at most 8 KB of an answer, and do not see tools that their key's scopes forbid. */
async function askByMcp({ url, schema, operation, input, key }: Question): Promise<Verdict> {
  const { status, body } = await askMcp(url, key, "tools/call", {
    name: operation.mcp?.name,
    arguments: argumentsOf(input),
  });
  if (status === 401) return { ok: false, code: "unauthorized", reason: undefined, status };
  if (body.error) return { ok: false, code: "not_found", reason: "no_tool", status };
  const { content, isError } = body.result as { content: [{ text: string }]; isError?: boolean };
  const answer = JSON.parse(content[0].text) as Answered;
  if (isError) {
    const { code, reason } = answer["error"] as { code: string; reason?: string };
    return { ok: false, code, reason, status };
  }
  const output = read(outputTypeOf(schema, operation), answer, "rest") as Answered;
  return { ok: true, output, has: "hint" in answer ? "what fits" : "some" };
}

/** The operations that show a memory's relationships at every door; for others only GraphQL can follow them. */
const SHOWS_RELATIONSHIPS: ReadonlySet<string> = new Set(["memory", "createMemory"]);

type ShownFields = ReadonlyMap<string, readonly string[] | undefined>;

/**
 * The fields of an answer without relations; for followed objects, the fields that they have in it. What is only for
 * agents and GraphQL is a relation, too: it is read anew for a repeated request.
 */
function shownFields(type: GraphQLObjectType, followed: boolean): ShownFields {
  const hidden = followedFields(type);
  const shown = new Map<string, readonly string[] | undefined>();
  for (const { name, extensions } of Object.values(type.getFields())) {
    if (extensions["isForAgents"]) continue;
    const parts = extensions["embedded"] as readonly string[] | undefined;
    if (!hidden.has(name) || (parts && (followed || parts.length > 0)))
      shown.set(name, parts?.length ? parts : undefined);
  }
  return shown;
}

/** The GraphQL selection for the same fields as REST's answer. */
function selectionOf(type: GraphQLObjectType, followed: boolean): string {
  const fields = Array.from(shownFields(type, followed), ([name, parts]) => {
    const inner = getNamedType(type.getFields()[name]?.type);
    if (!isObjectType(inner)) return name;
    return `${name} ${parts ? `{ ${parts.join(" ")} }` : selectionOf(inner, followed)}`;
  });
  return `{ ${fields.join(" ")} }`;
}

/** An answer with names as in code, and enum values as in REST. */
function read(type: GraphQLObjectType, value: unknown, door: "rest" | "graphql"): unknown {
  if (Array.isArray(value)) return value.map((item) => read(type, item, door));
  if (typeof value !== "object" || value === null) return value;
  const source = value as Readonly<Record<string, unknown>>;
  const fields = Object.values(type.getFields()).flatMap((field): [string, unknown][] => {
    const own = source[door === "rest" ? restNameOf(field) : field.name];
    if (own === undefined) return [];
    const named = getNamedType(field.type);
    if (isObjectType(named)) return [[field.name, read(named, own, door)]];
    const nameOf = (name: unknown) =>
      isEnumType(named) && door === "graphql" ? named.getValue(String(name))?.value : name;
    if (own === null) return [[field.name, null]];
    return [[field.name, Array.isArray(own) ? own.map(nameOf) : nameOf(own)]];
  });
  return Object.fromEntries(fields);
}
