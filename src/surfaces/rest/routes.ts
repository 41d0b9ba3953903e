import { type Handler, type Request, type Response, Router } from "express";
import type { GraphQLSchema } from "graphql";
import type { Services } from "../../operation/context.js";
import { InvalidInput } from "../../operation/failure.js";
import { inputTypeOf } from "../../operation/input.js";
import { type HttpMethod, type Operation, methodsOf } from "../../operation/operation.js";
import { answerJson, jsonBody } from "../http.js";
import { scopeOf } from "../request-scope.js";
import { refuseOtherMethods } from "../plain-errors.js";
import { readRequest } from "./request.js";
import { runnerOf } from "../run.js";

interface RestParts {
  readonly schema: GraphQLSchema;
  readonly services: Services;
  /** Handlers before a public operation, and before every other. */
  readonly open: readonly Handler[];
  readonly guarded: readonly Handler[];
}

/** A path, with some of the methods that it takes. */
interface Route {
  readonly path: string;
  readonly methods: readonly HttpMethod[];
  /** Handlers before every request to the path, and then those of these methods. */
  readonly before: readonly Handler[];
  readonly handlers: readonly Handler[];
}

/** Routes for every operation. */
export const restRoutes = (operations: readonly Operation[], { schema, services, open, guarded }: RestParts): Router =>
  routerOf(
    operations.map((operation) => ({
      path: operation.rest.path,
      methods: methodsOf(operation.rest),
      before: isPublic(operation) ? open : guarded,
      handlers: [...readRequest, handlerOf(operation, schema, services)],
    })),
  );

/** Makes a router that answers 405 to other methods of a known path, and needs no key for OPTIONS. */
export function routerOf(routes: readonly Route[]): Router {
  const router = Router({ caseSensitive: true, strict: true });
  for (const path of [...new Set(routes.map((route) => route.path))].sort(byUse)) {
    const here = routes.filter((route) => route.path === path);
    const methods = new Set<string>(here.flatMap((route) => route.methods));
    const onPath = router.route(path).all(enterRest(path));
    for (const { methods: own, before, handlers } of here) {
      for (const method of own) onPath[method.toLowerCase() as Lowercase<typeof method>](...before, ...handlers);
    }
    if (methods.has("GET")) methods.add("HEAD");
    const refuseOthers = refuseOtherMethods([...methods]);
    onPath.options(refuseOthers).all(...(here[0]?.before ?? []), refuseOthers);
  }
  return router;
}

const enterRest =
  (route: string): Handler =>
  (_request, response, next) => {
    const scope = scopeOf(response);
    scope.door = "rest";
    scope.route = route;
    next();
  };

const isPublic = ({ permission }: Operation): boolean => permission === "public";

/**
 * Express tries one path after the other: first those below `/v1/`, which most requests are for, and
 * `/v1/memories/search` before `/v1/memories/:id`.
 */
const byUse = (one: string, other: string): number => (placeOf(one) < placeOf(other) ? -1 : 1);
const placeOf = (path: string): string => (path.startsWith("/v1/") ? "" : "~") + path.replaceAll(":", "~");

function handlerOf(operation: Operation, schema: GraphQLSchema, services: Services): Handler {
  const { rest, name } = operation;
  const run = runnerOf(operation, schema);
  const takesVersion = inputTypeOf(schema, operation).getFields()["expectedVersion"] !== undefined;
  return async (request, response) => {
    const scope = scopeOf(response);
    scope.operations.push(name);
    if (operation.kind === "mutation") refuseConditions(request, takesVersion);
    const headers = takesVersion ? versionExpected(request.get("if-match")) : {};
    const body = jsonBody(request);
    const plain = await run(services, scope, { path: request.params, headers, query: request.query, body });
    if (rest.status === 204) {
      response.status(204).end();
      return;
    }
    if (rest.location) setLocation(response, services, rest.location.replace(":id", String(plain["id"])));
    if (typeof plain["version"] === "number") response.set("ETag", `"${plain["version"]}"`);
    await answerJson(response, rest.status ?? 200, plain);
  };
}

/** A proxy in front may add the path of the public URL to every path, so `Location` has it, too. */
export function setLocation(response: Response, services: Services, path: string): void {
  response.set("Location", new URL(services.publicUrl() + path).pathname);
}

/** A change that ignored a condition would overwrite or delete what the client did not mean. */
export function refuseConditions(request: Request, takesVersion = false): void {
  for (const name of takesVersion ? ["If-None-Match"] : ["If-Match", "If-None-Match"]) {
    if (request.get(name) !== undefined) throw InvalidInput.at(name, "is not checked here: leave it out");
  }
}

/**
 * `If-Match: "3"` means `expected_version: 3`; `*` accepts any version. A proxy that compresses answers makes their ETags
 * weak, or writes the compression behind them.
 */
function versionExpected(ifMatch: string | undefined): Record<string, string> {
  if (ifMatch === undefined || ifMatch.trim() === "*") return {};
  const [, , version] = /^\s*(?:W\/)?("?)([1-9]\d{0,9})(?:-{1,2}(?:br|deflate|gzip|zstd))?\1\s*$/.exec(ifMatch) ?? [];
  if (version === undefined) throw InvalidInput.at("If-Match", `must be one version, such as "3"`);
  return { expected_version: version };
}
