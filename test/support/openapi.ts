import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { graphqlSchema, operations } from "../../src/operations.js";
import type { Operation } from "../../src/operation/operation.js";
import type { JsonSchema } from "../../src/surfaces/json-schema.js";
import { openApiJson } from "../../src/surfaces/rest/openapi.js";
import type { Answer } from "./http.js";

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly explode?: boolean;
  readonly schema: JsonSchema;
  readonly example?: unknown;
}
export interface Content {
  readonly schema: JsonSchema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}
export interface Message {
  readonly description?: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: { readonly "application/json": Content };
}
export interface Method {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly security?: ReadonlyArray<{ readonly apiKey?: readonly string[] }>;
  readonly tags: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Message;
  readonly responses: Readonly<Record<string, Message & { readonly $ref?: string }>>;
}
export interface Document {
  readonly info: { readonly description: string };
  readonly tags: ReadonlyArray<{ readonly name: string }>;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Method>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, Message & { readonly example?: unknown }>>>>;
}

export const documentText = openApiJson(operations, await graphqlSchema());
export const document = JSON.parse(documentText) as Document;

/** The message itself, where the document has a reference to it. */
export function resolved(message: Message & { readonly $ref?: string }): Message {
  const [kind = "", name = ""] = message.$ref?.split("/").slice(2) ?? [];
  return message.$ref ? (document.components[kind]?.[name] ?? {}) : message;
}

/**
 * Compiles schemas that refer to these, each once: many answers have the same. Strict: a keyword that JSON Schema does
 * not know is an error.
 */
function reader(schemas: unknown): (part: JsonSchema) => ValidateFunction {
  const ajv = new Ajv2020({ allowUnionTypes: true, allErrors: true, keywords: ["components"] });
  addFormats.default(ajv);
  ajv.addSchema({ $id: "openapi", components: { schemas } });
  const known = new Map<string, ValidateFunction>();
  return (part) => {
    const text = JSON.stringify(part).replaceAll(`"$ref":"#/`, `"$ref":"openapi#/`);
    const validate = known.get(text) ?? ajv.compile(JSON.parse(text) as JsonSchema);
    known.set(text, validate);
    return validate;
  };
}

/** Compiles a part of the document to a function that validates values. */
export const validator = reader(document.components["schemas"]);
/** Does the same, but also refuses fields that the document does not name. */
export const closedValidator = (part: JsonSchema): ValidateFunction => readerOfClosed(closed(part) as JsonSchema);

export function problemsOf(validate: ValidateFunction, value: unknown): unknown[] {
  return validate(value) ? [] : [{ value, errors: validate.errors }];
}

/** The same schemas, whose objects allow no other fields than the named ones. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== "object" || value === null) return value;
  const inner = Object.fromEntries(Object.entries(value).map(([name, each]) => [name, closed(each)]));
  return "properties" in inner ? { additionalProperties: false, ...inner } : inner;
}

const readerOfClosed = reader(closed(document.components["schemas"]));

/** Headers with a meaning for clients. Of these, an answer has exactly the ones that the document names. */
const TELLING = [
  "ETag",
  "Location",
  "RateLimit",
  "RateLimit-Policy",
  "Retry-After",
  "WWW-Authenticate",
  "X-Request-Id",
];

/** Where an answer of REST differs from what the document says of it: its status, its headers or its body. */
export function problemsWith(answer: Answer, { responses }: Method): unknown[] {
  const message = responses[String(answer.status)];
  if (!message) return [`The status ${answer.status} is not documented.`, answer.body];
  const { headers = {}, content } = resolved(message);
  const sent = TELLING.filter((header) => answer.headers.has(header));
  // Of conflicts, only a request that is still running says when to repeat it.
  const isSent = (header: string) => header !== "Retry-After" || answer.status !== 409 || answer.headers.has(header);
  const named = TELLING.filter((header) => header in headers && isSent(header));
  const differing = sent.join() === named.join() ? [] : [{ status: answer.status, sent, named }];
  if (!content) return answer.body === "" ? differing : [...differing, answer.body];
  return [...differing, ...problemsOf(closedValidator(content["application/json"].schema), answer.body)];
}

/** What the document says of an operation. */
export function methodOf({ name, rest }: Operation): Method {
  const described = document.paths[rest.path.replaceAll(/:(\w+)/g, "{$1}")]?.[rest.method.toLowerCase()];
  if (!described) throw new Error(`${name} by ${rest.method} is not documented.`);
  return described;
}
