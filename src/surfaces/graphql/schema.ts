import "reflect-metadata";
import {
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  isIntrospectionType,
  isObjectType,
} from "graphql";
import { Arg, Args, Ctx, Info, Mutation, Query, Resolver, buildSchema } from "type-graphql";
import { type Context, contextOf } from "../../operation/context.js";
import type { Idempotency } from "../../operation/idempotency.js";
import { execute } from "../../operation/execute.js";
import { NoInput, type Operation } from "../../operation/operation.js";
import { selectedFields } from "../../operation/selection.js";
import type { RequestScope } from "../http.js";

/** What resolvers get: the context of one request, to which each root field adds what is its own. */
export interface GraphQLContext extends Context {
  readonly scope: RequestScope;
  /** What makes a request with an Idempotency-Key the same: its document, operation and variables. */
  request: string;
  /** What the change under this response name is known by; undefined without an Idempotency-Key. */
  idempotencyOf(part: string): Idempotency | undefined;
}

type ResolverClass = new () => object;

/**
 * The one unusual file: instead of a resolver class written by hand for each operation, TypeGraphQL's own decorators
 * are applied here, in a loop, to one method an operation. Mutations take one `input`, queries take flat arguments.
 */
export async function buildGraphQLSchema(
  operations: readonly Operation[],
  relations: readonly ResolverClass[],
): Promise<GraphQLSchema> {
  const resolvers = [...operations.map(resolverFor), ...relations];
  // Bounds are checked in `execute`, for every door, so not here.
  const schema = await buildSchema({ resolvers: resolvers as [ResolverClass, ...ResolverClass[]], validate: false });
  const followed = new Set(relations.flatMap(({ prototype }) => Object.getOwnPropertyNames(prototype)));
  for (const type of Object.values(schema.getTypeMap())) {
    const isOurs = isObjectType(type) && !isIntrospectionType(type);
    if (isOurs && type !== schema.getQueryType() && type !== schema.getMutationType()) leavePlainFields(type, followed);
  }
  return schema;
}

/** TypeGraphQL reads a plain field through three functions; without them graphql-js reads it at once. */
function leavePlainFields(type: GraphQLObjectType, followed: ReadonlySet<string>): void {
  for (const field of Object.values(type.getFields())) if (!followed.has(field.name)) delete field.resolve;
}

function resolverFor(operation: Operation): ResolverClass {
  const { name, kind, summary, input, output, permission } = operation;
  class OperationResolver {}
  const method = (...[args, context, info]: [object, GraphQLContext, GraphQLResolveInfo]) => {
    const selects = (field: string) => selectedFields(info).has(field);
    const { scope, clientAddress, door } = context;
    const part = kind === "mutation" && permission !== "public" ? String(info.path.key) : undefined;
    const idempotency = part === undefined ? undefined : context.idempotencyOf(part);
    const facts = { caller: scope.caller, clientAddress, door, idempotency, selects };
    return execute(operation, contextOf(context, facts), args);
  };
  Object.defineProperty(OperationResolver.prototype, name, { value: method, configurable: true, writable: true });

  const prototype = OperationResolver.prototype;
  const decorateField = kind === "query" ? Query : Mutation;
  // GraphQL has no input without fields.
  const decorateInput =
    kind === "query" || input === NoInput
      ? Args(() => input)
      : Arg("input", () => input, { description: "What to do, and to what." });
  decorateInput(prototype, name, 0);
  Ctx()(prototype, name, 1);
  Info()(prototype, name, 2);
  // Nullable: where one of several root fields fails, what the others did and answered must still be told.
  decorateField(() => output, { nullable: true, description: summary, complexity: costOfList })(prototype, name, {
    value: method,
  });
  Resolver()(OperationResolver);
  return OperationResolver;
}

/** What is asked of each item counts for as many as there may be. */
const costOfList = ({ args, childComplexity }: { args: Record<string, unknown>; childComplexity: number }): number =>
  1 + childComplexity * (typeof args["limit"] === "number" ? args["limit"] : 1);
