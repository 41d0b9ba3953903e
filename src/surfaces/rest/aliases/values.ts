import { LIMITS } from "../../../limits.js";
import type { Plain } from "../../run.js";

/** Some fields of what was sent. These clients say nothing of what is null. */
export const pick = (source: Plain, names: readonly string[]): Plain =>
  Object.fromEntries(names.flatMap((name) => (source[name] == null ? [] : [[name, source[name]]])));

/** The entries for which something holds. */
export const onlyWhere = (source: Plain, holds: (name: string, value: unknown) => boolean): Plain =>
  Object.fromEntries(Object.entries(source).filter(([name, value]) => holds(name, value)));

/** What a list is narrowed by: an empty text is no filter. */
export const withoutBlanks = (source: Plain): Plain => onlyWhere(source, (_, value) => value != null && value !== "");

/** No list may have more items, and what has more is refused where it is read. */
const ITEMS_MAX = LIMITS.text.itemsUnlessDeclared;

/**
 * A list, or a text in which its items are joined by commas, and a comma of their own is written `%2C`. An empty one is
 * no filter. Of a text with too many items only so many are taken apart that it is refused.
 */
export function listOf(value: unknown): readonly unknown[] | undefined {
  const items: readonly unknown[] =
    typeof value === "string"
      ? value.split(",", ITEMS_MAX + 1).map((item) => item.replaceAll(/%2c/gi, ","))
      : [value].flat();
  if (items.length > ITEMS_MAX) return items;
  const given = items.filter((item) => item != null && item !== "");
  return given.length > 0 ? given : undefined;
}

/** Types in a list. Python writes a member of an enumeration into a query as `MemoryType.CODE_PATTERN`. */
export const typesOf = (value: unknown): readonly unknown[] | undefined =>
  listOf(value)?.map((item) => {
    if (typeof item !== "string") return item;
    const [, kind, name = item] = /^(MemoryType|RelationshipType)\.(\w+)$/.exec(item) ?? [];
    return kind === "MemoryType" ? name.toLowerCase() : name;
  });

/** A number as it comes in a body or a query; anything else as it is, to be refused where it is read. */
export const numberOf = (value: unknown): unknown =>
  typeof value === "string" && value.trim() !== "" && Number.isFinite(Number(value)) ? Number(value) : value;

/** A whole number, cut to what is served; the default for what is no number. */
export function cutTo([least, most]: readonly [number, number], value: unknown, byDefault: number): number {
  const number = numberOf(value);
  return typeof number === "number" && !Number.isNaN(number)
    ? Math.min(most, Math.max(least, Math.trunc(number)))
    : byDefault;
}

/** A text of at most so many characters, with `…` where it was cut. */
export function shorten(text: unknown, most: number): unknown {
  if (typeof text !== "string" || text.length <= most) return text;
  const characters = Array.from(text);
  return characters.length <= most ? text : `${characters.slice(0, most - 1).join("")}…`;
}

/** The beginning of a text. */
export const beginningOf = (text: string, most: number): string =>
  text.length <= most ? text : Array.from(text).slice(0, most).join("");
