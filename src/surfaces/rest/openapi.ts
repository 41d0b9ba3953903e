import { createRequire } from "node:module";
import type { GraphQLSchema } from "graphql";
import { type PlainField, objectSchema, plainFieldsOf } from "./json-schema.js";
import { snakeCase } from "../../operation/names.js";
import { type HttpMethod, type Operation, methodsOf } from "../../operation/operation.js";
import { type Permission, scopesOf } from "../../operation/permission.js";
import {
  ERROR_SCHEMA,
  HEADERS,
  type Json,
  type Source,
  answersOf,
  commonAnswers,
  headerRef,
  keepsResults,
} from "./openapi-answers.js";

/** The REST interface in OpenAPI 3.1 as JSON, made from the declarations that serve it. */
export function openApiJson(operations: readonly Operation[], schema: GraphQLSchema, publicUrl?: string): string {
  return `${JSON.stringify(openApiDocument(operations, schema, publicUrl), null, 2)}\n`;
}

function openApiDocument(operations: readonly Operation[], schema: GraphQLSchema, publicUrl?: string): Json {
  const source: Source = { schema, schemas: { Error: ERROR_SCHEMA }, requestBodies: {} };
  const paths: Record<string, Record<string, Json>> = {};
  for (const operation of operations) {
    const path = (paths[operation.rest.path.replaceAll(/:(\w+)/g, "{$1}")] ??= {});
    for (const method of methodsOf(operation.rest)) {
      path[method.toLowerCase()] = describe(operation, method, source);
    }
  }
  const described = { ...paths, ...HEALTH_PATHS };
  const used = new Set(Object.values(described).flatMap((path) => Object.values(path).flatMap(({ tags }) => tags)));
  return {
    openapi: "3.1.1",
    info: {
      title: "Memory Graph Gateway",
      version: PACKAGE.version,
      summary: PACKAGE.description,
      description: INTRODUCTION,
      license: { name: "MIT License", identifier: "MIT" },
    },
    servers: [{ url: publicUrl ?? "/", description: "This service." }],
    security: [{ apiKey: [] }],
    tags: SUBJECTS.filter(({ name }) => used.has(name)).map(({ name, description }) => ({ name, description })),
    paths: described,
    components: {
      schemas: sorted(source.schemas),
      requestBodies: sorted(source.requestBodies),
      responses: commonAnswers(),
      headers: HEADERS,
      securitySchemes: {
        apiKey: { type: "http", scheme: "bearer", description: "An API key: `Authorization: Bearer mg_live_…`." },
      },
    },
  };
}

const PACKAGE = createRequire(import.meta.url)("../../../package.json") as { version: string; description: string };

const INTRODUCTION = `
Requests carry an API key: \`Authorization: Bearer <key>\`; \`POST /signup\` is the way to a first one. Bodies are JSON in
UTF-8, of up to 1 MiB.

- **Errors** have one form, \`{"error": {"code", "message", "reason"?, "details"?}}\`. \`code\` goes with the status,
  \`reason\` says more where a client could act on it. A path that is asked with a method it does not take answers 405
  (\`method_not_allowed\`) with the header \`Allow\`.
- **Strictness**: unknown fields and query parameters are refused (400), and so is a query parameter that is given
  twice, unless it is a list. An id that is malformed is simply not found (404).
- **Lists** are read page by page: give \`next_cursor\` of one answer as \`cursor\` of the next request, until it is null.
- **Updates** leave alone what they do not mention; null clears a field that can be null.
- **Rate limits** are counted for each user, over all keys, and without a key for each address; the headers \`RateLimit\`
  and \`RateLimit-Policy\` tell them. Of one address, and under one key, 50 requests are served at a time.
- **Overload**: 503 with \`Retry-After\` says that nothing was done and when to try again.
`.trim();

/** What the interface is about, by the first part of a path. */
const SUBJECTS = [
  { name: "Memories", parts: ["memories"], description: "Notes of many kinds: stored, found and followed." },
  {
    name: "Relationships",
    parts: ["relationships", "relationship-types"],
    description: "Typed links from one memory to another.",
  },
  { name: "Teams", parts: ["teams"], description: "Who shares a graph: teams, their members and invitations." },
  { name: "Billing", parts: ["billing"], description: "The team's subscription." },
  { name: "Access", parts: ["signup", "me", "keys", "users"], description: "Signing up, the caller, the API keys." },
  { name: "Health", parts: ["healthz", "readyz"], description: "For whoever restarts the service and routes to it." },
];

function subjectOf(path: string): string {
  const [part = ""] = path
    .replace(/^\/v1\//, "/")
    .slice(1)
    .split("/");
  return SUBJECTS.find(({ parts }) => parts.includes(part))?.name ?? part;
}

/**
 * One method of one path. Where two methods do the same, the operation's own name goes to the first, and the second's
 * says how it differs: ids must be unique, and clients name their functions after them.
 */
function describe(operation: Operation, method: HttpMethod, source: Source): Json {
  const { name, rest, summary, permission, input } = operation;
  const fields = plainFieldsOf(source.schema, operation);
  const inBody = ["POST", "PUT", "PATCH"].includes(method) || rest.takesBody === true;
  const isInPath = (field: PlainField) => rest.path.split("/").includes(`:${field.name}`);
  const bodyFields = inBody ? fields.filter((field) => !isInPath(field)) : [];
  if (bodyFields.length > 0) source.requestBodies[input.name] ??= requestBody(operation, bodyFields);
  const example = plainExample(operation);
  const parameters = [
    ...fields.filter(isInPath).map((field) => parameter(field, "path", example)),
    ...(inBody ? [] : fields.filter((field) => !isInPath(field)).map((field) => parameter(field, "query", example))),
  ];
  if (fields.some((field) => field.name === "expected_version")) parameters.push(IF_MATCH);
  if (keepsResults(operation)) parameters.push(IDEMPOTENCY_KEY);
  return {
    operationId: method === rest.method ? name : `${name}By${method.charAt(0)}${method.slice(1).toLowerCase()}`,
    summary: summary.replace(/\.$/, ""),
    description: NEEDS[permission] ?? `Needs the scope \`${permission}\`.`,
    tags: [subjectOf(rest.path)],
    ...(permission === "any" ? {} : { security: permission === "public" ? [] : [{ apiKey: scopesOf(permission) }] }),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(bodyFields.length > 0 ? { requestBody: { $ref: `#/components/requestBodies/${input.name}` } } : {}),
    responses: answersOf(operation, source),
  };
}

const NEEDS: Readonly<Partial<Record<Permission, string>>> = {
  any: "Any valid API key will do.",
  all: "Needs a key with every scope.",
  public: "Needs no API key.",
};

/** The operation's example input as REST writes it. */
function plainExample({ example }: Operation): Json {
  return Object.fromEntries(Object.entries(example?.input ?? {}).map(([name, value]) => [snakeCase(name), value]));
}

function parameter({ name, description, schema, required }: PlainField, place: "path" | "query", example: Json): Json {
  return {
    name,
    in: place,
    description,
    required: required || place === "path",
    ...(schema["type"] === "array" ? { style: "form", explode: false } : {}),
    schema,
    ...(name in example ? { example: example[name] } : {}),
  };
}

const IF_MATCH: Json = {
  name: "If-Match",
  in: "header",
  description: 'The `ETag` of what the update is based on, such as `"1"`: another way to give `expected_version`.',
  schema: { type: "string" },
};

/** Without an example: pages that send requests would fill it in, and so send the same key with each. */
const IDEMPOTENCY_KEY: Json = {
  name: "Idempotency-Key",
  in: "header",
  description:
    "Makes it safe to repeat the request: for 24 hours the same key gets the first result again. Best a new UUID for " +
    "each thing to do.",
  schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[!-~]*$" },
};

/**
 * The body that both methods of an operation share. Its schema stands in it, not among the shared schemas: there, what
 * has a default would be read as always present, as it is in answers, and clients would have to give it.
 */
function requestBody(operation: Operation, fields: readonly PlainField[]): Json {
  const known = plainExample(operation);
  const example = fields
    .filter((field) => field.name in known)
    .map((field) => [field.name, known[field.name]] as const);
  return {
    // An update of nothing is refused, so its body cannot be left out either.
    required: operation.rest.method !== "POST" || fields.some((field) => field.required),
    content: {
      "application/json": {
        schema: objectSchema(fields),
        ...(operation.example ? { example: Object.fromEntries(example) } : {}),
      },
    },
  };
}

/** Not operations: they are asked by machines that have no key. */
function healthPath(operationId: string, summary: string, answers: Readonly<Record<number, readonly [string, Json]>>) {
  const responses = Object.entries(answers).map(([status, [description, example]]) => {
    const properties = Object.fromEntries(Object.keys(example).map((name) => [name, { type: "string" }]));
    const schema = { type: "object", properties, required: Object.keys(example) };
    const headers = { "X-Request-Id": headerRef("X-Request-Id") };
    return [status, { description, headers, content: { "application/json": { schema, example } } }];
  });
  return { get: { operationId, summary, tags: ["Health"], security: [], responses: Object.fromEntries(responses) } };
}

const HEALTH_PATHS = {
  "/healthz": healthPath("healthz", "Whether the process is alive", { 200: ["It is.", { status: "ok" }] }),
  "/readyz": healthPath("readyz", "Whether the service can serve", {
    200: ["It can.", { status: "ready" }],
    503: ["It cannot, for now.", { status: "unavailable", problem: "stopping" }],
  }),
};

const sorted = (schemas: Json): Json =>
  Object.fromEntries(Object.entries(schemas).sort(([one], [other]) => (one < other ? -1 : 1)));
