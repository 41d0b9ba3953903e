import { hasTooManyMarks } from "../combining-marks.js";
import { RELATIONSHIP_FORM } from "../relationship-types.js";

/**
 * Converts a free text to a relationship type: "verified by" and "verifiedBy" become VERIFIED_BY. Undefined if the
 * format cannot express the text: no type is better than a wrong one.
 */
export function relationshipType(text: string): string | undefined {
  if (hasTooManyMarks(text)) return undefined;
  const plain = text
    .replaceAll(/(\p{Ll}|\p{N})(\p{Lu})/gu, "$1 $2")
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
    .normalize("NFKD")
    .replaceAll(/[\p{M}'’]/gu, "")
    .toUpperCase();
  if (/(?![A-Z0-9])[\p{L}\p{N}]/u.test(plain)) return undefined;
  const name = plain
    .split(/[^A-Z0-9]+/)
    .filter(Boolean)
    .join("_");
  return RELATIONSHIP_FORM.test(name) ? name : undefined;
}

/** Converts a free text to a memory type: "TaskGroup" becomes task_group. Undefined if that is impossible. */
export function memoryType(text: string): string | undefined {
  return relationshipType(text)?.toLowerCase();
}

/**
 * The original text, if the type lost more of it than case and spacing, such as an accent, a sign or another script;
 * otherwise undefined.
 */
export function lostInType(text: string, type: string): string | undefined {
  const bare = (name: string) => name.replaceAll(/[\s_-]+/g, "").toUpperCase();
  return text.trim() === "" || bare(text) === bare(type) ? undefined : text.trim();
}
