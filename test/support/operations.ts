import {
  type GraphQLInputObjectType,
  GraphQLID,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isListType,
  isNonNullType,
  isRequiredInputField,
} from "graphql";
import { operations } from "../../src/operations.js";
import { inputTypeOf } from "../../src/operation/input.js";
import { snakeCase } from "../../src/operation/names.js";
import type { Operation } from "../../src/operation/operation.js";
import { ask } from "./http.js";

export function operationNamed(name: string): Operation {
  const operation = operations.find((known) => known.name === name);
  if (!operation) throw new Error(`There is no operation ${name}.`);
  return operation;
}

/** The result at a door: accepted, or refused with a code and a reason. */
export interface Said {
  readonly ok: boolean;
  readonly code?: string;
  readonly reason?: string;
  /** What is wrong with each field of the input, the same at all doors but for how they write names and choices. */
  readonly issues?: readonly string[];
}

interface SaidError {
  readonly code: string;
  readonly reason?: string;
  readonly details?: unknown;
}

/** A refusal, as a door has said it. */
export const refusalIn = ({ code, reason, details }: SaidError): Said => ({
  ok: false,
  code: code.toLowerCase(),
  ...(reason === undefined ? {} : { reason }),
  ...(code.toLowerCase() === "bad_request" && Array.isArray(details) ? { issues: details.map(sayIssue) } : {}),
});

const NAMES = new Set(operations.map(({ name }) => name));

/** REST names an operation by its method and path, the other doors by its name. */
const hideOperation = (quoted: string, inside: string): string =>
  NAMES.has(inside) || /^[A-Z]+ \//.test(inside) ? "`an operation`" : quoted;

const sayIssue = ({ path, message }: { readonly path: string; readonly message: string }): string =>
  `${path}: ${message.replaceAll(/`([^`]+)`/g, hideOperation)}`
    .replaceAll(/\b[a-z]+(?:[A-Z][a-z]*)+\b/g, snakeCase)
    .replaceAll(/\b([a-z]+):(?=[a-z])/g, "$1_")
    .toLowerCase();

export const inputFields = (type: GraphQLInputObjectType) => Object.values(type.getFields());

/** The names of an operation's input fields that hold ids. */
export const idFields = (schema: GraphQLSchema, operation: Operation): string[] =>
  inputFields(inputTypeOf(schema, operation))
    // An id that only filters a list need not exist.
    .filter(({ type }) => getNamedType(type) === GraphQLID && (isNonNullType(type) || isListType(type)))
    .map(({ name }) => name);

/** An input with REST's names, also for the inputs in its lists. */
export const plainNames = (input: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(input).map(([name, value]: [string, unknown]) => [
      snakeCase(name),
      Array.isArray(value) ? value.map((item: unknown) => (isInput(item) ? plainNames(item) : item)) : value,
    ]),
  );

const isInput = (item: unknown): item is object => typeof item === "object" && item !== null && !Array.isArray(item);

/** Calls by REST. The input has names as in code and values as in REST; leave out values that a URL cannot express. */
export async function askRest(
  url: string,
  key: string | undefined,
  { rest }: Operation,
  input: Readonly<Record<string, unknown>>,
  headers: Record<string, string> = {},
) {
  const left = new Map(Object.entries(plainNames(input)));
  const path = rest.path.replaceAll(/:(\w+)/g, (_part, name: string) => {
    const value = left.get(name);
    left.delete(name);
    return encodeURIComponent(String(value));
  });
  if (rest.method === "GET") {
    const query = new URLSearchParams();
    for (const [name, value] of left) for (const item of [value].flat()) query.append(name, String(item));
    return ask(`${url}${path}?${query}`, { key, headers });
  }
  const body = rest.method === "DELETE" && left.size === 0 ? undefined : Object.fromEntries(left);
  return ask(url + path, { key, headers, method: rest.method, body });
}

export async function saidByRest(...[url, key, operation, input]: Parameters<typeof askRest>): Promise<Said> {
  const { status, body } = await askRest(url, key, operation, input);
  const { error } = (body || {}) as { error?: SaidError };
  return error ? refusalIn(error) : { ok: status < 300 };
}

/** Calls by GraphQL with variables, selecting these fields. Enum values are given as REST writes them. */
export async function askGraphQL(
  url: string,
  key: string | undefined,
  schema: GraphQLSchema,
  operation: Operation,
  input: Readonly<Record<string, unknown>>,
  headers: Record<string, string> = {},
  selection = "{ __typename }",
) {
  const type = inputTypeOf(schema, operation);
  const { name, kind } = operation;
  const given = named(input, type);
  // A declared variable without a value would hide the argument's default; required variables must be declared.
  const fields = inputFields(type).filter((field) => field.name in given || isRequiredInputField(field));
  const variables = fields.map((field) => `$${field.name}: ${String(field.type)}`).join(", ");
  const args = fields.map((field) => `${field.name}: $${field.name}`).join(", ");
  const inParentheses = (text: string) => (text ? `(${text})` : "");
  const takesInput = kind === "mutation" && inputFields(type).length > 0;
  const query = takesInput
    ? `mutation($input: ${type.name}!) { ${name}(input: $input) ${selection} }`
    : `${kind}${inParentheses(variables)} { ${name}${inParentheses(args)} ${selection} }`;
  return ask(`${url}/graphql`, {
    key,
    headers,
    body: { query, variables: takesInput ? { input: given } : given },
  });
}

/** The input with the names that GraphQL has for enum values. */
export function named(input: Readonly<Record<string, unknown>>, type: GraphQLInputObjectType): Record<string, unknown> {
  const nameOf = (field: string, value: unknown): unknown => {
    if (Array.isArray(value)) return value.map((item) => nameOf(field, item));
    const enumType = getNamedType(type.getFields()[field]?.type);
    if (!isEnumType(enumType)) return value;
    return enumType.getValues().find((choice) => choice.value === value)?.name ?? value;
  };
  return Object.fromEntries(Object.entries(input).map(([field, value]) => [field, nameOf(field, value)]));
}

export async function saidByGraphQL(
  ...[url, key, schema, operation, input]: Parameters<typeof askGraphQL>
): Promise<Said> {
  const { body } = await askGraphQL(url, key, schema, operation, input);
  const { errors } = body as { errors?: Array<{ extensions: SaidError }> };
  const [error] = errors ?? [];
  return error ? refusalIn(error.extensions) : { ok: true };
}
