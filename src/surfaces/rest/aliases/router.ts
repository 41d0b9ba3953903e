import type { Handler, Request, Response, Router } from "express";
import type { GraphQLSchema } from "graphql";
import type { Services } from "../../../operation/context.js";
import { type Failure, InvalidInput } from "../../../operation/failure.js";
import type { Operation } from "../../../operation/operation.js";
import { answerJson, jsonBody } from "../../http.js";
import { isObject } from "../../json-object.js";
import type { RestError } from "../../plain-errors.js";
import { scopeOf } from "../../request-scope.js";
import { refuseConditions, routerOf, setLocation } from "../routes.js";
import { readRequest } from "../request.js";
import { runnerOf } from "../../run.js";
import type { AliasRequest, RunNamed } from "./alias.js";
import { shownOf } from "./calls.js";
import { backendAliases } from "./backend-aliases.js";
import { sdkAliases } from "./sdk-aliases.js";

const aliases = [...sdkAliases, ...backendAliases];

interface AliasParts {
  readonly schema: GraphQLSchema;
  readonly services: Services;
  /** Handlers before every operation. */
  readonly guarded: readonly Handler[];
}

/** Routes for clients that were written for another service: only their base URL has to change. */
export function aliasRoutes(operations: readonly Operation[], parts: AliasParts): Router {
  const { schema, services, guarded } = parts;
  const runners = new Map(
    operations.map((operation) => [
      operation.name,
      runnerOf(operation, schema, { door: "rest", selects: shownOf(operation.name) }),
    ]),
  );
  const before = [takeKeyHeader, ...guarded];
  const routes = aliases.map((alias) => {
    const { path, method, standsFor, answer } = alias;
    const own = new Map(standsFor.map((name) => [name, runners.get(name)]));
    const isChange = operations.some(({ name, kind }) => kind === "mutation" && own.has(name));
    const handle: Handler = async (request, response) => {
      const scope = scopeOf(response);
      if (isChange) refuseConditions(request);
      const asked = readAliasRequest(request, scope);
      const sent = { id: asked.id, body: asked.body };
      const run: RunNamed = (name, input) => {
        const known = own.get(name);
        if (!known) throw new Error(`${method} ${path} does not stand for ${name}.`);
        scope.operations.push(name);
        return known(services, scope, { path: {}, query: {}, body: input }, { sent });
      };
      const { status, body, location } = await answer(asked, run);
      if (location !== undefined) setLocation(response, services, location);
      if (body) await answerJson(response, status, body);
      else response.status(status).end();
    };
    return { path, methods: [method], before, handlers: [...readRequest, handle] };
  });
  return routerOf(routes);
}

/** Some of these clients send their key in a header of its own. */
const takeKeyHeader: Handler = ({ headers }, _response, next) => {
  const key = headers["x-api-key"];
  if (typeof key === "string") headers.authorization ??= `Bearer ${key}`;
  next();
};

/** A status line is ASCII; a message that was shortened ends with "…". */
const NOT_IN_STATUS_LINES = /[^ -~]+/g;

/** A failure in REST's format; for these clients, whatever refuses the request, with the field whose text they show. */
export const answerForAliases =
  (formatError: (failure: Failure | undefined) => RestError) =>
  (failure: Failure | undefined, response: Response): object => {
    const { error } = formatError(failure);
    if (!mayBeAlias(response.req.originalUrl)) return { error };
    // Only for this status do these clients show the message: they take it for a limit of storage.
    if (failure?.reason === "graph_full") response.status(403);
    // Of most refusals the backend shows only the status line.
    response.statusMessage = error.message.replaceAll(NOT_IN_STATUS_LINES, " ");
    return withDetail({ error });
  };

/** An error with the field whose text these clients show. */
export const withDetail = ({ error }: RestError): object => ({ error, detail: error.message });

/**
 * How the SDK for Python names itself. A list is given repeated or joined by commas: it repeats, so a comma belongs to
 * the tag, such as the session of an adapter.
 */
const PYTHON = /^python-httpx\//;

function readAliasRequest(request: Request, { pause }: Pick<AliasRequest, "pause">): AliasRequest {
  const { id = "" } = request.params;
  const body = request.method === "GET" ? {} : (jsonBody(request) ?? {});
  if (!isObject(body)) throw InvalidInput.at("", "The body must be a JSON object.");
  const isFromPython = PYTHON.test(request.get("user-agent") ?? "");
  const query = Object.entries(request.query).map(([name, value]) => {
    const given = [value].flat();
    return [name, isFromPython && name === "tags" ? given : given.join(",")] as const;
  });
  return { id: String(id), query: Object.fromEntries(query), body, pause };
}

const firstPart = (url: string): string => /^\/[^/?]*/.exec(url)?.[0] ?? "";
const FIRST_PARTS = new Set(aliases.map(({ path }) => firstPart(path)));

/** Whether a path may belong to these clients. Requests for other paths skip their routes. */
export const mayBeAlias = (url: string): boolean => FIRST_PARTS.has(firstPart(url));
