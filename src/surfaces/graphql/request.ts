import type { ApolloServerPlugin } from "@apollo/server";
import { unwrapResolverError } from "@apollo/server/errors";
import { type FragmentDefinitionNode, type GraphQLSchema, Kind } from "graphql";
import { Failure, Unauthorized } from "../../operation/failure.js";
import { type Fragments, fieldsOf } from "../../operation/selection.js";
import type { Budgets } from "../../platform/rate-limiter.js";
import { failureBehind } from "../http.js";
import { chargeCaller } from "../rate-limit.js";
import type { RequestContext } from "./context.js";
import { codeOf, httpError } from "./errors.js";
import { assertAffordable } from "./limits.js";

/** How many errors one answer tells. */
const ERRORS_MAX = 20;

class NoSubscriptions extends Failure {
  readonly kind = "bad_request";

  constructor() {
    super("Subscriptions are not offered: ask by queries.");
  }
}

/** What a request's plugin needs to know of the service. */
interface Served {
  readonly schema: GraphQLSchema;
  readonly budgets: Budgets;
  /** Whether a root field needs no key. */
  isPublic(name: string): boolean;
}

export const requestPlugin = ({ schema, budgets, isPublic }: Served): ApolloServerPlugin<RequestContext> => ({
  async unexpectedErrorProcessingRequest({ error, requestContext }) {
    requestContext.contextValue.scope.log.error({ err: error });
  },
  async requestDidStart({ request }) {
    // GraphQL over HTTP: an empty name is as good as none.
    if (request.operationName === "") delete request.operationName;
    return {
      async didResolveOperation({ contextValue, operation, document, request, source }) {
        const { scope } = contextValue;
        if (operation?.operation === "subscription") throw httpError(new NoSubscriptions());
        const fields = operation ? fieldsOf(operation.selectionSet, fragmentsOf(document)) : [];
        const names = fields.map(({ name }) => name.value).filter((name) => !name.startsWith("__"));
        scope.operations.push(...names);
        // Refused as a whole and before anything runs, with the status that REST answers.
        if (!scope.caller && !names.every(isPublic)) throw httpError(new Unauthorized());
        const { variables, operationName } = request;
        try {
          await chargeCaller(budgets, scope, fields.length);
          assertAffordable(schema, { document, variables, operationName });
        } catch (error) {
          throw error instanceof Failure ? httpError(error) : error;
        }
        if (scope.idempotencyKey !== undefined) {
          contextValue.request = JSON.stringify([source, operationName, variables]);
        }
      },
      async willSendResponse({ response: { body } }) {
        // One cause may fail a list of a thousand fields; saying it so often helps nobody.
        if (body.kind === "single" && body.singleResult.errors) {
          body.singleResult.errors = body.singleResult.errors.slice(0, ERRORS_MAX);
        }
      },
      async didEncounterErrors({ contextValue: { scope }, errors }) {
        for (const error of errors) {
          const cause = unwrapResolverError(error);
          const failure = failureBehind(cause);
          scope.note(failure, cause, failure?.kind ?? codeOf(error).toLowerCase());
          // Of one field: the other root fields are answered, so the status stays 200.
          if (failure?.retryAfterSeconds !== undefined) {
            scope.setHeader("Retry-After", String(failure.retryAfterSeconds));
          }
          if (!failure && cause !== error) scope.log.error({ err: cause });
        }
      },
    };
  },
});

const fragmentsOf = ({ definitions }: { definitions: readonly { kind: string }[] }): Fragments =>
  Object.fromEntries(definitions.filter(isFragment).map((fragment) => [fragment.name.value, fragment]));

const isFragment = (node: { kind: string }): node is FragmentDefinitionNode => node.kind === Kind.FRAGMENT_DEFINITION;
