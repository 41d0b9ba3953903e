import type { IncomingHttpHeaders } from "node:http";
import { LIMITS } from "../../limits.js";
import { Failure, shorten } from "../../operation/failure.js";
import { type JsonObject, isObject } from "../json-object.js";
import { decodeHeader } from "./header-value.js";

/** The revision without a handshake: each request says which revision it speaks. */
export const MODERN = "2026-07-28";
/** Revisions that begin with `initialize`, newest first. */
export const LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;

/** Codes of JSON-RPC and MCP. */
export const CODES = {
  parseError: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internalError: -32_603,
  headerMismatch: -32_020,
  unsupportedVersion: -32_022,
} as const;

type Id = string | number;

/** A request of JSON-RPC; without an id it is a notification, which gets no answer. */
export interface Message {
  readonly id: Id | undefined;
  readonly method: string;
  readonly params: JsonObject;
  /** Whether it is of the revision without a handshake. */
  readonly isModern: boolean;
}

const ONE_MESSAGE =
  "The body must be one JSON-RPC message. Batches are not supported: send each message in its own request.";

/** A message that breaks the protocol: a mistake of the client's program, which an agent cannot correct. */
export class ProtocolFailure extends Failure {
  static readonly example = new ProtocolFailure(CODES.invalidRequest, ONE_MESSAGE);
  override readonly reason = "mcp_protocol";
  readonly kind: "bad_request" | "not_found";
  override readonly details: object | undefined;
  /** Whether the HTTP status is 200, since the message itself was right. */
  readonly isInBand: boolean;

  constructor(
    readonly code: number,
    message: string,
    {
      kind = "bad_request",
      details,
      isInBand = false,
    }: Partial<Pick<ProtocolFailure, "kind" | "details" | "isInBand">> = {},
  ) {
    super(message);
    this.kind = kind;
    this.details = details;
    this.isInBand = isInBand;
  }
}

/** The id of a message, even of an invalid one, since its error must contain the id. */
export const idOf = (body: unknown): Id | undefined => (isObject(body) && isId(body["id"]) ? body["id"] : undefined);

/**
 * Checks the envelope of a message, and that the headers say the same as the body.
 * @throws ProtocolFailure
 */
export function readMessage(body: unknown, headers: IncomingHttpHeaders): Message {
  if (!isObject(body)) throw new ProtocolFailure(CODES.invalidRequest, ONE_MESSAGE);
  const { jsonrpc, id, method, params = {} } = body;
  const isNotification = !("id" in body);
  if (jsonrpc !== "2.0" || typeof method !== "string" || !isObject(params) || !(isNotification || isId(id))) {
    throw new ProtocolFailure(
      CODES.invalidRequest,
      'A message must have `jsonrpc: "2.0"`, a `method`, an object as `params`, and as `id` a whole number or a text ' +
        `of at most ${LIMITS.mcp.idLength} characters.`,
    );
  }
  const message = { id: isNotification ? undefined : (id as Id), method, params };
  const meta = isObject(params["_meta"]) ? params["_meta"] : {};
  const version = headers["mcp-protocol-version"]?.toString();
  const isModern = isModernMessage(method, meta, version);
  // A handshake agrees on the version in its body; some clients send the header even then.
  if (!isModern && method !== "initialize" && version !== undefined && !isLegacy(version)) {
    throw unsupported(version, [MODERN, ...LEGACY]);
  }
  if (isModern && !isNotification) assertModern(message, meta, headers);
  return { ...message, isModern };
}

/**
 * Whether a message is of the revision without a handshake: its header or its `_meta` says so, where an earlier version
 * in `_meta` is no sign. `initialize` belongs to earlier revisions, so it needs both signs.
 */
function isModernMessage(method: string, meta: JsonObject, version: string | undefined): boolean {
  const signs = [version === MODERN, VERSION_KEY in meta && !isLegacy(meta[VERSION_KEY])];
  return method === "initialize" ? !signs.includes(false) : signs.includes(true);
}

const isLegacy = (version: unknown): boolean => LEGACY.some((known) => known === version);

export const META = "io.modelcontextprotocol";
export const VERSION_KEY = `${META}/protocolVersion`;
const CAPABILITIES_KEY = `${META}/clientCapabilities`;

type Unchecked = Omit<Message, "isModern">;

/** Proxies route by the headers, and the service acts on the body: both must say the same. */
function assertModern({ method, params }: Unchecked, meta: JsonObject, headers: IncomingHttpHeaders): void {
  const version = meta[VERSION_KEY];
  if (typeof version !== "string" || !isObject(meta[CAPABILITIES_KEY])) {
    const message = `\`params._meta\` must have \`${VERSION_KEY}\` and \`${CAPABILITIES_KEY}\`.`;
    throw new ProtocolFailure(CODES.invalidParams, message);
  }
  const assertHeader = (name: string, said: unknown, expected: string) => {
    if (said === expected) return;
    const message = `The header ${name} must say the same as the body: \`${clip(expected)}\`.`;
    throw new ProtocolFailure(CODES.headerMismatch, message);
  };
  assertHeader("MCP-Protocol-Version", headers["mcp-protocol-version"], version);
  if (version !== MODERN) throw unsupported(version, [MODERN]);
  assertHeader("Mcp-Method", decodeHeader(headers["mcp-method"]), method);
  const name = params["name"];
  if (method === "tools/call" && typeof name === "string")
    assertHeader("Mcp-Name", decodeHeader(headers["mcp-name"]), name);
}

const unsupported = (requested: string, supported: readonly string[]): ProtocolFailure =>
  new ProtocolFailure(CODES.unsupportedVersion, `Unsupported protocol version. Use ${supported.join(" or ")}.`, {
    details: { supported, requested: clip(requested) },
  });

/** The result of a tool call that failed: clients show agents the text, but often hide errors of the protocol. */
export const failedCall = (text: string): object => ({ content: [{ type: "text", text }], isError: true });

/** Shortens a text that the client sent, to repeat it in an answer. */
export const clip = (text: string): string => shorten(text, LIMITS.mcp.shownLength);

const isId = (id: unknown): id is Id =>
  typeof id === "string" ? id.length <= LIMITS.mcp.idLength : Number.isSafeInteger(id);
