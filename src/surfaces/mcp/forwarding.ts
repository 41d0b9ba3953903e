/* For programs that forward messages to this door. Nothing is checked here: the door checks each message. */
import { encodeHeader } from "./header-value.js";
import { CODES, VERSION_KEY, failedCall } from "./protocol.js";

/** A JSON object that should be a message. One without an id gets no answer. */
export interface Forwarded {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: { readonly name?: unknown; readonly _meta?: Readonly<Record<string, unknown>> | null } | null;
}

const versionOf = ({ params }: Forwarded): unknown => params?._meta?.[VERSION_KEY];

/** The headers that repeat fields of a message, without fields that are no text. Older revisions have none. */
export function headersOf(message: Forwarded): Record<string, string> {
  const version = versionOf(message);
  if (version === undefined) return {};
  const { method, params } = message;
  const repeated = { "MCP-Protocol-Version": version, "Mcp-Method": method, "Mcp-Name": params?.name };
  const texts = Object.entries(repeated).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  return Object.fromEntries(texts.map(([header, text]) => [header, encodeHeader(text)]));
}

/** The answer where the door gave none. */
export function failureFor(message: Forwarded, text: string): object {
  if (message.method !== "tools/call") return { error: { code: CODES.internalError, message: text } };
  const result = failedCall(text);
  return { result: versionOf(message) === undefined ? result : { resultType: "complete", ...result } };
}
