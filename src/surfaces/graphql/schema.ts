import "reflect-metadata";
import { type GraphQLResolveInfo, type GraphQLSchema, isIntrospectionType, isObjectType } from "graphql";
import { Arg, Args, Ctx, Info, Mutation, Query, Resolver, buildSchema } from "type-graphql";
import { execute } from "../../operation/execute.js";
import { type Class, NoInput, type Operation } from "../../operation/operation.js";
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
  leavePlainFields(schema, new Set(relations.flatMap(({ prototype }) => Object.getOwnPropertyNames(prototype))));
  return schema;
}

/** TypeGraphQL reads a plain field through three functions; without them graphql-js reads it at once. */
function leavePlainFields(schema: GraphQLSchema, followed: ReadonlySet<string>): void {
  const roots = [schema.getQueryType(), schema.getMutationType()];
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || isIntrospectionType(type) || roots.includes(type)) continue;
    for (const field of Object.values(type.getFields())) if (!followed.has(field.name)) delete field.resolve;
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

/** What is asked of each item counts for as many as there may be. */
const costOfList = ({ args, childComplexity }: { args: Record<string, unknown>; childComplexity: number }): number =>
  1 + childComplexity * (typeof args["limit"] === "number" ? args["limit"] : 1);
