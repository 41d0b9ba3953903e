import { ApolloServer, type ApolloServerPlugin, HeaderMap, type HTTPGraphQLResponse } from "@apollo/server";
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginInlineTraceDisabled,
  ApolloServerPluginLandingPageDisabled,
  ApolloServerPluginSchemaReportingDisabled,
  ApolloServerPluginUsageReportingDisabled,
} from "@apollo/server/plugin/disabled";
import { InMemoryLRUCache } from "@apollo/utils.keyvaluecache";
import type { Request } from "express";
import type { FormattedExecutionResult, GraphQLError } from "graphql";
import { LIMITS } from "../../limits.js";
import type { RequestContext } from "./context.js";
import type { Documents } from "./documents.js";
import { documentRules } from "./document.js";
import { formatError } from "./errors.js";
import { IntrospectionCache, isIntrospection } from "./introspection.js";
import { explain } from "./literals.js";
import { type AdmissionParts, admit, finishResult, noteErrors } from "./request.js";
import { resolvePlainField } from "./schema.js";
import { stringify } from "../stringify.js";

/** How many persisted queries are cached, and how many characters they may have together. */
const REGISTERED_MAX = 1_000;
const REGISTERED_MAX_LENGTH = 8 * 1_048_576;

/** Answers any request of GraphQL over HTTP, by Apollo Server; validated documents are put into `documents`. */
export async function apolloPipeline(
  parts: AdmissionParts,
  documents: Documents,
): Promise<(request: Request, contextOf: () => RequestContext) => Promise<HTTPGraphQLResponse>> {
  const introspection = new IntrospectionCache();
  // Apollo does not say of which request a result is. An answer without data is small.
  const pauses: Pauses = new WeakMap();
  const pauseOf = ({ data }: FormattedExecutionResult) => (data && pauses.get(data)) ?? (() => Promise.resolve());
  const apollo = new ApolloServer<RequestContext>({
    schema: parts.schema,
    introspection: true,
    includeStacktraceInErrorResponses: false,
    stopOnTerminationSignals: false,
    // urql uses GET by default. A page of another origin cannot send any of these headers without a preflight.
    csrfPrevention: { requestHeaders: ["authorization", "x-apollo-operation-name", "apollo-require-preflight"] },
    parseOptions: { maxTokens: LIMITS.graphql.tokens },
    // Counts selections with fragments expanded, visiting each fragment once. It runs before the rules below.
    maxRecursiveSelections: LIMITS.graphql.selections,
    validationOptions: { maxErrors: LIMITS.refusal.issues },
    executionOptions: { maxCoercionErrors: LIMITS.graphql.coercionErrors },
    fieldResolver: resolvePlainField,
    stringifyResult: (result) => introspection.textOf(result) ?? stringify(result, pauseOf(result)),
    documentStore: documents,
    persistedQueries: { cache: new InMemoryLRUCache({ max: REGISTERED_MAX, maxSize: REGISTERED_MAX_LENGTH }) },
    validationRules: documentRules,
    formatError,
    plugins: [
      ApolloServerPluginLandingPageDisabled(),
      // The plugin would check every field of an answer, though none may be cached; `parseBody` sets the header.
      ApolloServerPluginCacheControlDisabled(),
      // The plugin is for Apollo's federation. Its file would be read at the first request.
      ApolloServerPluginInlineTraceDisabled(),
      // Variables such as APOLLO_KEY would enable these, which report to Apollo: nobody configures that here.
      ApolloServerPluginSchemaReportingDisabled(),
      ApolloServerPluginUsageReportingDisabled(),
      requestPlugin(parts, introspection, pauses),
    ],
  });
  await apollo.start();
  return (request, contextOf) => {
    const headers = new HeaderMap();
    for (const [name, value] of Object.entries(request.headers)) headers.set(name, String(value));
    const { url, body } = request as { url: string; body: unknown };
    const method = request.method === "HEAD" ? "GET" : request.method;
    return apollo.executeHTTPGraphQLRequest({
      httpGraphQLRequest: { method, headers, search: searchOf(url), body },
      context: async () => contextOf(),
    });
  };
}

/** The parameters in a URL. Null counts as left out, as in a body; Apollo refuses it here. */
function searchOf(url: string): string {
  const search = new URLSearchParams(/(?<=\?).*/.exec(url)?.[0]);
  for (const name of ["variables", "extensions"]) search.delete(name, "null");
  return search.toString();
}

/** How to wait for a turn of the event loop, by the data of an answer. */
type Pauses = WeakMap<object, RequestContext["pause"]>;

const requestPlugin = (
  parts: AdmissionParts,
  introspection: IntrospectionCache,
  pauses: Pauses,
): ApolloServerPlugin<RequestContext> => ({
  async unexpectedErrorProcessingRequest({ error, requestContext }) {
    requestContext.contextValue.scope.noteBug(error);
  },
  async requestDidStart({ request }) {
    // GraphQL over HTTP: an empty name means none.
    if (request.operationName === "") delete request.operationName;
    return {
      async validationDidStart({ document }) {
        return async (errors) => {
          // Apollo answers with this list, so it is changed in place.
          const broken = errors as GraphQLError[] | undefined;
          if (broken?.length) broken.splice(0, broken.length, ...explain(parts.schema, document, broken));
        };
      },
      async didResolveOperation(asked) {
        const { contextValue, operation, document, source, request } = asked;
        const { operationName, variables } = request;
        const isCached = isIntrospection(asked) && (await introspection.has(asked));
        await admit(parts, contextValue, { document, operation, source, operationName, variables, isCached });
      },
      async responseForOperation(asked) {
        return isIntrospection(asked) ? introspection.read(asked) : null;
      },
      async willSendResponse(asked) {
        const { body } = asked.response;
        if (body.kind !== "single") return;
        const { singleResult } = body;
        await finishResult(asked.contextValue, singleResult);
        if (singleResult.data) pauses.set(singleResult.data, asked.contextValue.pause);
        if (!singleResult.errors && isIntrospection(asked)) introspection.store(asked, singleResult);
      },
      async didEncounterErrors({ contextValue, errors }) {
        // Shortened in place, before Apollo formats each error: Apollo continues with this list.
        (errors as GraphQLError[]).splice(0, errors.length, ...noteErrors(contextValue, errors));
      },
    };
  },
});
