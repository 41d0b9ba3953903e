import { RateLimited } from "../../operation/budget.js";
import {
  FAILURE_KINDS,
  type Failure,
  type FailureKind,
  InvalidInput,
  ScopeMissing,
  Unauthorized,
  Unavailable,
  examplesOf,
} from "../../operation/failure.js";
import { IdempotencyInProgress, IdempotencyKeyReused } from "../../operation/idempotency.js";
import type { GraphQLSchema } from "graphql";
import { type JsonSchema, type NamedSchemas, answerSchema, followedFields } from "../json-schema.js";
import { type Routes, inRestNames, snakeCase } from "../../operation/names.js";
import { type Operation, keepsResults } from "../../operation/operation.js";
import { outputTypeOf, projectionOf } from "../../operation/output.js";
import { BodyTooLarge } from "../body.js";
import { KIND_DESCRIPTIONS, UnsupportedMediaType } from "../http.js";
import { HTTP_STATUS } from "../http-status.js";
import { restError } from "../plain-errors.js";

export type Json = Readonly<Record<string, unknown>>;

/** What a document is made from, and the components that its parts refer to. */
export interface Source {
  readonly schema: GraphQLSchema;
  readonly schemas: NamedSchemas;
  /** The names of operations in messages. */
  readonly routes: Routes;
}

/** Every answer of an operation by its status. */
export function answersOf(operation: Operation, source: Source): Json {
  return { [operation.rest.status ?? 200]: success(operation, source), ...errorAnswers(operation, source) };
}

function success({ example, ...operation }: Operation, { schema, schemas }: Source): Json {
  const { status, location } = operation.rest;
  if (status === 204) return { description: "Done; the answer has no body.", headers: COMMON_HEADERS };
  const type = outputTypeOf(schema, operation);
  const plain = example && projectionOf(type)(example.output);
  const followed = followedFields(type);
  // A relation is in some answers of a type and not in others; the example shows which.
  const alwaysThere = [...followed].map(snakeCase).filter((field) => plain && field in plain);
  const answer = answerSchema(type, { named: schemas });
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

/** Answers for the kinds of failure of every operation. Public operations refuse a wrong key, too. */
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

/** Each kind has one status, so all failures of a kind share one answer. */
function errorAnswers(operation: Operation, { routes }: Source): Json {
  const idempotency = keepsResults(operation) ? [IdempotencyKeyReused, IdempotencyInProgress] : [];
  const declared = [...operation.failures, ...idempotency].flatMap(examplesOf);
  const answers = FAILURE_KINDS.flatMap((kind) => {
    const own = declared.filter((failure) => failure.kind === kind);
    const isCommon = kind in COMMON_FAILURES;
    if (own.length > 0) return [[HTTP_STATUS[kind], errorAnswer(kind, { own, isCommon, routes })] as const];
    return isCommon ? [[HTTP_STATUS[kind], { $ref: `#/components/responses/${pascalCase(kind)}` }] as const] : [];
  });
  return Object.fromEntries(answers);
}

/** What an answer documents: the operation's own failures, and whether also the common ones. */
interface DocumentedFailures {
  readonly own: readonly Failure[];
  readonly isCommon: boolean;
  readonly routes?: Routes;
}

/** Kinds whose common failures end by waiting. */
const PASSING: ReadonlySet<FailureKind> = new Set(["rate_limited", "unavailable"]);

function errorAnswer(kind: FailureKind, { own, isCommon, routes }: DocumentedFailures): Json {
  const bodies = own.map((failure) => [exampleName(failure, own), restError(failure, routes)] as const);
  const common = isCommon ? [[pascalCase(kind), COMMON_FAILURES[kind] ?? {}] as const] : [];
  const isPassing = PASSING.has(kind) || own.some(({ retryAfterSeconds }) => retryAfterSeconds !== undefined);
  return {
    description: [KIND_DESCRIPTIONS[kind], "", ...own.map((failure) => inRestNames(listItem(failure), routes))]
      .join("\n")
      .trim(),
    headers: {
      ...COMMON_HEADERS,
      ...(kind === "unauthorized" ? { "WWW-Authenticate": headerRef("WWW-Authenticate") } : {}),
      ...(isPassing ? { "Retry-After": headerRef("Retry-After") } : {}),
    },
    content: {
      "application/json": {
        schema: { $ref: "#/components/schemas/Error" },
        examples: Object.fromEntries([...bodies, ...common].map(([name, value]) => [name, { value }])),
      },
    },
  };
}

/** The name of its class, or its reason if its class has several. */
function exampleName({ constructor, reason }: Failure, all: readonly Failure[]): string {
  const isOnly = all.filter((other) => other.constructor === constructor).length === 1;
  return isOnly || reason === undefined ? constructor.name : reason;
}

const listItem = ({ reason, message }: Failure): string => (reason ? `- \`${reason}\`: ${message}` : `- ${message}`);

/** The shared answers that operations refer to. */
export const commonAnswers = (): Json =>
  Object.fromEntries(
    FAILURE_KINDS.filter((kind) => kind in COMMON_FAILURES).map((kind) => [
      pascalCase(kind),
      errorAnswer(kind, { own: [], isCommon: true }),
    ]),
  );

const pascalCase = (kind: FailureKind): string =>
  kind.replace(/(?:^|_)(.)/g, (_part, letter: string) => letter.toUpperCase());

export const ERROR_SCHEMA: JsonSchema = {
  type: "object",
  description: "The answer to every request that fails.",
  properties: {
    error: {
      type: "object",
      properties: {
        code: { type: "string", enum: FAILURE_KINDS, description: "What went wrong. Each code has one status." },
        message: { type: "string", description: "What went wrong and what to do, for people." },
        reason: { type: "string", description: "More precise than the code; stable across releases." },
        details: {
          description:
            "For a bad request, the fields that are wrong; otherwise facts that a client needs to continue, such as the " +
            "`path` of the id that is unknown.",
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
  Location: header("The path of the created object.", "/v1/memories/019cadd3-e5a4-7f21-8d4e-5a6b7c8d9e0f"),
  RateLimit: header(
    "How many requests the user, or without a key the address, has left, and in how many seconds the budget is full again.",
    '"pro";r=299;t=60',
  ),
  "RateLimit-Policy": header("How many requests are allowed in how many seconds.", '"pro";q=300;w=60'),
  "Retry-After": header("After how many seconds to retry.", 12),
  "WWW-Authenticate": header("How to authenticate.", "Bearer"),
};

export const headerRef = (name: keyof typeof HEADERS): Json => ({ $ref: `#/components/headers/${name}` });

export const COMMON_HEADERS: Json = {
  "X-Request-Id": headerRef("X-Request-Id"),
  RateLimit: headerRef("RateLimit"),
  "RateLimit-Policy": headerRef("RateLimit-Policy"),
};
