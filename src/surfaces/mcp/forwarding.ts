/* What somebody who forwards messages to this door adds to them. They are not checked: the door does that. */
import { encodeHeader } from "./header-value.js";
import { CODES, VERSION_KEY, failedCall } from "./protocol.js";

/** A JSON object that should be a message; the answer of one without an id is not waited for. */
export interface Forwarded {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: { readonly name?: unknown; readonly _meta?: Readonly<Record<string, unknown>> | null } | null;
}

const versionOf = ({ params }: Forwarded): unknown => params?._meta?.[VERSION_KEY];

/** The headers that repeat a message, without those for which it has no text; older revisions have none. */
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
