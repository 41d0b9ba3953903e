import "reflect-metadata";
import {
  type GraphQLArgument,
  type GraphQLFieldResolver,
  type GraphQLInputField,
  type GraphQLNamedType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getNamedType,
  isInputObjectType,
  isIntrospectionType,
  isObjectType,
} from "graphql";
import { Arg, Args, Ctx, Extensions, FieldResolver, Info, Mutation, Query, Resolver, buildSchema } from "type-graphql";
import { boundsOf } from "../../operation/class-bounds.js";
import { execute } from "../../operation/execute.js";
import { inputTypeOf } from "../../operation/input.js";
import { type Class, NoInput, type Operation, describeOperation } from "../../operation/operation.js";
import { jsonUnits, paceBy } from "../../operation/pieces.js";
import { type Relation, followRelation, isNullable, relationAt, toRelationError } from "../../operation/relation.js";
import { selectedFields } from "../../operation/selection.js";
import { GRAPHQL_RULES } from "../graphql-rules.js";
import { readSchemaInPieces } from "./introspection.js";
import { type RequestContext, TOGETHER, fieldContextOf, readCallerAnew } from "./context.js";

type ResolverClass = Class<object>;

export async function buildGraphQLSchema(
  operations: readonly Operation[],
  relations: readonly Relation[],
): Promise<GraphQLSchema> {
  const resolvers = [...operations.map(resolverFor), ...relations.map(relationResolverFor)];
  const schema = await buildSchema({
    resolvers: resolvers as [ResolverClass, ...ResolverClass[]],
    // `execute` checks bounds for every door, so TypeGraphQL need not.
    validate: false,
    // A test checks the schema. TypeGraphQL would introspect it at each start, for a twentieth of the start's CPU.
    skipCheck: true,
  });
  Object.assign(schema.getQueryType() ?? {}, { description: "What can be read." });
  Object.assign(schema.getMutationType() ?? {}, {
    description: "What can be changed. The changes of one request run one after the other.",
  });
  schema.description = ["Rules for requests:", ...GRAPHQL_RULES.map((rule) => `- ${rule}`)].join("\n");
  describeScalars(schema);
  for (const operation of operations) noteBounds(inputsOf(schema, operation), operation.input);
  countAnswers(schema);
  readSchemaInPieces();
  return schema;
}

const JSON_OBJECT = "JSONObject";

/** For code generators: what each scalar means, and where it is specified. */
function describeScalars(schema: GraphQLSchema): void {
  Object.assign(schema.getType(JSON_OBJECT) ?? {}, {
    description: "A JSON object with whatever fields.",
    specifiedByURL: "https://www.rfc-editor.org/rfc/rfc8259#section-4",
  });
  Object.assign(schema.getType("DateTimeISO") ?? {}, {
    description: "A moment in UTC, such as 2026-03-02T09:14:31.204Z.",
    specifiedByURL: "https://www.rfc-editor.org/rfc/rfc3339#section-5.6",
  });
}

type InputField = GraphQLArgument | GraphQLInputField;

const inputsOf = (schema: GraphQLSchema, operation: Operation): readonly InputField[] =>
  operation.kind === "query"
    ? (schema.getQueryType()?.getFields()[operation.name]?.args ?? [])
    : Object.values(inputTypeOf(schema, operation).getFields());

/**
 * GraphQL has no keywords for bounds. So descriptions say the sizes, and extensions have the numbers and the
 * lengths that a field takes. JSON Schemas have keywords: see `plainField`.
 */
function noteBounds(fields: readonly InputField[], inputClass: object): void {
  const { sizeWords, sizes, ranges, nested } = boundsOf(inputClass as Class<object>);
  for (const field of fields) {
    const { name, type, description } = field;
    if (ranges.has(name)) field.extensions = { ...field.extensions, range: ranges.get(name) };
    if (sizes.has(name)) field.extensions = { ...field.extensions, size: sizes.get(name) };
    const [itemType, itemClass] = [getNamedType(type), nested.get(name)];
    if (itemClass && isInputObjectType(itemType)) noteBounds(Object.values(itemType.getFields()), itemClass);
    const said = sizeWords.get(name);
    // Several operations may have one input type.
    if (said === undefined || "withoutSize" in field.extensions) continue;
    field.extensions = { ...field.extensions, withoutSize: description };
    field.description = `${description ?? ""} ${said[0]?.toUpperCase() ?? ""}${said.slice(1)}.`;
  }
}

type Resolve = GraphQLFieldResolver<Readonly<Record<string, unknown>>, RequestContext>;

/** Counts every field of an answer: root fields and relations here, plain ones in `resolvePlainField`. */
function countAnswers(schema: GraphQLSchema): void {
  const roots = [schema.getQueryType(), schema.getMutationType()];
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || isIntrospectionType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      const relation = relationAt(field);
      if (relation) field.resolve = countField(follow(relation), relation);
      // TypeGraphQL reads a plain field through three functions; without them graphql-js reads it directly.
      else if (!roots.includes(type)) delete field.resolve;
      else if (field.resolve) field.resolve = countField(field.resolve as Resolve, undefined);
    }
  }
}

const follow =
  (relation: Relation): Resolve =>
  (source, _args, context, info) =>
    followRelation(relation, context, source, (within) => selectedFields(info, within));

const countField =
  (resolve: Resolve, relation: Relation | undefined): Resolve =>
  (source, args, context, info) => {
    try {
      if (context.errors.noRoom) throw context.errors.noRoom;
      const value: unknown = resolve(source, args, context, info);
      return value instanceof Promise ? countSettled(value, relation, context, info) : count(value, context);
    } catch (error) {
      throw context.errors.locate(relation ? toRelationError(relation, error) : error, info);
    }
  };

/**
 * Pauses before the rest of a field's work: when a batch settles, or fails, thousands of fields continue in the same
 * moment.
 */
async function countSettled(
  value: Promise<unknown>,
  relation: Relation | undefined,
  context: RequestContext,
  info: GraphQLResolveInfo,
) {
  try {
    let settled: unknown;
    try {
      settled = await value;
    } finally {
      await (relation ? context.pauseTogether() : context.pause());
    }
    return count(settled, context);
  } catch (error) {
    throw context.errors.locate(relation ? toRelationError(relation, error) : error, info);
  }
}

/** @throws AnswerTooLarge when there is no room, or the error of an earlier field for which there was none. */
function count(value: unknown, context: Counting): unknown {
  if (context.errors.noRoom) throw context.errors.noRoom;
  context.answer.take(value);
  return isListOfObjects(value) ? inTurns(value, context) : value;
}

type Counting = Pick<RequestContext, "answer" | "errors" | "pause">;

const isListOfObjects = (value: unknown): value is readonly object[] =>
  Array.isArray(value) && typeof value[0] === "object";

/**
 * Lets the objects of a long list wait for their turn of the event loop, some at a time.
 *
 * Ends a list where the answer is full: the whole root field is null then. If a further item failed, too, graphql-js
 * would forget the promises of the items before it, and one that is rejected later would end the process.
 */
function* inTurns(list: readonly object[], { errors, pause }: Counting): Iterable<object> {
  let turn: Promise<void> | undefined;
  let count = 0;
  for (const item of list) {
    if (errors.noRoom) return;
    if (count > 0 && count % TOGETHER === 0) turn = pause();
    count++;
    yield turn ? turn.then(() => item) : item;
  }
}

/** Reads a field that needs no resolver. */
export const resolvePlainField: Resolve = (source, _args, context, info) => {
  const locate = (error: unknown): never => {
    throw context.errors.locate(error, info);
  };
  try {
    const value = countPlain(source[info.fieldName], getNamedType(info.returnType), context);
    return value instanceof Promise ? value.catch(locate) : value;
  } catch (error) {
    return locate(error);
  }
};

/**
 * Counts the value of a field that needs no resolver, and returns it. Only lists, objects and strings count: a number
 * is no larger than its name. Objects in place of scalars are JSON, which counts as its text.
 * @throws what `count` throws.
 */
export function countPlain(value: unknown, type: GraphQLNamedType | undefined, context: Counting): unknown {
  if ((typeof value !== "string" && typeof value !== "object") || value === null) return value;
  const counted = count(value, context);
  if (type?.name !== JSON_OBJECT) return counted;
  if (Array.isArray(value)) return countJson(value, context);
  context.answer.takeBytes(jsonUnits(value));
  return value;
}

/** Counts the texts of a list of JSON, such as a page of an export, in pieces. @throws AnswerTooLarge */
async function countJson<Value>(values: readonly Value[], { answer, pause }: Counting): Promise<readonly Value[]> {
  const pace = paceBy(pause);
  for (const value of values) {
    const units = jsonUnits(value);
    answer.takeBytes(units);
    await pace(units);
  }
  return values;
}

/**
 * The one unusual function: it generates the resolver class for each operation, instead of one written by hand.
 * Mutations take one `input`, queries take flat arguments.
 */
function resolverFor(operation: Operation): ResolverClass {
  const { name, kind, input, output } = operation;
  const RootField = kind === "query" ? Query : Mutation;
  // GraphQL does not allow an input type without fields.
  const Input =
    kind === "query" || input === NoInput
      ? Args(() => input)
      : Arg("input", () => input, { description: "What to do, and to what." });

  @Resolver()
  class OperationResolver {
    // Nullable: if one of several root fields fails, the results of the others must still be returned.
    @RootField(() => output, { nullable: true, description: describeOperation(operation), complexity: costOfList })
    async [name](
      @Input args: object,
      @Ctx() context: RequestContext,
      @Info() info: GraphQLResolveInfo,
    ): Promise<object> {
      if (kind === "mutation") await readCallerAnew(context, info);
      await context.roots.enter();
      try {
        if (context.errors.noRoom) throw context.errors.noRoom;
        return await execute(operation, fieldContextOf(context, info), args);
      } finally {
        context.roots.leave();
      }
    }
  }
  return OperationResolver;
}

/**
 * Generates the resolver class that declares a relation. `countAnswers` replaces its method, for which TypeGraphQL
 * would copy each object that has the field.
 */
function relationResolverFor(relation: Relation): ResolverClass {
  const { of, name, to, description, items } = relation;
  const options = {
    nullable: isNullable(relation),
    ...(description === undefined ? {} : { description }),
    ...(items === undefined ? {} : { complexity: costOfItems(items) }),
  };

  @Resolver(() => of)
  class RelationResolver {
    @Extensions({ relation })
    @(to ? FieldResolver(to, options) : FieldResolver(options))
    [name](): void {}
  }
  return RelationResolver;
}

/** The largest limit of any list. A larger one is refused later, by the list's own bound. */
const LIMIT_MAX = 1_000;

const costOfItems =
  (items: number) =>
  ({ childComplexity }: { childComplexity: number }): number =>
    1 + items * childComplexity;

/** The cost of one item times the `limit` of the list. */
const costOfList = ({ args, childComplexity }: { args: Record<string, unknown>; childComplexity: number }): number =>
  1 + childComplexity * Math.min(LIMIT_MAX, Math.max(1, typeof args["limit"] === "number" ? args["limit"] : 1));
