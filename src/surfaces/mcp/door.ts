import { type ErrorRequestHandler, type Handler, type Request, type Response, Router } from "express";
import type { GraphQLSchema } from "graphql";
import { LIMITS } from "../../limits.js";
import { RateLimited } from "../../operation/budget.js";
import type { Services } from "../../operation/context.js";
import { AccountSuspended, Failure, type InputIssue, InvalidInput, Unauthorized } from "../../operation/failure.js";
import type { Routes } from "../../operation/names.js";
import type { Operation } from "../../operation/operation.js";
import { onFirstUse } from "../../platform/on-first-use.js";
import type { Budgets } from "../../platform/rate-limit/rate-limiter.js";
import { assertBodyIsJson, readBody, readBodyUpTo } from "../body.js";
import { answerJson, jsonBody, noteFailure } from "../http.js";
import { assertIdempotencyKey, noteRoute, scopeOf } from "../request-scope.js";
import { refuseOtherMethods, restError } from "../plain-errors.js";
import { chargeCaller } from "../rate-limit.js";
import { wholeArguments } from "./arguments.js";
import { answerAlone, resultOf } from "./methods.js";
import { CODES, type Message, ProtocolFailure, clip, failedCall, idOf, readMessage } from "./protocol.js";
import { researchToolsOf } from "./research-tools.js";
import { type Told, instructionsFor, toldWith } from "./told.js";
import { type Tool, toolsOf } from "./tools.js";

interface McpParts {
  readonly path: string;
  readonly schema: GraphQLSchema;
  readonly services: Services;
  /** What agents are told once, before they call anything. */
  readonly instructions: string;
  /** Finds the caller and admits the key; charges nothing. */
  readonly identified: readonly Handler[];
  /** How messages name the operations that are not tools. */
  readonly routes: Routes;
}

/** MCP at one path, for clients of every revision. Nothing is kept between two requests, and every answer is JSON. */
export function mcpDoor(operations: readonly Operation[], parts: McpParts): Router {
  const { path, services, identified } = parts;
  // Some programs add a slash to the address that they are given.
  const router = Router({ caseSensitive: true, strict: false });
  const route = router.route(path);
  const refuseOthers = refuseOtherMethods(["POST"]);
  route.all(noteRoute(path));
  route.options(refuseOthers);
  route.all(refuseForeignOrigin, ...identified, nameRefusedMessage, charge(services.budgets));
  route.post(readMessageBody(), answerMessage(operations, parts));
  route.all((request, response, next) => {
    assertWithinBudget(response);
    refuseOthers(request, response, next);
  });
  return router;
}

export class ForeignOrigin extends Failure {
  readonly kind = "forbidden";
  override readonly reason = "foreign_origin";

  constructor() {
    super("Pages of this origin may not call. The operator of this service can add it to `ALLOWED_ORIGINS`.");
  }
}

/** Refuses pages of other sites: in a user's browser they could reach a server that only this user can reach. */
const refuseForeignOrigin: Handler = ({ headers: { origin } }, response, next) => {
  // An allowed origin has this header already.
  if (origin !== undefined && !response.hasHeader("Access-Control-Allow-Origin")) throw new ForeignOrigin();
  next();
};

/** Charges every request, even one that fails. A refusal waits for the message, since it must answer with its id. */
const charge =
  (budgets: Budgets): Handler =>
  async (_request, response, next) => {
    try {
      await chargeCaller(budgets, scopeOf(response), 1);
    } catch (error) {
      if (!(error instanceof RateLimited)) throw error;
      response.locals["refusedBudget"] = error;
    }
    next();
  };

const refusedBudgetOf = (response: Response): RateLimited | undefined =>
  response.locals["refusedBudget"] as RateLimited | undefined;

const readShortBody = readBodyUpTo(LIMITS.mcp.refusedBodyBytes);

/** Reads the id of a message whose caller is refused, if it is short: some clients show no error without the id. */
const nameRefusedMessage: ErrorRequestHandler = async (refusal: unknown, request, response, next) => {
  const refuse = () => {
    response.locals["messageId"] = idIn(request);
    next(refusal);
  };
  try {
    await readShortBody(request, response, refuse);
  } catch {
    next(refusal);
  }
};

function idIn(request: Request): Message["id"] {
  try {
    return idOf(jsonBody(request));
  } catch {
    return undefined;
  }
}

/** Reads the body. If the request is to be refused, reads only a short one, for the message's id. */
const readMessageBody = (): Handler => async (request, response, next) => {
  assertBodyIsJson(request);
  const refused = refusedBudgetOf(response);
  try {
    await (refused ? readShortBody : readBody)(request, response, next);
  } catch (error) {
    throw refused && error instanceof Failure && error.kind === "payload_too_large" ? refused : error;
  }
};

function answerMessage(
  operations: readonly Operation[],
  { schema, services, instructions, routes }: McpParts,
): Handler {
  const usual = onFirstUse(() => toolsOf(operations, schema));
  const research = onFirstUse(() => researchToolsOf(operations, schema));
  const byName = onFirstUse(
    () => new Map([...usual(), ...research()].flatMap((tool) => tool.names.map((name) => [name, tool] as const))),
  );
  const names = onFirstUse(
    () => new Map([...routes, ...usual().map(({ operation, listing }) => [operation, listing.name] as const)]),
  );
  const all = onFirstUse(() => namesOf([...usual(), ...research()]));

  return async (request, response) => {
    const scope = scopeOf(response);
    const body = parseBody(request);
    // From here on, every refusal has the message's id.
    response.locals["messageId"] = idOf(body);
    assertIdempotencyKey(scope);
    const message = readMessage(body, request.headers);
    if (message.id === undefined) {
      response.status(202).end();
      return;
    }
    const offered = toolsInAddress(request, byName()) ?? usual();
    const own = offered.filter((tool) => scope.caller && tool.isFor(scope.caller));
    const ownNames = namesOf(own);
    const told = toldWith(ownNames, all());
    if (message.method !== "tools/call") assertWithinBudget(response);
    const result =
      message.method === "tools/call"
        ? await callTool(findTool(message, byName(), own), message, { services, response, names: names(), told })
        : answerAlone(message, instructionsFor(instructions, ownNames, told), () =>
            own.map(({ listing }) => ({ ...listing, description: told(listing.description) })),
          );
    await answerJson(response, 200, resultOf(message, result));
  };
}

const namesOf = (tools: readonly Tool[]): ReadonlySet<string> => new Set(tools.map(({ listing }) => listing.name));

function assertWithinBudget(response: Response): void {
  const refused = refusedBudgetOf(response);
  if (refused) throw refused;
}

/** @throws ProtocolFailure when the body is not JSON. */
function parseBody(request: Request): unknown {
  try {
    return jsonBody(request);
  } catch (error) {
    throw error instanceof InvalidInput ? new ProtocolFailure(CODES.parseError, error.message) : error;
  }
}

/**
 * The tools that the address names, as in `/mcp?tools=search,fetch`; undefined where it has no `tools`.
 * @throws ProtocolFailure when there is no tool of a name
 */
function toolsInAddress({ query: { tools } }: Request, byName: ReadonlyMap<unknown, Tool>): Tool[] | undefined {
  if (tools === undefined) return undefined;
  const named = [tools].flat().join(",").split(",");
  const found = named.map((name) => {
    const tool = byName.get(name.trim());
    if (tool) return tool;
    const known = [...new Set(byName.values())].map(({ listing }) => listing.name);
    const message = `\`tools\` in the address takes ${known.join(", ")}, and not \`${clip(name)}\`.`;
    throw new ProtocolFailure(CODES.invalidRequest, message);
  });
  return [...new Set(found)];
}

/** @throws ProtocolFailure, the same one, when the tool does not exist or the caller's key may not call it. */
function findTool({ params: { name } }: Message, byName: ReadonlyMap<unknown, Tool>, own: readonly Tool[]): Tool {
  const tool = byName.get(name);
  if (tool && own.includes(tool)) return tool;
  const offered = own.map(({ names: [first] }) => first).join(", ");
  const problem = typeof name === "string" ? `Unknown tool: ${clip(name)}` : "`params.name` must be the name of a tool";
  const message = `${problem}. With this key at this address there are: ${offered || "none"}.`;
  throw new ProtocolFailure(CODES.invalidParams, message, { isInBand: true });
}

interface Call {
  readonly services: Services;
  readonly response: Response;
  /** How messages name operations. */
  readonly names: Routes;
  readonly told: Told;
}

/**
 * Calls a tool. Clients show agents the answers of tools, but often hide errors of HTTP and of the protocol. So each
 * failure that an agent can act on is returned as an answer.
 */
async function callTool(tool: Tool, { params }: Message, { services, response, names, told }: Call): Promise<object> {
  const args = wholeArguments(params["arguments"]);
  try {
    assertWithinBudget(response);
    const { text, value } = await tool.call(services, scopeOf(response), args, told);
    return { content: [{ type: "text", text }], structuredContent: value };
  } catch (error) {
    if (error instanceof Unauthorized || error instanceof AccountSuspended) throw error;
    const failure = noteFailure(error, response);
    // Clients check structured content against the schema of the tool's answers, which an error does not have.
    const more = failure && tool.addTo(failure, scopeOf(response), args);
    return failedCall(JSON.stringify(errorForAgents(failure, { names, told }, more)));
  }
}

/**
 * The error as in REST, but without what an agent cannot follow, and without details that the message contains already.
 * @param more a sentence to add
 */
function errorForAgents(
  failure: Failure | undefined,
  { names, told }: Pick<Call, "names" | "told">,
  more: string | undefined,
): object {
  const { error } = restError(failure, names);
  const { details, message, ...others } = error;
  const shown = told(message) || message;
  const issues = failure instanceof InvalidInput ? (details as readonly InputIssue[]) : undefined;
  const shownIssues = issues?.map(({ path, message: said }) => ({ path, message: told(said) || said }));
  const isSaidWhole = shownIssues?.every((issue) => shown.includes(issue.message)) ?? false;
  return {
    error: {
      ...others,
      message: more === undefined ? shown : `${shown} ${more}`,
      ...(isSaidWhole ? {} : { details: shownIssues ?? details }),
    },
  };
}

/** An error of HTTP or of the protocol, as JSON-RPC writes it. */
export function mcpError(failure: Failure | undefined, response: Response): object {
  return { jsonrpc: "2.0", id: response.locals["messageId"] as unknown, error: errorOf(failure, response) };
}

function errorOf(failure: Failure | undefined, response: Response): object {
  if (failure instanceof ProtocolFailure) {
    if (failure.isInBand) response.status(200);
    return { code: failure.code, message: failure.message, data: failure.details };
  }
  const { error } = restError(failure);
  return { code: failure ? CODES.invalidRequest : CODES.internalError, message: error.message, data: error };
}
