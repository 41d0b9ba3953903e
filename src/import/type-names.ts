/** The form of a relationship's type; that of a memory's type is the same in lower case. */
const TYPE_FORM = /^[A-Z][A-Z0-9_]{0,49}$/;

/**
 * The relationship type that a free text stands for: "verified by" and "verifiedBy" are VERIFIED_BY. Undefined where
 * the form of a type cannot say it: nothing is better than a type that says something else.
 */
export function relationshipType(text: string): string | undefined {
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
  return TYPE_FORM.test(name) ? name : undefined;
}

/** The memory type that a free text stands for: "TaskGroup" is task_group. Undefined where there is none. */
export function memoryType(text: string): string | undefined {
  return relationshipType(text)?.toLowerCase();
}

/**
 * What a type does not say of the text it was made from: all of it, unless the two differ only in case and spacing.
 * Then the text would repeat the type; else it is the only place where an accent, a sign or another script is kept.
 */
export function lostInType(text: string, type: string): string | undefined {
  const bare = (name: string) => name.replaceAll(/[\s_-]+/g, "").toUpperCase();
  return text.trim() === "" || bare(text) === bare(type) ? undefined : text.trim();
}
