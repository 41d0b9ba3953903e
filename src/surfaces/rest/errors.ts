import type { Handler } from "express";
import { Failure, InvalidInput } from "../../operation/failure.js";
import { snakeCase } from "../../operation/names.js";
import { BUG_MESSAGE } from "../http.js";

export class MethodNotAllowed extends Failure {
  readonly kind = "method_not_allowed";

  constructor(methods: readonly string[]) {
    super(`This path takes ${methods.join(", ")}.`);
  }
}

class NoSuchPath extends Failure {
  readonly kind = "not_found";

  constructor() {
    super("There is nothing at this path.");
  }
}

export const noSuchPath: Handler = () => {
  throw new NoSuchPath();
};

/** A failure as the interface documents it. */
export function restError(failure: Failure | undefined): object {
  if (!failure) return { error: { code: "internal_error", message: BUG_MESSAGE } };
  const { kind: code, reason, message, details } = failure;
  return { error: { code, message, reason, details } };
}

/** Operations name fields as code does. What was read from the request has REST's names already. */
export function inRestNames(error: unknown): never {
  if (!(error instanceof InvalidInput)) throw error;
  throw new InvalidInput(error.details.map(({ path, message }) => ({ path: snakeCase(path), message })));
}
