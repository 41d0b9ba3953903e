import type { GraphQLResolveInfo } from "graphql";
import { AnswerBudget } from "../../operation/answer-budget.js";
import { type Caller, type Context, type Services, contextOf } from "../../operation/context.js";
import { Gate } from "../../operation/gate.js";
import { selectedFields } from "../../operation/selection.js";
import { LIMITS } from "../../limits.js";
import type { RequestScope } from "../http.js";
import { FieldErrors } from "./field-errors.js";

const { rootsAtOnce } = LIMITS.graphql;

/** What resolvers get: the context of one request. Introspection and public operations need no key, so no caller. */
export interface RequestContext extends Context {
  caller: Caller;
  readonly scope: RequestScope;
  readonly answer: AnswerBudget;
  readonly errors: FieldErrors;
  readonly pause: () => Promise<void>;
  /** Lets a few of the root fields be worked on at a time: each may read a page of megabytes. */
  readonly roots: Gate;
  /** What makes a request with an Idempotency-Key the same: its document, operation and variables. */
  request: string;
}

export function requestContextOf(services: Services, scope: RequestScope): RequestContext {
  const { caller, clientAddress, patience } = scope;
  const context = contextOf(services, { caller, clientAddress, door: "graphql", patience });
  const answer = new AnswerBudget();
  const pause = () => scope.work.turns.goOn(answer);
  return { scope, request: "", ...context, answer, errors: new FieldErrors(), pause, roots: new Gate(rootsAtOnce) };
}

/**
 * Changes of one request follow each other, and each is asked by who the caller is by then: one may have founded the
 * team that the next is about.
 * @throws Unauthorized when one has revoked the key.
 */
export async function readCallerAnew(context: RequestContext, { operation }: GraphQLResolveInfo): Promise<void> {
  const isAlone = operation.selectionSet.selections.every(({ kind }, index) => kind === "Field" && index === 0);
  if (!isAlone && context.scope.readCaller) context.caller = await context.scope.readCaller();
}

/** The context of one root field. Each change of a request has its own result, under its response name. */
export function fieldContextOf(context: RequestContext, info: GraphQLResolveInfo): Context {
  const { idempotencyKey: key } = context.scope;
  const idempotency = key === undefined ? undefined : { key, part: String(info.path.key), request: context.request };
  return { ...context, idempotency, selects: (field) => selectedFields(info).has(field) };
}
