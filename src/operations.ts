import "reflect-metadata";
import type { GraphQLSchema } from "graphql";
import { accessOperations } from "./features/access/index.js";
import { accountOperations } from "./features/accounts/index.js";
import { billingOperations } from "./features/billing/index.js";
import { bulkOperations } from "./features/bulk/index.js";
import { memoryOperations, memoryRelations } from "./features/memories/index.js";
import { relationshipOperations, relationshipRelations } from "./features/relationships/index.js";
import { teamOperations, teamRelations } from "./features/teams/index.js";
import { viewOperations, viewRelations } from "./features/views/index.js";
import type { Operation } from "./operation/operation.js";
import type { Relation } from "./operation/relation.js";
import { buildGraphQLSchema } from "./surfaces/graphql/schema.js";

/** All operations of the service. */
export const operations: readonly Operation[] = [
  ...accessOperations,
  ...accountOperations,
  ...memoryOperations,
  ...relationshipOperations,
  ...bulkOperations,
  ...viewOperations,
  ...teamOperations,
  ...billingOperations,
];

/** All relations that GraphQL can follow. */
export const relations: readonly Relation[] = [
  ...memoryRelations,
  ...relationshipRelations,
  ...viewRelations,
  ...teamRelations,
];

/** Built once per process, since building it is slow. */
export const graphqlSchema = (): Promise<GraphQLSchema> => (schema ??= buildGraphQLSchema(operations, relations));
let schema: Promise<GraphQLSchema> | undefined;
