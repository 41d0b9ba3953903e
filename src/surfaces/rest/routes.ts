import { type Handler, type Response, Router } from "express";
import type { GraphQLSchema } from "graphql";
import { type Services, contextOf } from "../../operation/context.js";
import { execute } from "../../operation/execute.js";
import { inputReader, inputTypeOf } from "../../operation/input.js";
import { type Operation, methodsOf } from "../../operation/operation.js";
import { outputTypeOf, projectionOf } from "../../operation/output.js";
import { jsonBody, scopeOf } from "../http.js";
import { MethodNotAllowed, throwInRestNames } from "./errors.js";
import { readRequest } from "./request.js";

interface RestParts {
  readonly schema: GraphQLSchema;
  readonly services: Services;
  /** Handlers before a public operation, and before every other. */
  readonly open: readonly Handler[];
  readonly guarded: readonly Handler[];
}

/** Routes for every operation. A known path with another method is answered 405. */
export function restRoutes(operations: readonly Operation[], { schema, services, open, guarded }: RestParts): Router {
  const router = Router({ caseSensitive: true, strict: true });
  for (const path of [...new Set(operations.map(({ rest }) => rest.path))].sort(staticFirst)) {
    const route = router.route(path);
    const methods = new Set<string>();
    const here = operations.filter(({ rest }) => rest.path === path);
    for (const operation of here) {
      const before = isPublic(operation) ? open : guarded;
      const handlers = [...before, ...readRequest, handlerOf(operation, schema, services)];
      for (const method of methodsOf(operation.rest)) {
        methods.add(method);
        route[method.toLowerCase() as Lowercase<typeof method>](handlers);
      }
    }
    if (methods.has("GET")) methods.add("HEAD");
    route.all(...(here.every(isPublic) ? open : guarded), (_request, response) => {
      response.set("Allow", [...methods].join(", "));
      throw new MethodNotAllowed([...methods]);
    });
  }
  return router;
}

const isPublic = ({ permission }: Operation): boolean => permission === "public";

/** `/v1/memories/search` must be tried before `/v1/memories/:id`. */
const staticFirst = (one: string, other: string): number =>
  one.replaceAll(":", "~") < other.replaceAll(":", "~") ? -1 : 1;

function handlerOf(operation: Operation, schema: GraphQLSchema, services: Services): Handler {
  const { rest, name } = operation;
  const inputType = inputTypeOf(schema, operation);
  const read = inputReader(inputType, operation);
  const project = projectionOf(outputTypeOf(schema, operation));
  const takesVersion = inputType.getFields()["expectedVersion"] !== undefined;
  return async (request, response) => {
    const scope = scopeOf(response);
    scope.operations.push(name);
    const headers = takesVersion ? versionExpected(request.get("if-match")) : {};
    const body = request.method === "GET" ? undefined : jsonBody(request);
    const input = read({ path: { ...request.params, ...headers }, query: request.query, body });
    const { caller, clientAddress, patience, idempotencyKey: key } = scope;
    // Two requests are the same if operation and input are the same, even if they are written differently.
    const idempotency = key === undefined ? undefined : { key, part: "", request: JSON.stringify([name, input]) };
    const context = contextOf(services, { caller, clientAddress, door: "rest", idempotency, patience });
    const output = await execute(operation, context, input).catch(throwInRestNames);
    if (rest.status === 204) {
      response.status(204).end();
      return;
    }
    const plain = project(output);
    if (rest.location) response.set("Location", rest.location.replace(":id", String(plain["id"])));
    if (typeof plain["version"] === "number") response.set("ETag", `"${plain["version"]}"`);
    answerJson(response, rest.status ?? 200, plain);
  };
}

/** Faster than `response.json`, which also handles other kinds of answers. */
function answerJson(response: Response, status: number, plain: object): void {
  const text = JSON.stringify(plain);
  response.statusCode = status;
  response.setHeader("Content-Type", "application/json; charset=utf-8");
  response.setHeader("Content-Length", Buffer.byteLength(text));
  response.end(text);
}

/** `If-Match: "3"` means `expected_version: 3`; `*` accepts any version. */
function versionExpected(ifMatch: string | undefined): Record<string, string> {
  if (ifMatch === undefined || ifMatch.trim() === "*") return {};
  return { expected_version: /^\s*(?:W\/)?"(\d+)"\s*$/.exec(ifMatch)?.[1] ?? ifMatch };
}
