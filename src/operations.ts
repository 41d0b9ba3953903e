import "reflect-metadata";
import type { GraphQLSchema } from "graphql";
import { accessOperations } from "./features/access/index.js";
import { accountOperations } from "./features/accounts/index.js";
import { billingOperations } from "./features/billing/index.js";
import { memoryOperations, memoryRelations } from "./features/memories/index.js";
import { relationshipOperations, relationshipRelations } from "./features/relationships/index.js";
import { teamOperations, teamRelations } from "./features/teams/index.js";
import type { Operation } from "./operation/operation.js";
import type { Relation } from "./operation/relation.js";
import { buildGraphQLSchema } from "./surfaces/graphql/schema.js";

/** Everything the service can do. */
export const operations: readonly Operation[] = [
  ...accessOperations,
  ...accountOperations,
  ...memoryOperations,
  ...relationshipOperations,
  ...teamOperations,
  ...billingOperations,
];

/** Everything that GraphQL leads on to. */
export const relations: readonly Relation[] = [...memoryRelations, ...relationshipRelations, ...teamRelations];

/** The schema is the same for every app of a process, and building it takes a while. */
export const graphqlSchema = (): Promise<GraphQLSchema> => (schema ??= buildGraphQLSchema(operations, relations));
let schema: Promise<GraphQLSchema> | undefined;
