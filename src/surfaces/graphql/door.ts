import { ApolloServer, HeaderMap } from "@apollo/server";
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginLandingPageDisabled,
} from "@apollo/server/plugin/disabled";
import { InMemoryLRUCache } from "@apollo/utils.keyvaluecache";
import { type ErrorRequestHandler, type Handler, type Response, Router } from "express";
import type { DocumentNode, GraphQLSchema } from "graphql";
import { RateLimited } from "../../operation/budget.js";
import type { Services } from "../../operation/context.js";
import type { Operation } from "../../operation/operation.js";
import { LIMITS } from "../../limits.js";
import { InvalidInput } from "../../operation/failure.js";
import { Issues } from "../../operation/read-value.js";
import { AnswerTooLarge } from "../../operation/answer-budget.js";
import { readBody } from "../body.js";
import { assertJsonFits } from "../json-bounds.js";
import { checkIdempotencyKey, claimsJson, jsonBody, scopeOf } from "../http.js";
import { chargeCaller, chargeKeyless } from "../rate-limit.js";
import { type RequestContext, requestContextOf } from "./context.js";
import { formatError } from "./errors.js";
import { COSTS_MAX_BYTES } from "./cost.js";
import { assertDocumentFits, documentRules } from "./document.js";
import { IntrospectionCache } from "./introspection.js";
import { requestPlugin } from "./request.js";
import { resolvePlainField } from "./schema.js";

/** How many validated documents, and how many persisted queries, are cached; the least recently used are evicted. */
const REMEMBERED_MAX = 1_000;
/** How much memory all validated documents may take, and how much one of them. */
const DOCUMENTS_MAX_BYTES = 64 * 1_048_576;
const DOCUMENT_MAX_BYTES = 1_048_576;
/** How many characters all persisted queries may have together. */
const REGISTERED_MAX_LENGTH = 8 * 1_048_576;

/** GraphQL over HTTP on one path, by Apollo Server. */
export async function graphqlDoor(
  operations: readonly Operation[],
  schema: GraphQLSchema,
  services: Services,
): Promise<Router> {
  const { budgets } = services;
  const open = new Set(operations.filter(({ permission }) => permission === "public").map(({ name }) => name));
  const isPublic = (name: string) => open.has(name);
  const introspection = new IntrospectionCache();
  const apollo = new ApolloServer<RequestContext>({
    schema,
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
    stringifyResult: (result) => introspection.stringify(result),
    documentStore: new InMemoryLRUCache<DocumentNode>({
      max: REMEMBERED_MAX,
      maxSize: DOCUMENTS_MAX_BYTES,
      maxEntrySize: DOCUMENT_MAX_BYTES,
      sizeCalculation: memoryOf,
    }),
    persistedQueries: { cache: new InMemoryLRUCache({ max: REMEMBERED_MAX, maxSize: REGISTERED_MAX_LENGTH }) },
    validationRules: documentRules,
    formatError,
    plugins: [
      ApolloServerPluginLandingPageDisabled(),
      // The plugin would check every field of an answer, though none may be cached; `parseBody` sets the header.
      ApolloServerPluginCacheControlDisabled(),
      requestPlugin({ schema, budgets, introspection, isPublic }),
    ],
  });
  await apollo.start();
  const router = Router({ caseSensitive: true, strict: true });
  // Paths below this one are not GraphQL.
  router.use((request, _response, next) => next(request.path === "/" ? undefined : "router"));
  router.use(checkBudget(budgets), readBody, checkIdempotencyKey, parseBody);
  router.use(answerBy(apollo, services, budgets), chargeFailed(budgets));
  return router;
}

/** Passes the request to Apollo, and its answer to the client. */
const answerBy =
  (apollo: ApolloServer<RequestContext>, services: Services, budgets: Services["budgets"]): Handler =>
  async (request, response) => {
    const headers = new HeaderMap();
    for (const [name, value] of Object.entries(request.headers)) headers.set(name, String(value));
    const { url, method, body: asked } = request as { url: string; method: string; body: unknown };
    const queryAt = url.indexOf("?");
    const answer = await apollo.executeHTTPGraphQLRequest({
      httpGraphQLRequest: { method, headers, search: queryAt < 0 ? "" : url.slice(queryAt), body: asked },
      context: async () => requestContextOf(services, scopeOf(response)),
    });
    await chargeRefused(budgets, response);
    // The schema has no @defer, so an answer is never in parts.
    if (answer.body.kind !== "complete")
      throw new Error("Apollo sent an answer in parts, but the schema has no @defer.");
    const bytes = Buffer.byteLength(answer.body.string);
    if (bytes > LIMITS.answer.graphqlBytes) throw new AnswerTooLarge();
    for (const [name, value] of answer.headers) response.setHeader(name, value);
    response.statusCode = answer.status ?? 200;
    response.setHeader("Content-Length", bytes);
    response.end(answer.body.string);
  };

/**
 * Estimates how many bytes of memory a validated document takes. Measured: three times its JSON for the nodes, and 50 a
 * character for the source and its tokens. Comments count too: their tokens are kept, though not in the JSON.
 */
const memoryOf = (document: DocumentNode): number =>
  3 * InMemoryLRUCache.sizeCalculation(document) + 50 * (document.loc?.source.body.length ?? 0) + COSTS_MAX_BYTES;

/**
 * Checks that the caller has budget left. The cost of a request is known only after validation, and charged then. A
 * request without a key is charged to its address.
 */
const checkBudget =
  (budgets: Services["budgets"]): Handler =>
  async (_request, response, next) => {
    const scope = scopeOf(response);
    if (scope.caller) await chargeCaller(budgets, scope, 0);
    else await chargeKeyless(budgets, scope);
    next();
  };

/** A request that was refused before its cost was known costs one. Charged before the answer, whose headers show it. */
const chargeRefused = async (budgets: Services["budgets"], response: Response): Promise<void> => {
  const scope = scopeOf(response);
  if (!scope.charged) await chargeCaller(budgets, scope, 1);
};

const chargeFailed =
  (budgets: Services["budgets"]): ErrorRequestHandler =>
  async (error: unknown, _request, response, _next) => {
    if (!(error instanceof RateLimited)) await chargeRefused(budgets, response);
    throw error;
  };

/** Apollo itself answers 400 to a body that is not JSON, and to requests that a page of another origin could send. */
const parseBody: Handler = (request, response, next) => {
  const body: unknown = (claimsJson(request) ? jsonBody(request) : undefined) ?? {};
  request.body = body;
  if (request.method === "POST" && claimsJson(request)) assertParameters(body);
  const { query: asked } = request.method === "GET" ? request.query : (body as { query?: unknown });
  if (typeof asked === "string") assertDocumentFits(asked);
  for (const name of ["variables", "extensions"]) {
    const text = request.query[name];
    if (typeof text === "string") assertJsonFits(Buffer.from(text));
  }
  response.set("Cache-Control", "no-store");
  next();
};

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** @throws InvalidInput naming each parameter of GraphQL over HTTP that is missing or wrong; Apollo would name none. */
function assertParameters(body: unknown): void {
  if (!isObject(body)) {
    throw new InvalidInput([{ path: "", message: "The body must be one JSON object. Batches are not supported." }]);
  }
  const { query, operationName, variables, extensions } = body as Readonly<Record<string, unknown>>;
  const issues = new Issues();
  if (query == null && extensions == null) issues.add(["query"], "is required: the GraphQL document");
  else if (query != null && typeof query !== "string") issues.add(["query"], "must be a string: the GraphQL document");
  if (operationName != null && typeof operationName !== "string") issues.add(["operationName"], "must be a string");
  if (variables != null && !isObject(variables)) issues.add(["variables"], "must be an object");
  if (extensions != null && !isObject(extensions)) issues.add(["extensions"], "must be an object");
  issues.assertNone();
}
