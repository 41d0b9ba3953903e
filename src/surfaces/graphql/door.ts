import type { HTTPGraphQLResponse } from "@apollo/server";
import { type ErrorRequestHandler, type Handler, type Request, type Response, Router } from "express";
import type { GraphQLSchema } from "graphql";
import { RateLimited } from "../../operation/budget.js";
import type { Services } from "../../operation/context.js";
import type { Operation } from "../../operation/operation.js";
import { LIMITS } from "../../limits.js";
import { InvalidInput } from "../../operation/failure.js";
import { Issues } from "../../operation/read-value.js";
import { AnswerTooLarge } from "../../operation/answer-budget.js";
import { onFirstUse } from "../../platform/on-first-use.js";
import { assertBodyIsJson, readBody } from "../body.js";
import { assertJsonFits } from "../json-bounds.js";
import { isObject } from "../json-object.js";
import { claimsJson, isRead, jsonBody } from "../http.js";
import { checkIdempotencyKey, scopeOf } from "../request-scope.js";
import { encode } from "../stringify.js";
import { refuseOtherMethods } from "../plain-errors.js";
import { chargeCaller, chargeKeyless } from "../rate-limit.js";
import { apolloPipeline } from "./apollo.js";
import { requestContextOf } from "./context.js";
import { isKnownSmall } from "./cost.js";
import { Documents } from "./documents.js";
import { assertDocumentFits } from "./document.js";
import { answerPlain, plainRequestOf } from "./plain.js";
import type { AdmissionParts } from "./request.js";

interface DoorParts {
  readonly schema: GraphQLSchema;
  readonly services: Services;
  /** Lets in a request that may take much work. @throws TooManyAtOnce */
  readonly admitNewOrLarge: (response: Response) => Promise<void>;
}

/** GraphQL over HTTP on one path: plain requests past Apollo's pipeline, all others through it. */
export function graphqlDoor(
  operations: readonly Operation[],
  { schema, services, admitNewOrLarge }: DoorParts,
): Router {
  const { budgets } = services;
  const publicNames = new Set(operations.filter(({ permission }) => permission === "public").map(({ name }) => name));
  const parts: AdmissionParts = { schema, budgets, isPublic: (name) => publicNames.has(name) };
  const documents = new Documents();
  const apollo = onFirstUse(() => apolloPipeline(parts, documents));
  const answer: Answer = async (request, response) => {
    const contextOf = () => requestContextOf(services, scopeOf(response));
    const plain = await plainRequestOf(request, documents);
    const isSmall = plain !== undefined && isKnownSmall(plain);
    if (!isSmall) await admitNewOrLarge(response);
    if (plain) return answerPlain(parts, contextOf(), plain);
    const throughApollo = await apollo();
    return throughApollo(request, contextOf);
  };
  const router = Router({ caseSensitive: true, strict: true });
  // Paths below this one are not GraphQL.
  router.use((request, response, next) => {
    if (request.path !== "/") return next("router");
    scopeOf(response).route = "/graphql";
    next();
  });
  router.use(checkBudget(budgets), readBody, checkIdempotencyKey, parseBody);
  router.use(answerBy(answer, budgets), chargeFailed(budgets));
  return router;
}

type Answer = (
  request: Request,
  response: Response,
) => Promise<HTTPGraphQLResponse | Awaited<ReturnType<typeof answerPlain>>>;

/** Sends the answer to the client. */
const answerBy =
  (answerOf: Answer, budgets: Services["budgets"]): Handler =>
  async (request, response) => {
    const answer = await answerOf(request, response);
    await chargeRefused(budgets, response);
    if (answer.body.kind !== "complete")
      throw new Error("Apollo sent an answer in parts, but the schema has no @defer.");
    const text = encode(answer.body.string, scopeOf(response).pause);
    const body = typeof text === "string" ? text : await text;
    const bytes = Buffer.byteLength(body);
    if (bytes > LIMITS.answer.graphqlBytes) throw new AnswerTooLarge();
    for (const [name, value] of answer.headers) response.setHeader(name, value);
    response.statusCode = answer.status ?? 200;
    response.setHeader("Content-Length", bytes);
    response.end(body);
  };

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
    // If its client leaves before its work begins, nothing else charges it.
    response.once("answered", () => {
      if (response.destroyed) chargeRefused(budgets, response).catch(() => {});
    });
    next();
  };

/**
 * A request that was refused before its cost was known costs one, also if it waited in vain for a slot: its body was
 * read. Charged before the answer, whose headers show it.
 */
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

/**
 * Refuses what Apollo would refuse too, with the messages of the other doors. Apollo itself answers 400 to a GET that a
 * page of another origin could send.
 */
const parseBody: Handler = (request, response, next) => {
  const isPost = request.method === "POST";
  if (!isPost && !isRead(request)) return void refuseOthers(request, response, next);
  if (isPost) assertBodyIsJson(request);
  const body: unknown = (claimsJson(request) ? jsonBody(request) : undefined) ?? {};
  request.body = body;
  if (isPost) assertParameters(body);
  const { query: asked } = isPost ? (body as { query?: unknown }) : request.query;
  if (typeof asked === "string") assertDocumentFits(asked);
  for (const name of ["variables", "extensions"]) {
    const text = request.query[name];
    if (typeof text === "string") assertJsonFits(Buffer.from(text));
  }
  next();
};

const refuseOthers = refuseOtherMethods(["GET", "HEAD", "POST"]);

/** @throws InvalidInput naming each parameter of GraphQL over HTTP that is missing or wrong; Apollo would name none. */
function assertParameters(body: unknown): void {
  if (!isObject(body)) throw InvalidInput.at("", "The body must be one JSON object. Batches are not supported.");
  const { query, operationName, variables, extensions } = body;
  const issues = new Issues();
  if (query == null && extensions == null) issues.add(["query"], "is required: the GraphQL document");
  else if (query != null && typeof query !== "string") issues.add(["query"], "must be a string: the GraphQL document");
  if (operationName != null && typeof operationName !== "string") issues.add(["operationName"], "must be a string");
  if (variables != null && !isObject(variables)) issues.add(["variables"], "must be an object");
  if (extensions != null && !isObject(extensions)) issues.add(["extensions"], "must be an object");
  issues.assertNone();
}
