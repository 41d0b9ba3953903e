import { GraphQLInputObjectType, type GraphQLObjectType } from "graphql";
import { describeRange } from "../../operation/bounds.js";
import type { Range } from "../../operation/class-bounds.js";
import { snakeCase } from "../../operation/names.js";
import { type InputField, rangeOf } from "../../operation/read-value.js";
import type { ToolRoute } from "../../operation/tool.js";
import { type Outputs, WHOLE } from "./outputs.js";
import { type JsonSchema, type NamedSchemas, type PlainField, answerSchema } from "../json-schema.js";

/**
 * Schemas of tools use the part of JSON Schema that every client supports: roots are objects, there are no
 * combinations and no references, and no `type` is a list. So none allows null: what has no value is omitted.
 */

/** The input of a tool: the operation's fields without those that the tool leaves out, with the tool's defaults. */
export function toolInputType(type: GraphQLInputObjectType, { leftOut = [], most = {}, usual = {} }: ToolRoute) {
  const config = type.toConfig();
  const fields = Object.entries(config.fields).filter(([name]) => !leftOut.includes(name));
  const smaller = fields.map(([name, field]) => {
    const limit = usual[name] ?? most[name];
    if (limit === undefined) return [name, field] as const;
    const extensions = { ...field.extensions, range: rangeUpTo(most[name], type.getFields()[name]) };
    return [name, { ...field, extensions, defaultValue: Math.min(Number(field.defaultValue), limit) }] as const;
  });
  return new GraphQLInputObjectType({ ...config, fields: Object.fromEntries(smaller) });
}

/** The numbers that a field takes in a tool with this maximum. */
function rangeUpTo(max: number | undefined, field: InputField | undefined): Range | undefined {
  const range = field && rangeOf(field);
  return range && max !== undefined ? { ...range, max, message: describeRange(range.min, max) } : range;
}

/** The default values of the inputs that a tool leaves out. */
export const leftOutDefaults = (type: GraphQLInputObjectType, { leftOut = [] }: ToolRoute): object =>
  Object.fromEntries(
    Object.values(type.getFields())
      .filter(({ name, defaultValue }) => leftOut.includes(name) && defaultValue !== undefined)
      .map(({ name, defaultValue }) => [name, defaultValue]),
  );

export function inputSchema(fields: readonly PlainField[], { inputs = {}, most = {} }: ToolRoute): JsonSchema {
  const described = new Map(Object.entries(inputs).map(([name, text]) => [snakeCase(name), text]));
  const limits = new Map(Object.entries(most).map(([name, maximum]) => [snakeCase(name), { maximum }]));
  const properties = fields.map(({ name, description, schema }) => [
    name,
    { ...forAgents(schema), ...limits.get(name), description: described.get(name) ?? description },
  ]);
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    ...requiring(fields.filter(({ required }) => required).map(({ name }) => name)),
  };
}

/** Older drafts of JSON Schema allow no empty list. */
const requiring = (names: readonly string[]): JsonSchema => (names.length > 0 ? { required: names } : {});

/**
 * Shortens a schema, since every agent has all schemas in its context. Leaves out patterns, since some clients take
 * only anchored ones, and sizes that hardly any call reaches: refusals explain both.
 */
function forAgents({ items, ...schema }: JsonSchema): JsonSchema {
  const kept = Object.entries(schema).filter(
    ([name, value]) => !LEFT_TO_REFUSALS.has(name) && !(name === "maximum" && Number(value) >= HARDLY_REACHED),
  );
  if (!items) return Object.fromEntries(kept);
  const { maxLength: _longest, ...item } = items;
  return { ...Object.fromEntries(kept), items: forAgents(item) };
}

/** No agent counts as far as such a maximum. */
const HARDLY_REACHED = 1_000;
const LEFT_TO_REFUSALS: ReadonlySet<string> = new Set([
  "pattern",
  "additionalProperties",
  "minLength",
  "minItems",
  "maxItems",
]);

/** The names, as in answers, of the fields that lead to an output such as `steps.context`. */
export const pathOf = (output: string): string[] => output.split(".").map(snakeCase);

/** The input by which an agent asks for a later part of a long output. */
export const partName = (output: string): string => `${pathOf(output).at(-1)}_from`;

export const partField = (output: string): PlainField => ({
  name: partName(output),
  description: "Where to continue a cut text.",
  schema: { type: "integer", minimum: 0 },
  required: false,
  nullable: false,
});

/** The schema of an operation's answer. Descriptions are left out: no agent reads them. */
export function plainAnswerSchema(type: GraphQLObjectType): JsonSchema {
  const named: NamedSchemas = {};
  return plain(answerSchema(type, { named, isForAgents: true }), named);
}

/**
 * The schema of a tool's answer: the given fields, and the two that say what is missing and what to do. It requires
 * none: Gemini CLI also compares refusals with it, and would show agents only that these lack the required fields.
 */
export function outputSchema({ properties }: JsonSchema): JsonSchema {
  const note = { truncated: { type: "boolean" }, hint: { type: "string" } };
  return { type: "object", properties: { ...properties, ...note } };
}

/** Whether an answer of this schema has the field that a path such as `memories.title` names. */
export function hasPath(schema: JsonSchema, path: string): boolean {
  const [name = "", ...rest] = path.split(".");
  const { properties } = schema.items ?? schema;
  const field = properties?.[snakeCase(name)];
  return field !== undefined && (rest.length === 0 || hasPath(field, rest.join(".")));
}

/** Reduces the schema of an answer to the fields that agents get. */
export function pickOutputs(schema: JsonSchema, outputs: Outputs): JsonSchema {
  if (outputs.isWhole) return schema;
  if (schema.items) return { ...schema, items: pickOutputs(schema.items, outputs) };
  const { properties = {}, required = [], ...others } = schema;
  const kept = Object.entries(properties).filter(([name]) => outputs.of(name));
  return {
    ...others,
    properties: Object.fromEntries(kept.map(([name, field]) => [name, pickOutputs(field, outputs.of(name) ?? WHOLE)])),
    ...requiring(required.filter((name) => outputs.of(name))),
  };
}

/**
 * Reduces an answer to the fields of this schema, without null, and without objects that are then empty. A client's own
 * JSON object stays as it is.
 */
export function pick(value: unknown, { items, properties }: JsonSchema): unknown {
  if (Array.isArray(value)) return items ? value.map((item) => pick(item, items)) : value;
  if (!properties || typeof value !== "object" || value === null) return value;
  const source = value as Readonly<Record<string, unknown>>;
  const fields = Object.entries(properties).map(([name, field]) => [name, pick(source[name], field)] as const);
  const left = fields.filter(([, field]) => field !== null && field !== undefined);
  return left.length > 0 ? Object.fromEntries(left) : undefined;
}

/** Removes references, null and descriptions from a schema. A field that may be null is then not required. */
function plain(schema: JsonSchema, named: NamedSchemas): JsonSchema {
  const { $ref, anyOf, items, properties, required = [], type, enum: choices } = schema;
  if ($ref !== undefined) return plain(named[$ref.slice($ref.lastIndexOf("/") + 1)] ?? {}, named);
  if (anyOf) return plain(anyOf[0] ?? {}, named);
  const own = { type: typeof type === "object" ? type[0] : type };
  if (items) return { ...own, items: plain(items, named) };
  if (!properties) return choices ? { ...own, enum: choices.filter((choice) => choice !== null) } : own;
  return {
    ...own,
    properties: Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, plain(field, named)])),
    ...requiring(required.filter((name) => !mayBeNull(properties[name] ?? {}))),
  };
}

const mayBeNull = ({ type, anyOf }: JsonSchema): boolean => Array.isArray(type) || Array.isArray(anyOf);
