import { LIMITS } from "../../limits.js";
import { PACKAGE } from "../../platform/project.js";
import { CODES, LEGACY, META, MODERN, type Message, ProtocolFailure, clip } from "./protocol.js";

const SERVER_INFO = { name: "memory-graph-gateway", title: "Memory Graph", version: PACKAGE.version };

/** The list of tools depends on the key, so no cache may show it to other keys. It changes only with a release. */
const CACHED = { ttlMs: LIMITS.mcp.listKeptMs, cacheScope: "private" } as const;
const CAPABILITIES = { tools: {} };

/** Answers the methods of both eras except `tools/call`; none runs an operation. */
export function answerAlone(message: Message, instructions: string | undefined, tools: () => object[]): object {
  const { method, params, isModern } = message;
  if (method === "tools/list") return { tools: tools(), ...(isModern ? CACHED : {}) };
  if (isModern && method === "server/discover") {
    return { supportedVersions: [MODERN], capabilities: CAPABILITIES, instructions, ...CACHED };
  }
  if (!isModern && method === "ping") return {};
  if (!isModern && method === "initialize") {
    const asked = params["protocolVersion"];
    const protocolVersion = LEGACY.find((known) => known === asked) ?? LEGACY[0];
    return { protocolVersion, capabilities: CAPABILITIES, serverInfo: SERVER_INFO, instructions };
  }
  throw new ProtocolFailure(CODES.methodNotFound, `There is no method \`${clip(method)}\`.`, {
    kind: "not_found",
    isInBand: !isModern,
  });
}

/** The answer to a message. In the revision without a handshake each result names its type and the server. */
export const resultOf = ({ id, isModern }: Message, result: object): object => ({
  jsonrpc: "2.0",
  id,
  result: isModern ? { resultType: "complete", ...result, _meta: { [`${META}/serverInfo`]: SERVER_INFO } } : result,
});
