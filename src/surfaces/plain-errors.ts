import type { Handler } from "express";
import { Failure, InvalidInput } from "../operation/failure.js";
import { type Routes, inRestNames, routeOf, snakeCase } from "../operation/names.js";
import type { Operation } from "../operation/operation.js";
import { BUG_MESSAGE, isRead } from "./http.js";

export class MethodNotAllowed extends Failure {
  readonly kind = "method_not_allowed";

  constructor(methods: readonly string[]) {
    super(`Use ${methods.join(", ").replace(/, (?=[A-Z]+$)/, " or ")}: this path accepts no other method.`);
  }
}

/** Answers OPTIONS with the methods that the path takes, and refuses all other requests. */
export const refuseOtherMethods =
  (methods: readonly string[]): Handler =>
  (request, response) => {
    response.set("Allow", methods.join(", "));
    if (request.method !== "OPTIONS") throw new MethodNotAllowed(methods);
    response.status(204).end();
  };

export class NoSuchPath extends Failure {
  readonly kind = "not_found";

  constructor() {
    super("This path does not exist. `/docs` lists every path.");
  }
}

export const noSuchPath: Handler = () => {
  throw new NoSuchPath();
};

/** For unknown paths among the pages, which need no key: answers 404 or 405 instead of 401. */
export const noSuchPage: Handler = (request, response, next) => {
  if (isRead(request) || request.baseUrl === "/invitations") throw new NoSuchPath();
  refusePageMethods(request, response, next);
};

const refusePageMethods = refuseOtherMethods(["GET", "HEAD"]);

/** An error as REST answers it. */
export interface RestError {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly reason?: string | undefined;
    readonly details?: unknown;
  };
}

/** A failure in the documented format, with REST's names for fields and, if `routes` are given, for operations. */
export function restError(failure: Failure | undefined, routes?: Routes): RestError {
  if (!failure) return { error: { code: "internal_error", message: BUG_MESSAGE } };
  const { kind: code, reason, message, details } = failure;
  return {
    error: { code, message: inRestNames(message, routes), reason, details: formatDetails(failure, details, routes) },
  };
}

/** For an invalid input, the message for each field; otherwise facts such as `{ memberCount: 3 }`, or a field's path. */
function formatDetails(failure: Failure, details: unknown, routes: Routes | undefined): unknown {
  if (failure instanceof InvalidInput) {
    return failure.details.map(({ path, message }) => ({ path, message: inRestNames(message, routes) }));
  }
  const shown = ([name, value]: [string, unknown]) => [
    snakeCase(name),
    name === "path" ? snakeCase(`${value}`) : value,
  ];
  return details && Object.fromEntries(Object.entries(details).map(shown));
}

/** The method and path of every operation, for messages that say what to do next. */
export const routesOf = (operations: readonly Operation[]): Routes =>
  new Map(operations.map(({ name, rest }) => [name, routeOf(rest)] as const));

/** Throws the error again; the paths of an InvalidInput become snake_case, as REST names fields. */
export function throwInRestNames(error: unknown): never {
  if (!(error instanceof InvalidInput)) throw error;
  throw new InvalidInput(error.details.map(({ path, message }) => ({ path: snakeCase(path), message })));
}
