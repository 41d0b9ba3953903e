import {
  type GraphQLEnumType,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputObjectType,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLScalarType,
  type GraphQLType,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  isRequiredInputField,
  isScalarType,
} from "graphql";
import { rulesOf } from "../operation/class-bounds.js";
import { inRestNames, snakeCase } from "../operation/names.js";
import { restNameOf } from "../operation/output.js";
import { relationAt } from "../operation/relation.js";

/** A JSON Schema of draft 2020-12. Keywords that nothing reads have no type of their own. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
  readonly type?: string | readonly string[] | undefined;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly $ref?: string;
}

/** A field of an operation's input, as the doors that speak JSON name it. */
export interface PlainField {
  readonly name: string;
  readonly description: string;
  /** What it may be besides null. */
  readonly schema: JsonSchema;
  readonly required: boolean;
  readonly nullable: boolean;
}

/**
 * The fields of an input, required ones first: made from its type, and from the bounds that check its class. Enums are
 * by reference if there is a place for them.
 */
export function plainFieldsOf(
  type: GraphQLInputObjectType,
  inputClass: object,
  named?: NamedSchemas,
): readonly PlainField[] {
  const bounds = rulesOf(inputClass);
  const fields = Object.values(type.getFields()).map((field) => {
    const own = bounds.filter(({ propertyName }) => propertyName === field.name);
    return plainField(field, own, named);
  });
  return fields.sort((one, other) => Number(other.required) - Number(one.required));
}

/** The schema of a JSON object with these fields and no others. */
export function objectSchema(fields: readonly PlainField[]): JsonSchema {
  const required = fields.filter((field) => field.required).map(({ name }) => name);
  return {
    type: "object",
    properties: Object.fromEntries(
      fields.map(({ name, description, schema, nullable }) => [
        name,
        { ...(nullable ? orNull(schema) : schema), description },
      ]),
    ),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  };
}

interface Bound {
  readonly name?: string | undefined;
  readonly constraints?: readonly unknown[];
}

function plainField(field: GraphQLInputField, bounds: readonly Bound[], named?: NamedSchemas): PlainField {
  const { name, type, defaultValue, extensions } = field;
  const description = "withoutSize" in extensions ? String(extensions["withoutSize"]) : field.description;
  const schema = bounds.reduce(boundedBy, valueSchema(type, { bounds, named }));
  // A bound refuses null as well, unless `Nullable` exempts it.
  const refusesNull = bounds.length > 0 && !bounds.some((bound) => bound.name === "isOptional");
  return {
    name: snakeCase(name),
    description: plainDescription(description, type),
    schema: defaultValue === undefined ? schema : { ...schema, default: defaultValue },
    required: isRequiredInputField(field),
    nullable: !isNonNullType(type) && !refusesNull,
  };
}

/** The keywords for a bound: for the value itself, and for each item if the value is a list. */
type Keywords = (constraints: readonly unknown[]) => { readonly itself?: JsonSchema; readonly each?: JsonSchema };

/** The bounds of `bounds.ts` by name. JSON Schema has no keywords for some of them. */
const KEYWORDS: Readonly<Record<string, Keywords>> = {
  textLength: ([minLength, maxLength]) => ({ itself: { minLength, maxLength } }),
  notBlank: () => ({ itself: { pattern: "\\S" } }),
  notAllBlank: () => ({}),
  encoded: () => ({}),
  form: ([pattern]) => ({ each: { pattern: (pattern as RegExp).source } }),
  between: ([minimum, maximum]) => ({ itself: { minimum: Number(minimum), maximum: Number(maximum) } }),
  setSize: ([minItems, maxItems]) => ({ itself: { minItems, maxItems } }),
  listSize: ([minItems, maxItems, maxLength]) => ({ itself: { minItems, maxItems }, each: { maxLength } }),
  era: () => ({}),
  id: () => ({}),
  memoryId: () => ({}),
  jsonSize: () => ({}),
  asSent: () => ({}),
  notForAgents: () => ({}),
  selector: () => ({}),
  isOptional: () => ({}),
  nested: () => ({}),
};

function boundedBy(schema: JsonSchema, { name = "", constraints = [] }: Bound): JsonSchema {
  const keywords = KEYWORDS[name];
  if (!keywords)
    throw new Error(`The bound "${name}" has no entry in KEYWORDS of src/surfaces/json-schema.ts yet: add it.`);
  const { itself = {}, each = {} } = keywords(constraints);
  if (schema.type !== "array") return { ...schema, ...itself, ...each };
  return { ...schema, ...itself, items: { ...schema.items, ...each } };
}

interface ValueOptions {
  readonly bounds?: readonly Bound[];
  readonly named: NamedSchemas | undefined;
}

/** The schema of an input's value, without null. Enum values are the strings that REST uses. */
function valueSchema(type: GraphQLType, { bounds = [], named }: ValueOptions): JsonSchema {
  const nullable = getNullableType(type);
  if (isListType(nullable)) return { type: "array", items: valueSchema(nullable.ofType, { bounds, named }) };
  if (isInputObjectType(nullable)) {
    const [inputClass] = bounds.find(({ name }) => name === "nested")?.constraints ?? [];
    return objectSchema(plainFieldsOf(nullable, inputClass as object, named));
  }
  if (isEnumType(nullable)) return enumSchema(nullable, named);
  if (isScalarType(nullable)) return scalarSchema(nullable);
  throw new Error(`${String(nullable)} cannot be the type of an input's field.`);
}

/**
 * An enum, by reference if there is a place for it: generators make a type of each that is written out, and the values
 * of one are then no values of another.
 */
function enumSchema(type: GraphQLEnumType, named?: NamedSchemas): JsonSchema {
  const schema = { type: "string", enum: type.getValues().map(({ value }) => value as unknown) };
  if (!named) return schema;
  named[type.name] ??= { ...schema, description: plainDescription(type.description, type) };
  return referenceTo(type);
}

const referenceTo = ({ name }: GraphQLNamedType): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

const SCALARS: Readonly<Record<string, JsonSchema>> = {
  ID: { type: "string" },
  String: { type: "string" },
  Int: { type: "integer" },
  Float: { type: "number" },
  Boolean: { type: "boolean" },
  DateTimeISO: { type: "string", format: "date-time" },
  JSONObject: { type: "object", additionalProperties: true },
};

function scalarSchema({ name }: GraphQLScalarType): JsonSchema {
  const schema = SCALARS[name];
  if (!schema) throw new Error(`The scalar ${name} has no entry in SCALARS yet: add it.`);
  return schema;
}

/** A field's description with REST's names, and with the meaning of each enum value. */
function plainDescription(description: string | null | undefined, type: GraphQLType): string {
  const text = inRestNames(description ?? "");
  const named = getNamedType(type);
  if (!isEnumType(named)) return text;
  const values = named.getValues().map((choice) => `- \`${String(choice.value)}\`: ${choice.description ?? ""}`);
  return [text, "", ...values].join("\n");
}

/** Never an enum that is written out: null would be one of its values then, which generators do not expect. */
const orNull = (schema: JsonSchema): JsonSchema =>
  typeof schema.type === "string" && !schema.enum
    ? { ...schema, type: [schema.type, "null"] }
    : { anyOf: [schema, { type: "null" }] };

/** Schemas by their names, as `$ref` finds them. */
export type NamedSchemas = Record<string, JsonSchema>;

/** Whose answers are described: those of REST, or those for agents, which are of the same form with more fields. */
interface Described {
  /** The types that are written out so far. */
  readonly named: NamedSchemas;
  readonly isForAgents?: boolean;
}

function outputSchema(type: GraphQLOutputType, described: Described): JsonSchema {
  if (!isNonNullType(type)) return orNull(answerSchema(type, described));
  return answerSchema(type.ofType, described);
}

/** Describes a value of an answer, without null; objects and enums by reference, and adds their types to `named`. */
export function answerSchema(type: GraphQLOutputType, described: Described): JsonSchema {
  const { named } = described;
  if (isListType(type)) return { type: "array", items: outputSchema(type.ofType, described) };
  if (!isObjectType(type)) {
    const schema = valueSchema(type, { named });
    return String(type) === "ID" ? { ...schema, format: "uuid" } : schema;
  }
  if (!named[type.name]) {
    // Reserved before its fields are visited: types refer to each other in cycles.
    named[type.name] = {};
    named[type.name] = typeSchema(type, described);
  }
  return referenceTo(type);
}

/**
 * The schema of an object with the fields in `only`, or with all that answers contain. Releases may add fields.
 */
function typeSchema(type: GraphQLObjectType, described: Described, only?: readonly string[]): JsonSchema {
  const followed = followedFields(type);
  const partsOf = ({ extensions }: Field) => extensions["embedded"] as readonly string[] | undefined;
  const fields = Object.values(type.getFields())
    .filter(({ extensions }) => described.isForAgents || !extensions["isForAgents"])
    .filter((field) => (only ? only.includes(field.name) : !followed.has(field.name) || partsOf(field)));
  const fieldSchema = (field: Field): JsonSchema => {
    const parts = partsOf(field);
    const inner = getNullableType(field.type);
    if (parts?.length && isObjectType(inner)) return typeSchema(inner, described, parts);
    // In GraphQL such a field is null when it was not loaded or failed. REST omits it, so its schema has no null.
    const isLeftOut = (parts || followed.has(field.name)) && !field.extensions["mayBeNull"];
    return isLeftOut ? answerSchema(inner, described) : outputSchema(field.type, described);
  };
  return {
    type: "object",
    ...(type.description ? { description: type.description } : {}),
    properties: Object.fromEntries(
      fields.map((field) => [
        restNameOf(field),
        { ...fieldSchema(field), description: plainDescription(field.description, field.type) },
      ]),
    ),
    required: fields.filter((field) => partsOf(field)?.length ?? !followed.has(field.name)).map(restNameOf),
  };
}

type Field = GraphQLField<unknown, unknown>;

/** The fields of a type that are relations. */
export const followedFields = (type: GraphQLObjectType): ReadonlySet<string> =>
  new Set(Object.values(type.getFields()).flatMap((field) => (relationAt(field) ? [field.name] : [])));
