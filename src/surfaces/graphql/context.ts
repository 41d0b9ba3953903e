import type { GraphQLResolveInfo } from "graphql";
import { AnswerBudget } from "../../operation/answer-budget.js";
import { type Caller, type Context, type Services, contextOf } from "../../operation/context.js";
import { Gate } from "../../operation/gate.js";
import { selectedFields } from "../../operation/selection.js";
import { LIMITS } from "../../limits.js";
import type { RequestScope } from "../request-scope.js";
import { chargeCaller } from "../rate-limit.js";
import { FieldErrors } from "./field-errors.js";

const { rootsAtOnce } = LIMITS.graphql;

/** The context that resolvers get. For introspection and public operations there may be no caller. */
export interface RequestContext extends Context {
  caller: Caller;
  readonly scope: RequestScope;
  readonly answer: AnswerBudget;
  readonly errors: FieldErrors;
  /** Waits for a turn of the event loop, which some relations share: a hundred small ones would wait for a hundred. */
  readonly pauseTogether: () => Promise<void>;
  /** Limits how many root fields run at a time: each may read a page of megabytes. */
  readonly roots: Gate;
  /** Identifies the request for an Idempotency-Key: its document, operation and variables. */
  request: string;
}

export function requestContextOf(services: Services, scope: RequestScope): RequestContext {
  const { caller, clientAddress, patience, readAfter, pause, admitLarge } = scope;
  const charge = (requests: number) => chargeCaller(services.budgets, scope, requests);
  const facts = { caller, clientAddress, door: "graphql", patience, charge, readAfter, pause, admitLarge } as const;
  const answer = new AnswerBudget();
  const errors = new FieldErrors();
  const roots = new Gate(rootsAtOnce);
  return { scope, request: "", ...contextOf(services, facts), answer, errors, roots, pauseTogether: shared(pause) };
}

/** How many objects or relations of an answer continue in one turn of the event loop: some milliseconds if all are large. */
export const TOGETHER = 16;

function shared(pause: () => Promise<void>): () => Promise<void> {
  let turn: Promise<void> | undefined;
  let count = 0;
  return () => {
    if (turn === undefined || count % TOGETHER === 0) turn = pause();
    count++;
    return turn;
  };
}

/**
 * Reads the caller again before each change of a request with several: one change may create the team that the next
 * needs.
 * @throws Unauthorized when an earlier change revoked the key.
 */
export async function readCallerAnew(context: RequestContext, { operation }: GraphQLResolveInfo): Promise<void> {
  const isAlone = operation.selectionSet.selections.every(({ kind }, index) => kind === "Field" && index === 0);
  if (!isAlone && context.scope.readCaller) context.caller = await context.scope.readCaller();
}

/** The context of one root field. Each change of a request stores its own idempotent result, by its response name. */
export function fieldContextOf(context: RequestContext, info: GraphQLResolveInfo): Context {
  const { idempotencyKey: key } = context.scope;
  const idempotency = key === undefined ? undefined : { key, part: String(info.path.key), request: context.request };
  return { ...context, idempotency, selects: (field, within) => selectedFields(info, within).has(field) };
}
