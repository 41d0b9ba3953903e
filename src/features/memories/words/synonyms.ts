import { TYPE_FORM } from "../memory-contents.js";
import { SYNONYMS as CALLED } from "../memory-types.js";
import { FORMS, SYNONYMS, TYPES } from "./vocabulary.js";

const synonyms = new Map<string, string[]>();
for (const group of SYNONYMS) {
  for (const word of group)
    synonyms.set(word, [...(synonyms.get(word) ?? []), ...group.filter((other) => other !== word)]);
}

/** Names of several words, and words that mean one: with all names of their group. */
const shortened = new Map(
  SYNONYMS.filter((group) => group.some((name) => name.includes(" "))).flatMap((group) =>
    group.map((name) => [name, group] as const),
  ),
);

/** The names that mean the same as one, with itself, if any of them has several words. */
export const namesLike = (name: string): readonly string[] | undefined =>
  shortened.get(name) ?? shortened.get(name.replace(/s$/, ""));

/** Splits an English form from its ending: "pictures", "erased", "deleting". */
const ENDING = /^(\w{4,}?)(?:es|s|ed|ing)$/;

/**
 * Initials and statuses of HTTP, whose plural the stemmer keeps: "vpc" and "vpcs", "sla" and "slas", "502" and "502s".
 * But "https", which is in all memories with addresses, is no plural, nor are "gbps" and "thus".
 */
const WITHOUT_STEM = /^(?!(?:http|[kmgt]bp|thu)$)(?:(?=[^aeiouy]*.$)[a-z]{3,6}|[345](?:\d\d|xx))$/;

/** The singular of such a word, or its plural. */
function otherNumberOf(word: string): string[] {
  const singular = word.replace(/(?<!s)s$/, "");
  if (!WITHOUT_STEM.test(singular)) return [];
  return [singular === word ? `${word}s` : singular];
}

/** "Serialization" and "serialisation": the stemmer knows the American endings only. */
const AMERICAN_OR_BRITISH = /(?<=.{4}i)[sz](?=(?:e[ds]?|ers?|ing|ations?)$)/;
const spellOtherwise = (word: string): string =>
  word.replace(AMERICAN_OR_BRITISH, (letter) => (letter === "s" ? "z" : "s"));

/** A name with its version as one, "tlsv1", and apart, "tls 1" and "tls v1". No "dev1", and no "ipv6". */
function versionApart(word: string): string[] {
  const [, name, version] = /^(\p{L}{3,})v(\d\d?)$/u.exec(word) ?? [];
  return name === undefined ? [] : [`${name} ${version}`, `${name} v${version}`];
}

/** Names that mean the same as a word. In a word with digits, its letters have them: "pg16" is also "postgres 16". */
export function synonymsOf(word: string): readonly string[] {
  const [, letters = word, digits = ""] = /^(\p{L}{2,})(\d+)$/u.exec(word) ?? [];
  const [, stem = letters] = ENDING.exec(letters) ?? [];
  const others = [...otherNumberOf(word), spellOtherwise(word)].filter((other) => other !== word);
  const known = [letters, stem, `${stem}e`, ...others].find((form) => synonyms.has(form)) ?? letters;
  const names = [...(known === letters ? [] : [known]), ...(synonyms.get(known) ?? [])];
  // Also what is written: the graph may have all words of another name, but in no memory together.
  const numbered = digits && names.length > 0 ? [letters, ...names].map((name) => `${name} ${digits}`) : names;
  return [...new Set([...others, ...versionApart(word), ...numbered])];
}

/**
 * The types of memories that a word may name: itself, its singular, and what else it is called. Not `general`, which tells
 * nothing.
 */
export function typesNamed(word: string): string[] {
  const words = [word, word.replace(/ies$/, "y"), word.replace(/s$/, ""), word.replace(/es$/, "")];
  const others = words.flatMap((one) => [CALLED.get(one) ?? [], TYPES.get(one) ?? []].flat());
  const names = new Set([...words, ...others, ...(FORMS.get(word) ?? []), ...synonymsOf(word)]);
  return [...names].filter((name) => TYPE_FORM.test(name) && name !== "general");
}
