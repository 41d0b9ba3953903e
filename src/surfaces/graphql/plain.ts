import type { Request } from "express";
import {
  GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
  type OperationDefinitionNode,
  execute,
  getOperationAST,
  getVariableValues,
} from "graphql";
import { LIMITS } from "../../limits.js";
import { stringify } from "../stringify.js";
import type { RequestContext } from "./context.js";
import type { Documents } from "./documents.js";
import { formatError } from "./errors.js";
import { executePlan } from "./execute-plan.js";
import { isIntrospection } from "./introspection.js";
import { planOf } from "./plan.js";
import { type AdmissionParts, type ValidRequest, admit, finishResult, noteErrors } from "./request.js";
import { resolvePlainField } from "./schema.js";

/** The media types of answers, the same as Apollo's. The client's `Accept` selects one. */
const MEDIA_TYPES = ["application/json", "application/graphql-response+json"];

/** Caches the media type for the first few values of `Accept`: clients send the same ones again and again. */
const negotiated = new Map<string, string | false>();
const NEGOTIATED_MAX = 100;

function negotiate(request: Request): string | false | undefined {
  const { accept } = request.headers;
  if (accept === undefined) return MEDIA_TYPES[0];
  const known = negotiated.get(accept);
  if (known !== undefined) return known;
  const mediaType = request.accepts(MEDIA_TYPES);
  if (negotiated.size < NEGOTIATED_MAX) negotiated.set(accept, mediaType);
  return mediaType;
}

/** An HTTP answer, in the form of Apollo's. */
interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: { readonly kind: "complete"; readonly string: string };
}

/** A valid request for one known operation. */
interface PlainRequest extends ValidRequest {
  readonly operation: OperationDefinitionNode;
  readonly mediaType: string;
}

/**
 * Reads a plain request: a POST of JSON without extensions, for one query or mutation of a document that was validated
 * before. Undefined for all other requests, which go through Apollo's pipeline.
 */
export async function plainRequestOf(request: Request, documents: Documents): Promise<PlainRequest | undefined> {
  if (request.method !== "POST") return undefined;
  const { query: source, operationName, variables, extensions } = request.body as Partial<Record<string, unknown>>;
  if (typeof source !== "string" || source === "" || extensions !== undefined) return undefined;
  const mediaType = negotiate(request);
  if (!mediaType) return undefined;
  const document = await documents.ofSource(source);
  if (!document) return undefined;
  // `assertParameters` has checked their types; GraphQL over HTTP: an empty name means none.
  const name = (operationName as string | null | undefined) || undefined;
  const given = (variables as ValidRequest["variables"] | null | undefined) ?? undefined;
  const operation = getOperationAST(document, name);
  if (!operation || operation.operation === "subscription") return undefined;
  if (isIntrospection({ operation, request: { variables: given } })) return undefined;
  return {
    document,
    operation,
    source,
    operationName: name,
    variables: given,
    mediaType: `${mediaType}; charset=utf-8`,
  };
}

/**
 * Runs a plain request, with the same steps and byte for byte the same answer as through Apollo's pipeline. Its hooks,
 * copies and promises would take half of the time of a small request.
 */
export async function answerPlain(
  parts: AdmissionParts,
  context: RequestContext,
  request: PlainRequest,
): Promise<Answer> {
  const headers = new Map([["content-type", request.mediaType]]);
  try {
    await admit(parts, context, request);
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
    const { status, headers: more } = error.extensions["http"] as { status: number; headers: Map<string, string> };
    for (const [name, value] of more) headers.set(name, value);
    return finish(context, { errors: formatErrors(noteErrors(context, [error])) }, { status, headers });
  }
  const { errors, data } = await executePlain(parts.schema, context, request);
  if (!errors) return finish(context, { data }, { status: 200, headers });
  const shown = formatErrors(noteErrors(context, errors));
  return finish(context, { errors: shown, data }, { status: data === undefined ? 400 : 200, headers });
}

/** Executes by a plan where there is one, otherwise by graphql-js, which takes several times as long. */
function executePlain(schema: GraphQLSchema, contextValue: RequestContext, request: PlainRequest) {
  const { document, operation, operationName, variables: variableValues } = request;
  const maxErrors = LIMITS.graphql.coercionErrors;
  const definitions = operation.variableDefinitions ?? [];
  const { coerced, errors } = getVariableValues(schema, definitions, variableValues ?? {}, { maxErrors });
  if (errors) return { errors };
  const plan = planOf(schema, document, operation, coerced);
  if (plan) return executePlan(plan, contextValue, coerced);
  const options = { maxCoercionErrors: maxErrors };
  const fieldResolver = resolvePlainField;
  return execute({ schema, document, operationName, variableValues, contextValue, fieldResolver, options });
}

/** Calls `formatError` as Apollo does: each error has a code, and no HTTP status and headers. */
const formatErrors = (errors: readonly GraphQLError[]): GraphQLFormattedError[] =>
  errors.map((error) => {
    const { http: _http, ...extensions } = error.extensions;
    return formatError({ ...error.toJSON(), extensions: { code: "INTERNAL_SERVER_ERROR", ...extensions } }, error);
  });

async function finish(
  context: RequestContext,
  result: { errors?: GraphQLFormattedError[]; data?: Record<string, unknown> | null | undefined },
  { status, headers }: Pick<Answer, "status" | "headers">,
): Promise<Answer> {
  await finishResult(context, result);
  return { status, headers, body: { kind: "complete", string: await stringify(result, context.pause) } };
}
