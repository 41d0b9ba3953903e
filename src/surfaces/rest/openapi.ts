import type { GraphQLSchema } from "graphql";
import { LIMITS } from "../../limits.js";
import { routesOf } from "../plain-errors.js";
import { type JsonSchema, type PlainField, objectSchema, plainFieldsOf } from "../json-schema.js";
import { SUBJECTS, subjectOf } from "../subjects.js";
import { inputTypeOf } from "../../operation/input.js";
import { inRestNames, shownPath, snakeCase } from "../../operation/names.js";
import { type HttpMethod, type Operation, keepsResults, methodsOf, takesBody } from "../../operation/operation.js";
import { type Permission, scopesOf } from "../../operation/permission.js";
import { ROLE_NEEDED } from "../../operation/standing.js";
import { describeLimits } from "../../operation/use-limit.js";
import { PACKAGE } from "../../platform/project.js";
import { INTRODUCTION } from "./openapi-introduction.js";
import { EXPORT_FORMATS } from "./export-formats.js";
import { EXPORT_PATH } from "./export-stream.js";
import {
  COMMON_HEADERS,
  ERROR_SCHEMA,
  HEADERS,
  type Json,
  type Source,
  answersOf,
  commonAnswers,
  headerRef,
} from "./openapi-answers.js";

/** The REST interface in OpenAPI 3.1 as JSON, generated from the operations. */
export function openApiJson(operations: readonly Operation[], schema: GraphQLSchema, publicUrl?: string): string {
  return `${JSON.stringify(openApiDocument(operations, schema, publicUrl), null, 2)}\n`;
}

function openApiDocument(operations: readonly Operation[], schema: GraphQLSchema, publicUrl?: string): Json {
  const source: Source = { schema, schemas: { Error: ERROR_SCHEMA }, routes: routesOf(operations) };
  const paths: Record<string, Record<string, Json>> = {};
  for (const operation of operations) {
    const path = (paths[shownPath(operation.rest.path)] ??= {});
    for (const method of methodsOf(operation.rest)) {
      path[method.toLowerCase()] = describe(operation, method, source);
    }
  }
  const exported = operations.find(({ rest }) => rest.path === `${EXPORT_PATH}/records`);
  const described = { ...paths, ...(exported && { [EXPORT_PATH]: streamPath(exported, source) }), ...HEALTH_PATHS };
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
      schemas: sortByName(source.schemas),
      responses: commonAnswers(),
      headers: HEADERS,
      securitySchemes: {
        apiKey: { type: "http", scheme: "bearer", description: KEY_DESCRIPTION },
      },
    },
  };
}

const KEY_DESCRIPTION =
  "The key alone, such as `mg_live_…`. Do not write the word Bearer: it is added to the header `Authorization`.";

/**
 * Describes one method of one path. If two methods do the same, the first gets the operation's name as its id and the
 * second adds its method: ids must be unique, and client generators name functions after them.
 */
function describe(operation: Operation, method: HttpMethod, source: Source): Json {
  const { name, rest, summary, notes, permission, limits, input } = operation;
  const fields = plainFieldsOf(inputTypeOf(source.schema, operation), input, source.schemas);
  const inBody = takesBody(rest);
  const isInPath = (field: PlainField) => rest.path.split("/").includes(`:${field.name}`);
  const bodyFields = inBody ? fields.filter((field) => !isInPath(field)) : [];
  const example = plainExample(operation);
  const parameters = [
    ...fields.filter(isInPath).map((field) => parameter(field, "path", example)),
    ...(inBody ? [] : fields.filter((field) => !isInPath(field)).map((field) => parameter(field, "query", example))),
  ];
  if (fields.some((field) => field.name === "expected_version")) parameters.push(IF_MATCH);
  if (keepsResults(operation)) parameters.push(IDEMPOTENCY_KEY);
  return {
    operationId: method === rest.method ? name : `${name}By${method.charAt(0)}${method.slice(1).toLowerCase()}`,
    // Unlike a description, a summary is plain text.
    summary: inRestNames(summary, source.routes).replaceAll("`", "").replace(/\.$/, ""),
    description: [
      ...(notes === undefined ? [] : [inRestNames(notes, source.routes)]),
      neededBy(operation),
      ...(limits ? [describeLimits(limits)] : []),
    ].join("\n\n"),
    tags: [subjectOf(rest.path)],
    ...securityOf(permission),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(bodyFields.length > 0 ? { requestBody: requestBody(operation, bodyFields) } : {}),
    responses: answersOf(operation, source),
  };
}

/** Nothing for `any`: the document itself says that every valid key is enough. */
function securityOf(permission: Permission): { security?: object[] } {
  if (permission === "any") return {};
  if (permission === "public") return { security: [] };
  return { security: [{ apiKey: scopesOf(permission) }] };
}

const RECORDS = { type: "array", items: { type: "object", additionalProperties: true } };
const COUNT = { type: "integer", minimum: 0 };
const COUNTS = { memories: COUNT, relationships: COUNT };
/** Its records are described where they were: by the service that this format comes from. */
const MEMORY_GRAPH_FIELDS = {
  format_version: { type: "string" },
  export_version: { type: "string" },
  export_date: { type: "string", format: "date-time" },
  memory_count: { ...COUNT, description: "How many there were when the export began." },
  relationship_count: {
    ...COUNT,
    description: `How many there were when the export began; counting ends at ${LIMITS.views.counted.toLocaleString("en")}.`,
  },
  memories: RECORDS,
  relationships: RECORDS,
  exported: {
    type: "object",
    description: "How many were exported. Without it the answer was cut off.",
    properties: COUNTS,
    required: Object.keys(COUNTS),
  },
};
const MEMORY_GRAPH_JSON = {
  type: "object",
  properties: MEMORY_GRAPH_FIELDS,
  required: Object.keys(MEMORY_GRAPH_FIELDS),
};

/** All pages of an export in one answer: described like the operation that reads a page. */
function streamPath(operation: Operation, source: Source): Record<"get", Json> {
  const page = describe(operation, "GET", source);
  const { 200: _page, ...refusals } = page["responses"] as Json;
  const parameters = (page["parameters"] as Json[]).filter(({ name }) => name !== "cursor" && name !== "limit");
  const formats = [...EXPORT_FORMATS].map(
    ([name, { contentType }]) => [name, contentType.split(";", 1)[0] ?? ""] as const,
  );
  const content = Object.fromEntries(
    formats.map(([, type]) => [type, { schema: type === "application/json" ? MEMORY_GRAPH_JSON : { type: "string" } }]),
  );
  return {
    get: {
      ...page,
      operationId: `${operation.name}Stream`,
      summary: "Streams a whole graph",
      description:
        "All pages of the export in one answer: records in JSON lines, of which the last counts the others, or the " +
        "JSON of MemoryGraph. Generated clients that expect JSON must be told to read the lines as text. " +
        `Costs ${LIMITS.bulk.exportRequests} requests; if fewer are left, it is refused and costs one.\n\n` +
        neededBy(operation),
      parameters: [
        ...parameters,
        {
          name: "format",
          in: "query",
          description: "The format of the answer.",
          required: false,
          schema: { type: "string", enum: formats.map(([name]) => name), default: formats[0]?.[0] },
        },
      ],
      responses: {
        200: { description: "The graph.", headers: COMMON_HEADERS, content },
        ...refusals,
      },
    },
  };
}

/** The scope and the role that a caller needs. */
const neededBy = ({ permission, team }: Operation): string =>
  [NEEDS[permission] ?? `Needs the scope \`${permission}\`.`, ...(team ? [ROLE_NEEDED[team.role]] : [])].join(" ");

const NEEDS: Readonly<Partial<Record<Permission, string>>> = {
  any: "Works with any valid API key.",
  all: "Needs a key with every scope.",
  public: "Needs no API key; one that is sent must be valid.",
};

/** The operation's example input as REST writes it. */
function plainExample({ example }: Operation): Json {
  return plainNames(example?.input ?? {});
}

/** Converts the names of an input, and of the inputs in its lists, to those of REST. */
const plainNames = (input: object): Json =>
  Object.fromEntries(
    Object.entries(input).map(([name, value]: [string, unknown]) => [
      snakeCase(name),
      Array.isArray(value) ? value.map((item: unknown) => (isInput(item) ? plainNames(item) : item)) : value,
    ]),
  );

const isInput = (item: unknown): item is object => typeof item === "object" && item !== null;

function parameter(field: PlainField, place: "path" | "query", example: Json): Json {
  const { name, description, required, schema } = field;
  return {
    name,
    in: place,
    description,
    required: required || place === "path",
    ...(place === "query" && schema.items ? listInQuery(schema, schema.items) : { schema }),
    ...(name in example ? { example: example[name] } : {}),
  };
}

/** In a query string commas separate the items of a list, so no item contains one, and nothing is no item. */
const listInQuery = (schema: JsonSchema, items: JsonSchema): Json => ({
  style: "form",
  explode: false,
  schema: { ...schema, items: { ...items, pattern: items["pattern"] ?? "^[^,]+$" } },
});

const IF_MATCH: Json = {
  name: "If-Match",
  in: "header",
  description: 'The `ETag` of the version that the update is based on, such as `"1"`: the same as `expected_version`.',
  schema: { type: "string" },
};

/** Has no example: documentation pages would fill it in, and send the same key with each request. */
const IDEMPOTENCY_KEY: Json = {
  name: "Idempotency-Key",
  in: "header",
  description:
    `Makes it safe to retry the request: for ${LIMITS.idempotency.keptHours} hours the same key returns the first result again. Use a ` +
    "new UUID for each new request.",
  schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[!-~]*$" },
};

/**
 * Written out for each method that takes it. Of a shared body, some client generators miss the type, and send JSON as
 * text; in a shared schema, others read a field with a default as always present, and clients would have to send it.
 */
function requestBody(operation: Operation, fields: readonly PlainField[]): Json {
  const known = plainExample(operation);
  const example = fields
    .filter((field) => field.name in known)
    .map((field) => [field.name, known[field.name]] as const);
  return {
    // An update without fields is refused, so its body is required.
    required: operation.rest.method !== "POST" || fields.some((field) => field.required),
    content: {
      "application/json": {
        schema: objectSchema(fields),
        ...(operation.example ? { example: Object.fromEntries(example) } : {}),
      },
    },
  };
}

/** Health checks are not operations: machines without a key call them. */
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
  "/healthz": healthPath("healthz", "Whether the process is alive", { 200: ["It is alive.", { status: "ok" }] }),
  "/readyz": healthPath("readyz", "Whether the service can serve", {
    200: ["It can serve.", { status: "ready" }],
    503: ["It cannot serve now.", { status: "unavailable", problem: "stopping" }],
  }),
};

const sortByName = (schemas: Json): Json =>
  Object.fromEntries(Object.entries(schemas).sort(([one], [other]) => (one < other ? -1 : 1)));
