import type { GraphDraft } from "./draft.js";
import { type Field, Fields, asTime } from "./fields.js";
import { UUID, isObject } from "./text.js";

export const isEmbedding = ({ name, value }: Field) =>
  /(?:embeddings?|^vector)$/.test(name) && (Array.isArray(value) || isObject(value));

/** Fields that the service sets itself, and embeddings. */
function isOfService(field: Field): boolean {
  const { name, value, isInner } = field;
  if (isEmbedding(field)) return true;
  if (isInner) return false;
  if (name === "savedat") return typeof value !== "object";
  // What is no time says something else, or in a form that is not read: it stays with the text.
  if (["createdat", "updatedat"].includes(name)) return asTime(value) !== undefined;
  if (["version", "relationshipstotal"].includes(name)) return Number.isInteger(value);
  return name === "createdby" && typeof value === "string" && UUID.test(value);
}

/** Takes these fields, and reports that they are not carried over. */
export function leaveToService(fields: Fields, draft: GraphDraft): void {
  for (const { label } of fields.takeAll(isOfService)) draft.notCarry(label);
}
