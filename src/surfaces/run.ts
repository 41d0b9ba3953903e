import type { GraphQLInputObjectType, GraphQLSchema } from "graphql";
import { type Door, type RequestFacts, type Services, contextOf } from "../operation/context.js";
import { execute } from "../operation/execute.js";
import type { InputIssue } from "../operation/failure.js";
import { type RawInput, inputReader, inputTypeOf, throwWithBounds } from "../operation/input.js";
import type { Operation } from "../operation/operation.js";
import { outputTypeOf, projectionOf } from "../operation/output.js";
import type { RequestScope } from "./request-scope.js";
import { throwInRestNames } from "./plain-errors.js";
import { chargeCaller } from "./rate-limit.js";

/** An answer in REST's names. */
export type Plain = Readonly<Record<string, unknown>>;

/** Runs an operation for a request, from REST's names to REST's names. */
export type Run = (services: Services, scope: RequestScope, raw: RawInput, more?: MoreOfInput) => Promise<Plain>;

interface MoreOfInput {
  /** Problems of the input that the door has found. */
  readonly found?: readonly InputIssue[];
  /** What the client sent, if the input also depends on what is stored. By it, requests with one key are the same. */
  readonly sent?: object;
}

/** How a JSON door differs from REST. */
interface DoorRules extends Pick<RequestFacts, "selects"> {
  readonly door: Door;
  /** The type of the inputs, if the door takes only some of them. */
  readonly inputType?: GraphQLInputObjectType;
  /** Completes an input, of which fields may be missing that could not be read; returns further problems. */
  complete?(input: object): readonly InputIssue[];
}

/** Prepares an operation for a door. The run throws InvalidInput for an input that does not fit, and all failures. */
export function runnerOf(
  operation: Operation,
  schema: GraphQLSchema,
  { door, selects, inputType = inputTypeOf(schema, operation), complete }: DoorRules = { door: "rest" },
): Run {
  const read = inputReader(inputType, operation, complete);
  const project = projectionOf(outputTypeOf(schema, operation));
  return async (services, scope, raw, { found, sent } = {}) => {
    const { caller, clientAddress, patience, pause, admitLarge, readAfter, idempotencyKey: key } = scope;
    let input;
    try {
      input = read(raw, found);
    } catch (error) {
      return throwWithBounds(error, pause);
    }
    // Two requests are the same if operation and input are the same, even if they are written differently.
    const idempotency =
      key === undefined ? undefined : { key, part: "", request: JSON.stringify([operation.name, sent ?? input]) };
    const charge = (requests: number) => chargeCaller(services.budgets, scope, requests);
    const facts = { caller, clientAddress, door, idempotency, patience, pause, admitLarge, charge, selects, readAfter };
    const context = contextOf(services, facts);
    return project(await execute(operation, context, input).catch(throwInRestNames));
  };
}
