import {
  GraphQLBoolean,
  GraphQLFloat,
  type GraphQLInputField,
  GraphQLInputObjectType,
  GraphQLInt,
  type GraphQLInputType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isListType,
} from "graphql";
import { isMarked, itemsProblem, sizeIn } from "./class-bounds.js";
import { type InputIssue, InvalidInput } from "./failure.js";
import { snakeCase } from "./names.js";
import { type Operation, takesBody } from "./operation.js";
import { Issues, REST_WORDS, addUnknown, readFields } from "./read-value.js";
import { issuesOfSome } from "./within-bounds.js";

/** The GraphQL type of an operation's input, by which every door checks it. */
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

/** Where the raw values of a request come from: a body carries JSON, all else only text. */
export interface RawInput {
  readonly path: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

/**
 * Reads an operation's input from snake_case names and plain values; GraphQL's own coercion does the same there.
 * `found` are problems that the door has found itself.
 */
export type InputReader<Input> = (raw: RawInput, found?: readonly InputIssue[]) => Input;

/** An input with mistakes, of which some fields could be read. */
class PartlyRead extends InvalidInput {
  constructor(
    readonly issues: Issues,
    readonly input: object,
  ) {
    super(issues.failure.details);
  }
}

/**
 * Adds to a refusal of the reader the fields that it could read, but that are out of bounds, so that a caller can
 * correct all mistakes at once. Checks over several turns of the event loop, for which `pause` waits.
 * @throws InvalidInput, or the error itself if it is another one.
 */
export async function throwWithBounds(error: unknown, pause: () => Promise<void>): Promise<never> {
  if (!(error instanceof PartlyRead)) throw error;
  const { issues, input } = error;
  for (const { path, message } of await issuesOfSome(input, pause)) issues.add([snakeCase(path)], message);
  throw issues.failure;
}

/** Finds problems of an input that may be incomplete, or completes it. */
type Complete = (input: object) => readonly InputIssue[];

/** The reader throws InvalidInput, which names each field that is missing, unknown, given twice or of a wrong type. */
export function inputReader<Input extends object>(
  type: GraphQLInputObjectType,
  { input: inputClass, rest }: Pick<Operation<Input>, "input" | "rest">,
  complete: Complete = () => [],
): InputReader<Input> {
  const fields = new Map(Object.values(type.getFields()).map((field) => [snakeCase(field.name), field]));
  const belongsInBody = (name: string) => takesBody(rest) && !isMarked(inputClass, name, "selector");
  // A list that is too long is refused unread. In a query string its items may be separated by commas.
  const findTooMany = ({ type: declared, name }: GraphQLInputField, value: unknown, isQuery: boolean) => {
    const items = isQuery && typeof value === "string" ? value.split(",") : value;
    const isList = isListType(getNullableType(declared)) && Array.isArray(items);
    return isList ? itemsProblem(items.length, sizeIn(inputClass, name)) : undefined;
  };
  return ({ path, headers = {}, query, body }, found = []) => {
    const reading = { words: REST_WORDS, issues: new Issues() };
    const { issues } = reading;
    const addAll = (others: readonly InputIssue[]) => others.forEach((one) => issues.add([one.path], one.message));
    addAll(found);
    if (body !== undefined && (typeof body !== "object" || body === null || Array.isArray(body))) {
      throw InvalidInput.at("", "The body must be a JSON object.");
    }
    const raw = new Map<string, unknown>();
    const mistakeIn = (field: GraphQLInputField, value: unknown, isQuery: boolean) => {
      if (raw.has(field.name)) return describeTwice(snakeCase(field.name), path, headers);
      if (isQuery && belongsInBody(field.name)) return "belongs in the body, not in the query";
      return findTooMany(field, value, isQuery) ?? (isQuery ? queryMistake(field.type, value) : undefined);
    };
    const refuseUnknown = (name: string, isQuery: boolean) => {
      const list = isQuery ? fields.get(bracketed(name)) : undefined;
      if (isListType(getNullableType(list?.type)))
        issues.add([name], `is unknown; write a list as ${bracketed(name)}=A,B`);
      else addUnknown(type, [name], reading, Object.keys(path));
    };
    const take = (source: object, read: (type: GraphQLInputType, value: unknown) => unknown) => {
      const isQuery = source === query;
      for (const [name, value] of Object.entries(source)) {
        const field = fields.get(name);
        const mistake = field && mistakeIn(field, value, isQuery);
        if (!field) refuseUnknown(name, isQuery);
        else if (mistake !== undefined) issues.add([name], mistake);
        else raw.set(field.name, read(field.type, value));
      }
    };
    take(path, fromText);
    take(headers, fromText);
    take(query, fromText);
    take(body ?? {}, (_type, value) => value);
    const value = readFields(type, (name) => raw.get(name), [], reading);
    const input = Object.assign(new inputClass(), value);
    addAll(complete(input));
    if (issues.areNone) return input;
    const right = Object.entries(value).filter(([name]) => !issues.hasOf(snakeCase(name)));
    throw new PartlyRead(issues, Object.assign(new inputClass(), Object.fromEntries(right)));
  };
}

function describeTwice(name: string, path: object, headers: object): string {
  if (Object.hasOwn(path, name)) return "is in the path; leave it out here";
  return Object.hasOwn(headers, name) ? "is in a header; leave it out here" : "is given twice";
}

/** The list that `types[]` or `types[0]` stands for: so axios and others write lists, unless they are told not to. */
const bracketed = (name: string): string => /^(\w+)\[\d*\]$/.exec(name)?.[1] ?? "";

/** What goes wrong in query strings alone, which would otherwise be told as a value of a wrong type. */
function queryMistake(type: GraphQLInputType, value: unknown): string | undefined {
  if (Array.isArray(value)) return isListType(getNullableType(type)) ? undefined : "is given twice";
  const isTime = getNamedType(type).name === "DateTimeISO";
  if (isTime && / \d\d:?\d\d$/.test(String(value))) return "must have its + written as %2B, since + means a space here";
  return undefined;
}

/** Converts text of a query string to the declared type. Text that does not fit is returned as it is, to be refused. */
function fromText(type: GraphQLInputType, value: unknown): unknown {
  if (isListType(getNullableType(type))) {
    if (value === "") return [];
    const item = getNamedType(type);
    return [value]
      .flat()
      .flatMap((text) => String(text).split(","))
      .map((text) => fromText(item, text));
  }
  const named = getNamedType(type);
  if (typeof value !== "string") return value;
  if (named === GraphQLInt && /^-?\d+$/.test(value)) return Number(value);
  if (named === GraphQLFloat && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(value)) return Number(value);
  if (named === GraphQLBoolean && /^(?:true|false)$/.test(value)) return value === "true";
  return value;
}
