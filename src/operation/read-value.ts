import {
  type GraphQLArgument,
  type GraphQLEnumType,
  type GraphQLInputField,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLLeafType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
} from "graphql";
import { LIMITS } from "../limits.js";
import { describeRange } from "./bounds.js";
import { type Range, type Size, UNDECLARED, itemsProblem } from "./class-bounds.js";
import { InvalidInput, type InputIssue } from "./failure.js";
import { snakeCase } from "./names.js";

/** How a door writes the names of fields and enum values. */
export interface Words {
  /** The name of a field of an input. */
  field(name: string): string;
  /** A value of an enum: its name in the schema, and the value behind it. */
  choice(choice: { readonly name: string; readonly value: unknown }): string;
}

/** Names in snake_case; the values of enums are texts in lower case. */
export const REST_WORDS: Words = { field: snakeCase, choice: ({ value }) => String(value) };

/** Names as in the schema. */
export const GRAPHQL_WORDS: Words = { field: (name) => name, choice: ({ name }) => name };

/** Field names and positions in lists, from the outside in. */
export type Path = ReadonlyArray<string | number>;

/** The problems of an input. Reading stops at the maximum that an answer contains. */
export class Issues {
  readonly #found: InputIssue[] = [];
  /** The fields with a problem in them. A field without one may have a name that begins like the path of a problem. */
  readonly #fields = new Set<string>();

  constructor(private readonly max: number = LIMITS.refusal.issues) {}

  /** Whether there is a problem of this field, or of something in it. */
  hasOf(field: string): boolean {
    return this.#fields.has(field);
  }

  get areNone(): boolean {
    return this.#found.length === 0;
  }

  get failure(): InvalidInput {
    return new InvalidInput(this.#found);
  }

  /**
   * Adds a problem, unless there is one of the same place.
   * @throws InvalidInput when there are as many as the maximum.
   */
  add(path: Path, message: string): void {
    const place = path.join(".");
    if (this.#found.some((known) => known.path === place)) return;
    this.#found.push({ path: place, message });
    this.#fields.add(String(path[0] ?? ""));
    if (this.#found.length >= this.max) throw this.failure;
  }

  /** @throws InvalidInput when there are any. */
  assertNone(): void {
    if (!this.areNone) throw this.failure;
  }
}

/** The names for issues, and the list that collects them. */
export interface Reading {
  readonly words: Words;
  readonly issues: Issues;
}

/**
 * Reads a JSON value by its type. Stricter than graphql-js with variables, so that all doors are alike: it refuses one
 * item in place of a list ("a, b" was hardly meant as one tag), and a number in place of an id.
 * @returns the value for operations; meaningless if an issue was added.
 * @throws InvalidInput when there are enough issues.
 */
export function readValue(type: GraphQLInputType, value: unknown, path: Path, reading: Reading): unknown {
  if (isNonNullType(type)) {
    if (value != null) return readValue(type.ofType, value, path, reading);
    return reading.issues.add(path, value === undefined ? "is required" : "must not be null");
  }
  if (value == null) return value;
  if (isListType(type)) {
    if (!Array.isArray(value)) return reading.issues.add(path, "must be a list");
    return value.map((item, index) => readValue(type.ofType, item, [...path, index], reading));
  }
  if (isInputObjectType(type)) {
    if (typeof value !== "object" || Array.isArray(value)) return reading.issues.add(path, "must be an object");
    const given = new Map(Object.entries(value));
    const { field } = reading.words;
    for (const name of given.keys())
      if (!hasField(type, name, reading.words)) addUnknown(type, [...path, name], reading);
    return readFields(type, (name) => given.get(field(name)), path, reading);
  }
  return isEnumType(type) ? readChoice(type, value, path, reading) : readScalar(type, value, path, reading);
}

/** Reads every field of a type. `valueOf` gets the field's name in code. */
export function readFields(
  type: GraphQLInputObjectType,
  valueOf: (name: string) => unknown,
  path: Path,
  reading: Reading,
): Record<string, unknown> {
  const read: Record<string, unknown> = {};
  for (const field of Object.values(type.getFields())) {
    const { name, type: fieldType, defaultValue } = field;
    const given = valueOf(name);
    if (given === undefined && defaultValue !== undefined) read[name] = defaultValue;
    else {
      const place = [...path, reading.words.field(name)];
      const problem = beyondProblem(field, given);
      const value = problem ? reading.issues.add(place, problem) : readValue(fieldType, given, place, reading);
      if (value !== undefined) read[name] = value;
    }
  }
  return read;
}

const hasField = (type: GraphQLInputObjectType, written: string, { field }: Words): boolean =>
  Object.keys(type.getFields()).some((name) => field(name) === written);

/** Says which fields the type has, without those that can only be given elsewhere. */
export function addUnknown(
  type: GraphQLInputObjectType,
  path: Path,
  { words, issues }: Reading,
  elsewhere: readonly string[] = [],
): void {
  const names = Object.keys(type.getFields()).map(words.field);
  const said = describeUnknown(names.filter((name) => !elsewhere.includes(name)));
  issues.add(path, path.at(-1) === "" ? `a field without a name ${said}` : said);
}

/** Says of `count` fields that they are unknown, and which fields there are. */
export function describeUnknown(known: readonly string[], count = 1): string {
  const isOrAre = (number: number) => (number === 1 ? "is" : "are");
  const advice = known.length > 0 ? `known ${isOrAre(known.length)} ${known.join(", ")}` : "remove it";
  return `${isOrAre(count)} unknown; ${advice}`;
}

function readChoice(type: GraphQLEnumType, value: unknown, path: Path, { words, issues }: Reading): unknown {
  const known = type.getValues().find((choice) => words.choice(choice) === value);
  return known ? known.value : issues.add(path, mustBe(type, words));
}

function readScalar(
  type: Exclude<GraphQLLeafType, GraphQLEnumType>,
  value: unknown,
  path: Path,
  reading: Reading,
): unknown {
  if (type.name !== "ID" || typeof value === "string") {
    try {
      return type.parseValue(value);
    } catch {
      // The library's own message repeats the value and contains internal names.
    }
  }
  return reading.issues.add(path, mustBe(type, reading.words, value));
}

/**
 * An argument or a field of an input. Which numbers or lengths it takes is in its extensions `range` and `size`, if its
 * input class declares any.
 */
export type InputField = Pick<GraphQLArgument | GraphQLInputField, "type" | "extensions">;

/** The numbers that a field takes; undefined if its input class declares none. */
export const rangeOf = ({ extensions }: InputField): Range | undefined => extensions["range"] as Range | undefined;

/**
 * The issue for a number that the field's type cannot hold, or for a list so long that its items are not read;
 * undefined for any other value. It names the field's own bounds: with those of the type, a client could choose another
 * number that the field does not take.
 */
export function beyondProblem(field: InputField, value: unknown): string | undefined {
  const type = getNullableType(field.type);
  if (Array.isArray(value)) {
    // The operation refuses shorter lists that are out of bounds, as it does texts: in GraphQL with HTTP status 200.
    const isLong = isListType(type) && value.length > UNDECLARED.items;
    return isLong ? itemsProblem(value.length, field.extensions["size"] as Size | undefined) : undefined;
  }
  if (typeof value !== "number") return undefined;
  return isLeafType(type) && isBeyond(type, value) ? rangeOf(field)?.message : undefined;
}

/** GraphQL's `Int` has 32 bits. JSON may write larger numbers than a computer can hold; they are read as infinite. */
function isBeyond({ name }: GraphQLLeafType, value: number): boolean {
  if (name === "Int") return value < INT_MIN || value > INT_MAX;
  return name === "Float" && !Number.isFinite(value);
}

const [INT_MIN, INT_MAX] = [-(2 ** 31), 2 ** 31 - 1];

/** The issue for a value that is not of the type. */
export function mustBe(type: GraphQLLeafType, words: Words, value?: unknown): string {
  if (isEnumType(type)) return `must be one of ${type.getValues().map(words.choice).join(", ")}`;
  if (typeof value === "number" && isBeyond(type, value))
    return type.name === "Float" ? "must not be beyond 1.7e308" : describeRange(INT_MIN, INT_MAX);
  const message = MUST_BE[type.name];
  if (!message) throw new Error(`There is no message for the scalar ${type.name}: add it to MUST_BE.`);
  return message;
}

const MUST_BE: Readonly<Record<string, string>> = {
  ID: "must be a string",
  String: "must be a string",
  Int: "must be a whole number",
  Float: "must be a number",
  Boolean: "must be true or false",
  JSONObject: "must be a JSON object",
  DateTimeISO: "must be a time with its zone, such as 2026-01-31T12:00:00Z",
};
