import type { Response } from "express";
import { type Context, type Services, contextOf } from "../operation/context.js";
import { execute } from "../operation/execute.js";
import type { Operation } from "../operation/operation.js";
import { scopeOf } from "./request-scope.js";

/** The context of a page's visitor, with a caller if they are signed in, for what the log names so. */
export function contextOfPage(services: Services, response: Response, name: string): Context {
  const { operations, caller, clientAddress, patience, pause } = scopeOf(response);
  operations.push(name);
  return contextOf(services, { caller, clientAddress, door: "page", patience, pause });
}

/** Runs an operation for a page's visitor. */
export const runOnPage = <Input extends object, Output extends object>(
  services: Services,
  response: Response,
  operation: Operation<Input, Output>,
  input: Input,
): Promise<Output> =>
  execute(operation, contextOfPage(services, response, operation.name), Object.assign(new operation.input(), input));
