import {
  GraphQLBoolean,
  GraphQLFloat,
  GraphQLID,
  GraphQLInputObjectType,
  GraphQLInt,
  type GraphQLInputType,
  type GraphQLSchema,
  coerceInputValue,
  getNamedType,
  getNullableType,
  isEnumType,
  isListType,
} from "graphql";
import { LIMITS } from "../limits.js";
import { itemsMaxOf } from "./bounds.js";
import { InvalidInput, type InputIssue, shorten } from "./failure.js";
import { snakeCase } from "./names.js";
import type { Operation } from "./operation.js";

/** The GraphQL type of an operation's input: the one schema that every door checks against. */
export function inputTypeOf(schema: GraphQLSchema, operation: Operation): GraphQLInputObjectType {
  const root = operation.kind === "query" ? schema.getQueryType() : schema.getMutationType();
  const args = root?.getFields()[operation.name]?.args ?? [];
  const [input] = args;
  if (operation.kind === "mutation" && input) return getNullableType(input.type) as GraphQLInputObjectType;
  return new GraphQLInputObjectType({
    name: `${operation.name}Args`,
    fields: Object.fromEntries(args.map((arg) => [arg.name, arg])),
  });
}

/** Where the raw values of a request come from: the query string carries only text, a body carries JSON. */
export interface RawInput {
  readonly path: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

/** Reads an operation's input from snake_case names and plain values: the counterpart of GraphQL's own coercion. */
export type InputReader<Input> = (raw: RawInput) => Input;

/** @throws InvalidInput (from the reader) naming each field that is missing, unknown, given twice or of a wrong type. */
export function inputReader<Input extends object>(
  type: GraphQLInputObjectType,
  operation: Pick<Operation<Input>, "input">,
): InputReader<Input> {
  const fields = new Map(Object.values(type.getFields()).map((field) => [snakeCase(field.name), field]));
  return ({ path, query, body }) => {
    const issues = new Issues();
    if (body !== undefined && (typeof body !== "object" || body === null || Array.isArray(body))) {
      throw new InvalidInput([{ path: "", message: "The body must be a JSON object." }]);
    }
    const raw = new Map<string, unknown>();
    const take = (source: object, read: (type: GraphQLInputType, value: unknown) => unknown) => {
      for (const [name, value] of Object.entries(source)) {
        const field = fields.get(name);
        if (!field) issues.add(name, "is not known here");
        else if (raw.has(field.name)) issues.add(name, "is given twice");
        else if (read === fromJson && isLoneItem(field.type, value)) issues.add(name, "must be a list");
        else if (isListType(getNullableType(field.type)) && isTooLong(value, itemsMaxOf(operation.input, field.name)))
          issues.add(name, `must have at most ${itemsMaxOf(operation.input, field.name)} items`);
        else if (isNumericId(field.type, value)) issues.add(name, "must be a text");
        else if (value !== undefined) raw.set(field.name, read(field.type, value));
      }
    };
    take(path, fromText);
    take(query, fromText);
    take(body ?? {}, fromJson);
    const value = coerceInputValue(Object.fromEntries(raw), type, (at, _value, { message }) => {
      issues.add(at.map((key) => snakeCase(String(key))).join("."), inSnakeCase(shorten(message, issueLength)));
    });
    issues.assertNone();
    return Object.assign(new operation.input(), value);
  };
}

const { issues: ISSUES_MAX, issueLength } = LIMITS.refusal;

/** What is wrong with an input. Reading stops when there are as many as an answer tells. */
export class Issues {
  readonly #found: InputIssue[] = [];

  constructor(private readonly max: number = ISSUES_MAX) {}

  /** @throws InvalidInput when these are enough. */
  add(path: string, message: string): void {
    this.#found.push({ path, message });
    if (this.#found.length >= this.max) this.assertNone();
  }

  /** @throws InvalidInput when anything is wrong. */
  assertNone(): void {
    if (this.#found.length > 0) throw new InvalidInput(this.#found);
  }
}

/** Whether a list has too many items; in a query string they may be joined by commas. */
const isTooLong = (value: unknown, itemsMax: number): boolean =>
  Array.isArray(value) ? value.length > itemsMax : typeof value === "string" && value.split(",").length > itemsMax;

/** GraphQL takes a number for an id as well; here ids are the texts that the service gave out. */
const isNumericId = (type: GraphQLInputType, value: unknown): boolean =>
  getNamedType(type) === GraphQLID && [value].flat().some((item) => typeof item === "number");

/** Text of a query string, as the declared type expects it; what does not fit stays text and is refused as such. */
function fromText(type: GraphQLInputType, value: unknown): unknown {
  if (isListType(getNullableType(type))) {
    const item = getNamedType(type);
    return [value]
      .flat()
      .flatMap((text) => String(text).split(","))
      .map((text) => fromText(item, text));
  }
  const named = getNamedType(type);
  if (typeof value !== "string") return value;
  if (named === GraphQLInt && /^-?\d{1,15}$/.test(value)) return Number(value);
  if (named === GraphQLFloat && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(value)) return Number(value);
  if (named === GraphQLBoolean) return value === "true" ? true : value === "false" ? false : value;
  return fromJson(type, value);
}

/** GraphQL reads a lone item as a list of one. In JSON it is a mistake: "a, b" was hardly meant as one tag. */
const isLoneItem = (type: GraphQLInputType, value: unknown): boolean =>
  isListType(getNullableType(type)) && value != null && !Array.isArray(value);

/** Enum values travel as their own lower-case text; GraphQL's coercion knows them by their upper-case names. */
function fromJson(type: GraphQLInputType, value: unknown): unknown {
  const list = getNullableType(type);
  // Only as deep as the type is: a value may be nested deeper than the stack.
  if (isListType(list)) return Array.isArray(value) ? value.map((item) => fromJson(list.ofType, item)) : value;
  const named = getNamedType(type);
  if (!isEnumType(named) || typeof value !== "string") return value;
  const known = named.getValues().find((choice) => choice.value === value);
  return known ? known.name : value.toLowerCase();
}

const inSnakeCase = (message: string): string =>
  message.replace(/"([a-z]+(?:[A-Z][a-z]*)+)"/g, (_quoted, name: string) => `"${snakeCase(name)}"`);
