import {
  type DocumentNode,
  type ExecutionResult,
  type GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from "graphql";
import { LIMITS } from "../../limits.js";
import { Failure, Unauthorized } from "../../operation/failure.js";
import { fieldsOf, fragmentsOf } from "../../operation/selection.js";
import type { Budgets } from "../../platform/rate-limit/rate-limiter.js";
import { failureBehind } from "../http.js";
import { chargeCaller, chargeKeylessWork } from "../rate-limit.js";
import type { RequestContext } from "./context.js";
import { assertAffordable, introspectionIn } from "./cost.js";
import { causeOf, codeOf, httpError, limitErrors } from "./errors.js";
import { assertFewRepeated, assertVariablesFit } from "./variables.js";

const { introspectionPerRequest } = LIMITS.graphql;

/** The steps before and after a request's execution, the same for both ways: through Apollo's pipeline and past it. */

export class NoSubscriptions extends Failure {
  readonly kind = "bad_request";

  constructor() {
    super("Subscriptions are not supported. Use a query instead.");
  }
}

/** What a request asks for, once its document is parsed and valid. */
export interface ValidRequest {
  readonly document: DocumentNode;
  /** Undefined where the request names none of several, or an unknown one. */
  readonly operation: OperationDefinitionNode | undefined;
  readonly source: string;
  readonly operationName: string | undefined;
  readonly variables: Readonly<Record<string, unknown>> | undefined;
  /** Whether the answer is cached, so that nothing of it is computed. */
  readonly isCached?: boolean;
}

export interface AdmissionParts {
  readonly schema: GraphQLSchema;
  readonly budgets: Budgets;
  /** Whether a root field needs no key. */
  isPublic(name: string): boolean;
}

/**
 * Checks and charges a request before anything of it runs.
 * @throws GraphQLError with the HTTP status of the failure, the same as by REST.
 */
export async function admit(
  { schema, budgets, isPublic }: AdmissionParts,
  context: RequestContext,
  { document, operation, source, operationName, variables, isCached = false }: ValidRequest,
): Promise<void> {
  const { scope } = context;
  if (operation?.operation === "subscription") throw httpError(new NoSubscriptions());
  const { count, names } = operation ? rootsOf(document, operation) : NO_ROOTS;
  scope.operations.push(...names);
  if (!scope.caller && !names.every(isPublic)) throw httpError(new Unauthorized());
  try {
    await chargeCaller(budgets, scope, count);
    if (operation) {
      const parsed = { document, operation, given: variables ?? {} };
      assertFewRepeated(parsed);
      assertVariablesFit(schema, parsed);
      assertAffordable(schema, parsed);
      // Any change of the document makes another answer, which takes as long as some hundred small requests.
      if (!scope.caller && !isCached) {
        const further = Math.floor(introspectionIn(schema, parsed) / introspectionPerRequest);
        await chargeKeylessWork(budgets, scope, further);
      }
    }
  } catch (error) {
    throw error instanceof Failure ? httpError(error) : error;
  }
  if (scope.idempotencyKey !== undefined) context.request = JSON.stringify([source, operationName, variables]);
}

/** How many root fields an operation has, and the names of those that are operations of ours. */
interface Roots {
  readonly count: number;
  readonly names: readonly string[];
}
const NO_ROOTS: Roots = { count: 0, names: [] };

function rootsOf(document: DocumentNode, operation: OperationDefinitionNode): Roots {
  const fields = fieldsOf(operation.selectionSet, { fragments: fragmentsOf(document) });
  const names = fields.map(({ name }) => name.value).filter((name) => !name.startsWith("__"));
  return { count: fields.length, names };
}

/** Logs the errors, and returns those to answer with: each once, and at most `LIMITS.refusal.issues`. */
export function noteErrors({ scope }: RequestContext, errors: readonly GraphQLError[]): readonly GraphQLError[] {
  const different = [...new Set(errors)].slice(0, LIMITS.refusal.issues);
  for (const error of different) {
    const cause = causeOf(error);
    const failure = failureBehind(cause);
    scope.note(failure, cause, failure?.kind ?? codeOf(error).toLowerCase());
    // Only a header: one field failed, but the others are answered, so the status stays 200.
    if (failure?.retryAfterSeconds !== undefined) scope.setHeader("Retry-After", String(failure.retryAfterSeconds));
    if (!failure && cause !== error) scope.noteBug(cause);
  }
  return different;
}

type Result = {
  data?: ExecutionResult["data"];
  errors?: readonly GraphQLFormattedError[] | undefined;
};

/** The last step before the answer becomes text; both are one piece of work. Changes the result in place. */
export async function finishResult({ pause, errors }: RequestContext, result: Result): Promise<void> {
  await pause();
  for (const name of errors.rootsWithoutRoom) if (result.data) result.data[name] = null;
  // One cause may fail a thousand fields of a list; repeating it a thousand times helps nobody.
  if (result.errors) result.errors = result.errors.slice(0, LIMITS.refusal.issues);
  if (result.errors && !result.data) result.errors = limitErrors(result.errors);
}
