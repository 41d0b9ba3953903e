import type { ApolloServerPlugin } from "@apollo/server";
import { type FragmentDefinitionNode, type GraphQLError, type GraphQLSchema, Kind } from "graphql";
import { LIMITS } from "../../limits.js";
import { Failure, Unauthorized } from "../../operation/failure.js";
import { type Fragments, fieldsOf } from "../../operation/selection.js";
import type { Budgets } from "../../platform/rate-limiter.js";
import { failureBehind } from "../http.js";
import { chargeCaller } from "../rate-limit.js";
import type { RequestContext } from "./context.js";
import { assertAffordable } from "./cost.js";
import { causeOf, codeOf, httpError, limitErrors } from "./errors.js";
import { type IntrospectionCache, isIntrospection } from "./introspection.js";
import { explain } from "./literals.js";
import { assertVariablesFit } from "./variables.js";

export class NoSubscriptions extends Failure {
  readonly kind = "bad_request";

  constructor() {
    super("Subscriptions are not supported. Use a query instead.");
  }
}

interface PluginParts {
  readonly schema: GraphQLSchema;
  readonly budgets: Budgets;
  readonly introspection: IntrospectionCache;
  /** Whether a root field needs no key. */
  isPublic(name: string): boolean;
}

export const requestPlugin = ({
  schema,
  budgets,
  introspection,
  isPublic,
}: PluginParts): ApolloServerPlugin<RequestContext> => ({
  async unexpectedErrorProcessingRequest({ error, requestContext }) {
    requestContext.contextValue.scope.log.error({ err: error });
  },
  async requestDidStart({ request }) {
    // GraphQL over HTTP: an empty name means none.
    if (request.operationName === "") delete request.operationName;
    return {
      async validationDidStart({ document }) {
        return async (errors) => {
          // Apollo answers with this list, so it is changed in place.
          const broken = errors as GraphQLError[] | undefined;
          if (broken?.length) broken.splice(0, broken.length, ...explain(schema, document, broken));
        };
      },
      async didResolveOperation({ contextValue, operation, document, request, source }) {
        const { scope } = contextValue;
        if (operation?.operation === "subscription") throw httpError(new NoSubscriptions());
        const fields = operation ? fieldsOf(operation.selectionSet, { fragments: fragmentsOf(document) }) : [];
        const names = fields.map(({ name }) => name.value).filter((name) => !name.startsWith("__"));
        scope.operations.push(...names);
        // The whole request is refused before anything runs, with the same status as by REST.
        if (!scope.caller && !names.every(isPublic)) throw httpError(new Unauthorized());
        const { variables: given, operationName } = request;
        try {
          await chargeCaller(budgets, scope, fields.length);
          if (operation) {
            assertVariablesFit(schema, { document, operation, given });
            assertAffordable(schema, { document, operation, given: given ?? {} });
          }
        } catch (error) {
          throw error instanceof Failure ? httpError(error) : error;
        }
        if (scope.idempotencyKey !== undefined) {
          contextValue.request = JSON.stringify([source, operationName, given]);
        }
      },
      async responseForOperation(asked) {
        return isIntrospection(asked) ? introspection.read(asked) : null;
      },
      async willSendResponse(asked) {
        // The rest, up to the answer's text, is one piece of work.
        await asked.contextValue.pause();
        const { body } = asked.response;
        if (body.kind !== "single") return;
        const { singleResult } = body;
        for (const name of asked.contextValue.errors.rootsWithoutRoom)
          if (singleResult.data) singleResult.data[name] = null;
        // One cause may fail a thousand fields of a list; repeating it a thousand times helps nobody.
        if (singleResult.errors) singleResult.errors = singleResult.errors.slice(0, LIMITS.refusal.issues);
        if (singleResult.errors && !singleResult.data) singleResult.errors = limitErrors(singleResult.errors);
        if (!singleResult.errors && isIntrospection(asked)) introspection.store(asked, singleResult);
      },
      async didEncounterErrors({ contextValue: { scope }, errors }) {
        // Shortened in place, before Apollo formats each error: it goes on with this list.
        const different = [...new Set(errors)].slice(0, LIMITS.refusal.issues);
        (errors as GraphQLError[]).splice(0, errors.length, ...different);
        for (const error of errors) {
          const cause = causeOf(error);
          const failure = failureBehind(cause);
          scope.note(failure, cause, failure?.kind ?? codeOf(error).toLowerCase());
          // It is the error of one field; the others are answered, so the status stays 200.
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
