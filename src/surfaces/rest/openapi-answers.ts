import { RateLimited } from "../../operation/budget.js";
import {
  FAILURE_KINDS,
  type Failure,
  type FailureClass,
  type FailureKind,
  InvalidInput,
  ScopeMissing,
  Unauthorized,
  Unavailable,
} from "../../operation/failure.js";
import { IdempotencyInProgress, IdempotencyKeyReused } from "../../operation/idempotency.js";
import type { GraphQLSchema } from "graphql";
import { type JsonSchema, type NamedSchemas, answerSchema, followedFields } from "./json-schema.js";
import { snakeCase } from "../../operation/names.js";
import type { Operation } from "../../operation/operation.js";
import { outputTypeOf, projectionOf } from "../../operation/output.js";
import { BodyTooLarge } from "../body.js";
import { HTTP_STATUS, UnsupportedMediaType } from "../http.js";
import { restError } from "./errors.js";

export type Json = Readonly<Record<string, unknown>>;

/** What a document is made from, and what its parts refer to. */
export interface Source {
  readonly schema: GraphQLSchema;
  readonly schemas: NamedSchemas;
  readonly requestBodies: Record<string, Json>;
}

const isPublic = ({ permission }: Pick<Operation, "permission">): boolean => permission === "public";

/** Whether the first result is kept under an Idempotency-Key. */
export const keepsResults = ({ kind, permission, ownTransactions }: Operation): boolean =>
  kind === "mutation" && permission !== "public" && !ownTransactions;

/** Every status that an operation answers with. */
export function answersOf(operation: Operation, source: Source): Json {
  return { [operation.rest.status ?? 200]: success(operation, source), ...errorAnswers(operation) };
}

function success({ example, ...operation }: Operation, { schema, schemas }: Source): Json {
  const { status, location } = operation.rest;
  if (status === 204) return { description: "Done; there is nothing to say.", headers: COMMON_HEADERS };
  const type = outputTypeOf(schema, operation);
  const plain = example && projectionOf(type)(example.output);
  const followed = followedFields(type);
  // What GraphQL follows stands in some answers of a type and not in others; the example tells.
  const alwaysThere = [...followed].map(snakeCase).filter((field) => plain && field in plain);
  const answer = answerSchema(type, schemas);
  return {
    description: type.description ?? "",
    headers: {
      ...COMMON_HEADERS,
      ...(type.getFields()["version"] ? { ETag: headerRef("ETag") } : {}),
      ...(location ? { Location: headerRef("Location") } : {}),
    },
    content: {
      "application/json": {
        schema: alwaysThere.length > 0 ? { type: "object", allOf: [answer], required: alwaysThere } : answer,
        ...(plain ? { example: plain } : {}),
      },
    },
  };
}

/** The answers of failure kinds that any operation may meet; operations refer to them. */
const COMMON_FAILURES: Partial<Readonly<Record<FailureKind, object>>> = {
  bad_request: restError(InvalidInput.example),
  unauthorized: restError(new Unauthorized()),
  forbidden: restError(ScopeMissing.example),
  payload_too_large: restError(BodyTooLarge.example),
  unsupported_media_type: restError(new UnsupportedMediaType()),
  rate_limited: restError(RateLimited.example),
  internal_error: restError(undefined),
  unavailable: restError(new Unavailable()),
};

const FAILURE_DESCRIPTIONS: Readonly<Record<FailureKind, string>> = {
  bad_request: "The request is not as it must be; `details` names each field that is wrong.",
  unauthorized: "The API key is missing, malformed, unknown, expired or revoked.",
  forbidden: "The API key or the caller's role does not allow it, or the account is suspended (`account_suspended`).",
  not_found: "There is no such thing, or none that the caller can see.",
  method_not_allowed: "The path does not take this method.",
  conflict: "What is there stands in the way; `reason` says how.",
  payload_too_large: "The body is larger than 1 MiB, or the URL, the headers or their number larger than is served.",
  unsupported_media_type: "The body is not JSON in UTF-8.",
  rate_limited: "The caller has sent too many requests, in a minute or at once; nothing was done.",
  internal_error: "Something went wrong on our side.",
  payment_provider_error: "The payment provider failed; nothing was changed.",
  unavailable: "The service is busy or stopping, or cannot do this now; `Retry-After` says when to try again.",
};

/** Any request can be too large or have a body that is no JSON, also where none is asked for. */
function mayMeet(kind: FailureKind, operation: Operation): boolean {
  if (kind === "unauthorized") return !isPublic(operation);
  if (kind === "forbidden") return !isPublic(operation);
  return kind in COMMON_FAILURES;
}

/** Each kind has one status, so an operation has one answer for all its failures of a kind. */
function errorAnswers(operation: Operation): Json {
  const idempotency = keepsResults(operation) ? [IdempotencyKeyReused, IdempotencyInProgress] : [];
  const declared = [...operation.failures, ...idempotency].map(exampleOf);
  const answers = FAILURE_KINDS.flatMap((kind) => {
    const own = declared.filter((failure) => failure.kind === kind);
    const isCommon = mayMeet(kind, operation);
    if (own.length > 0) return [[HTTP_STATUS[kind], errorAnswer(kind, own, isCommon)] as const];
    return isCommon ? [[HTTP_STATUS[kind], { $ref: `#/components/responses/${pascalCase(kind)}` }] as const] : [];
  });
  return Object.fromEntries(answers);
}

const exampleOf = (declared: FailureClass): Failure =>
  declared.example === undefined ? new declared() : declared.example;

function errorAnswer(kind: FailureKind, own: readonly Failure[], isCommon: boolean): Json {
  const bodies = own.map((failure) => [failure.constructor.name, restError(failure)] as const);
  const common = isCommon ? [[pascalCase(kind), COMMON_FAILURES[kind] ?? {}] as const] : [];
  return {
    description: [FAILURE_DESCRIPTIONS[kind], "", ...own.map(inWords)].join("\n").trim(),
    headers: {
      ...COMMON_HEADERS,
      ...(kind === "unauthorized" ? { "WWW-Authenticate": headerRef("WWW-Authenticate") } : {}),
      ...(kind === "rate_limited" || kind === "unavailable" ? { "Retry-After": headerRef("Retry-After") } : {}),
    },
    content: {
      "application/json": {
        schema: { $ref: "#/components/schemas/Error" },
        examples: Object.fromEntries([...bodies, ...common].map(([name, value]) => [name, { value }])),
      },
    },
  };
}

const inWords = ({ reason, message }: Failure): string => (reason ? `- \`${reason}\`: ${message}` : `- ${message}`);

/** The answers that operations refer to. */
export const commonAnswers = (): Json =>
  Object.fromEntries(
    FAILURE_KINDS.filter((kind) => kind in COMMON_FAILURES).map((kind) => [
      pascalCase(kind),
      errorAnswer(kind, [], true),
    ]),
  );

const pascalCase = (kind: FailureKind): string =>
  kind.replace(/(?:^|_)(.)/g, (_part, letter: string) => letter.toUpperCase());

export const ERROR_SCHEMA: JsonSchema = {
  type: "object",
  description: "What every request that fails is answered with.",
  properties: {
    error: {
      type: "object",
      properties: {
        code: { type: "string", enum: FAILURE_KINDS, description: "What went wrong; it goes with the status." },
        message: { type: "string", description: "What went wrong and what to do about it, for a person to read." },
        reason: { type: "string", description: "A finer word than the code, stable across releases." },
        details: {
          description: "Of a bad request the fields that are wrong; else what is needed to go on.",
          anyOf: [
            {
              type: "array",
              items: {
                type: "object",
                properties: {
                  path: { type: "string", description: "The field; empty for the request as a whole." },
                  message: { type: "string", description: "What is wrong with it." },
                },
                required: ["path", "message"],
              },
            },
            { type: "object", additionalProperties: true },
          ],
        },
      },
      required: ["code", "message"],
    },
  },
  required: ["error"],
};

const header = (description: string, example: string | number): Json => ({
  description,
  schema: { type: typeof example === "number" ? "integer" : "string" },
  example,
});

export const HEADERS = {
  "X-Request-Id": header(
    "The request's id: the one it came with, or a new one.",
    "8f14e45f-ceea-467f-a0e6-1b2c3d4e5f60",
  ),
  ETag: header("The version, to send as `If-Match` with an update.", '"1"'),
  Location: header("Where what was made can be read.", "/v1/memories/019cadd3-e5a4-7f21-8d4e-5a6b7c8d9e0f"),
  RateLimit: header(
    "How many requests are left to the user, or without a key to the address, and in how many seconds there are all again.",
    '"pro";r=299;t=60',
  ),
  "RateLimit-Policy": header("How many requests are served in how many seconds.", '"pro";q=300;w=60'),
  "Retry-After": header("In how many seconds to try again.", 12),
  "WWW-Authenticate": header("How to authenticate.", "Bearer"),
};

export const headerRef = (name: keyof typeof HEADERS): Json => ({ $ref: `#/components/headers/${name}` });

const COMMON_HEADERS: Json = {
  "X-Request-Id": headerRef("X-Request-Id"),
  RateLimit: headerRef("RateLimit"),
  "RateLimit-Policy": headerRef("RateLimit-Policy"),
};
