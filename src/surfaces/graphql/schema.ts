import "reflect-metadata";
import {
  GraphQLError,
  type GraphQLFieldResolver,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  isEnumType,
  isIntrospectionType,
  isObjectType,
  locatedError,
  responsePathAsArray,
} from "graphql";
import { Arg, Args, Ctx, Info, Mutation, Query, Resolver, buildSchema } from "type-graphql";
import { execute } from "../../operation/execute.js";
import { type Class, NoInput, type Operation } from "../../operation/operation.js";
import { LIMITS } from "../../limits.js";
import { type RequestContext, fieldContextOf, readCallerAnew } from "./context.js";

type ResolverClass = Class<object>;

export async function buildGraphQLSchema(
  operations: readonly Operation[],
  relations: readonly ResolverClass[],
): Promise<GraphQLSchema> {
  const resolvers = [...operations.map(resolverFor), ...relations];
  // Bounds are checked in `execute`, for every door, so not here.
  const schema = await buildSchema({ resolvers: resolvers as [ResolverClass, ...ResolverClass[]], validate: false });
  Object.assign(schema.getQueryType() ?? {}, { description: "What can be read." });
  Object.assign(schema.getMutationType() ?? {}, { description: "What can be changed; changes follow each other." });
  countAnswers(schema, new Set(relations.flatMap(({ prototype }) => Object.getOwnPropertyNames(prototype))));
  boundEnums(schema);
  return schema;
}

type Resolve = GraphQLFieldResolver<Readonly<Record<string, unknown>>, RequestContext>;

/** Every field of an answer is counted: those that are followed here, plain ones by `resolvePlainField`. */
function countAnswers(schema: GraphQLSchema, followed: ReadonlySet<string>): void {
  const roots = [schema.getQueryType(), schema.getMutationType()];
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || isIntrospectionType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      // TypeGraphQL reads a plain field through three functions; without them graphql-js reads it at once.
      if (!roots.includes(type) && !followed.has(field.name)) delete field.resolve;
      else if (field.resolve) field.resolve = counted(field.resolve as Resolve);
    }
  }
}

const counted =
  (resolve: Resolve): Resolve =>
  (source, args, context, info) => {
    if (context.noRoom) throw context.noRoom;
    const value: unknown = resolve(source, args, context, info);
    if (value instanceof Promise) return value.then((settled: unknown) => count(settled, context, info));
    return count(value, context, info);
  };

/**
 * Thousands of fields may find no room. graphql-js makes an error of its own for each, which costs more than the answer
 * would have, unless what is thrown says already where it happened: so all throw what the first one threw.
 */
function count<Value>(value: Value, context: RequestContext, { fieldNodes, path }: GraphQLResolveInfo): Value {
  if (context.noRoom) throw context.noRoom;
  try {
    context.answer.take(value);
    return value;
  } catch (error) {
    context.noRoom = locatedError(error, fieldNodes, responsePathAsArray(path));
    throw context.noRoom;
  }
}

/** Reads a field that needs no resolver. Lists and texts count; a number is no more than the name before it. */
export const resolvePlainField: Resolve = (source, _args, context, info) => {
  const value = source[info.fieldName];
  return typeof value === "string" || typeof value === "object" ? count(value, context, info) : value;
};

/** A value of an enum is unknown before it is compared with every known one, letter by letter, if it is too long. */
function boundEnums(schema: GraphQLSchema): void {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isEnumType(type)) continue;
    const parseValue = type.parseValue.bind(type);
    type.parseValue = (value) => {
      if (typeof value !== "string" || value.length <= LIMITS.graphql.nameLength) return parseValue(value);
      throw new GraphQLError(`Value does not exist in "${type.name}" enum.`);
    };
  }
}

/**
 * The one unusual function: instead of a resolver class written by hand for each operation, the same class is made of
 * each. Mutations take one `input`, queries take flat arguments.
 */
function resolverFor(operation: Operation): ResolverClass {
  const { name, kind, summary, input, output } = operation;
  const RootField = kind === "query" ? Query : Mutation;
  // GraphQL has no input without fields.
  const Input =
    kind === "query" || input === NoInput
      ? Args(() => input)
      : Arg("input", () => input, { description: "What to do, and to what." });

  @Resolver()
  class OperationResolver {
    // Nullable: where one of several root fields fails, what the others did and answered must still be told.
    @RootField(() => output, { nullable: true, description: summary, complexity: costOfList })
    async [name](
      @Input args: object,
      @Ctx() context: RequestContext,
      @Info() info: GraphQLResolveInfo,
    ): Promise<object> {
      if (kind === "mutation") await readCallerAnew(context, info);
      return execute(operation, fieldContextOf(context, info), args);
    }
  }
  return OperationResolver;
}

/** The largest limit of any list. What is beyond is refused by the list's own bound, which says so. */
const LIMIT_MAX = 1_000;

/** What is asked of each item counts for as many as there may be. */
const costOfList = ({ args, childComplexity }: { args: Record<string, unknown>; childComplexity: number }): number =>
  1 + childComplexity * Math.min(LIMIT_MAX, Math.max(1, typeof args["limit"] === "number" ? args["limit"] : 1));
