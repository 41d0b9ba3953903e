import { LIMITS } from "../../limits.js";
import { countBrackets, parseJson } from "../json-text.js";
import { type JsonObject, isObject } from "../text.js";

/** What texts of a file contain, and the other fields beside them. */
interface Decoded {
  readonly values: readonly unknown[];
  readonly others: JsonObject;
}

/**
 * Reads JSON that is inside texts: of a file that was encoded twice, and of an MCP tool's answer,
 * `{"content": [{"type": "text", "text": "{…}"}]}` or only its list. Undefined for anything else.
 */
export function decodeTexts(value: unknown): Decoded | undefined {
  if (typeof value === "string") {
    const inner = decodeText(value);
    return inner === undefined ? undefined : { values: [inner], others: {} };
  }
  const { content, ...others } = isObject(value) ? value : { content: value };
  if (!Array.isArray(content) || content.length === 0) return undefined;
  const values = content.map((part: unknown) => (isTextPart(part) ? decodeText(part.text) : undefined));
  return values.includes(undefined) ? undefined : { values, others };
}

const isTextPart = (part: unknown): part is { text: string } =>
  isObject(part) && part["type"] === "text" && typeof part["text"] === "string";

/** An object, or a list with objects: other lists may be meant as text. */
function decodeText(text: string): unknown {
  if (!/^\s*[[{]/.test(text) || countBrackets(text).deepest > LIMITS.importFile.depth) return undefined;
  const inner = parseJson(text);
  return isObject(inner) || (Array.isArray(inner) && inner.some(isObject)) ? inner : undefined;
}
