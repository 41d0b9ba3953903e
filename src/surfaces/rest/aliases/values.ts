import { LIMITS } from "../../../limits.js";
import { isBlank } from "../../../operation/bounds.js";
import type { Plain } from "../../run.js";

/** Picks fields of a request, without null: these clients use it for fields without a value. */
export const pick = (source: Plain, names: readonly string[]): Plain =>
  Object.fromEntries(names.flatMap((name) => (source[name] == null ? [] : [[name, source[name]]])));

/** Keeps the entries for which `holds` is true. */
export const onlyWhere = (source: Plain, holds: (name: string, value: unknown) => boolean): Plain =>
  Object.fromEntries(Object.entries(source).filter(([name, value]) => holds(name, value)));

/** Keeps the filters that have a value: null and an empty text are no filter. */
export const withoutBlanks = (source: Plain): Plain => onlyWhere(source, (_, value) => value != null && value !== "");

/** The most items that a list may have. The operation refuses longer lists. */
const ITEMS_MAX = LIMITS.text.itemsUnlessDeclared;

/**
 * Reads a list, or a text with items separated by commas, where `%2C` is a comma within an item. A list of blank
 * items is no filter. A text with too many items is split only as far as is needed to refuse it.
 */
export function listOf(value: unknown): readonly unknown[] | undefined {
  const items: readonly unknown[] =
    typeof value === "string"
      ? value.split(",", ITEMS_MAX + 1).map((item) => item.replaceAll(/%2c/gi, ","))
      : [value].flat();
  if (items.length > ITEMS_MAX) return items;
  const given = items.filter((item) => item != null && !(typeof item === "string" && isBlank(item)));
  return given.length > 0 ? given : undefined;
}

/** Reads a list of types. Python writes a member of an enumeration into a query as `MemoryType.CODE_PATTERN`. */
export const typesOf = (value: unknown): readonly unknown[] | undefined =>
  listOf(value)?.map((item) => {
    if (typeof item !== "string") return item;
    const [, kind, name = item] = /^(MemoryType|RelationshipType)\.(\w+)$/.exec(item) ?? [];
    return kind === "MemoryType" ? name.toLowerCase() : name;
  });

/** Reads a number of a body or a query; returns anything else as it is, for the operation to refuse. */
export const numberOf = (value: unknown): unknown =>
  typeof value === "string" && value.trim() !== "" && Number.isFinite(Number(value)) ? Number(value) : value;

/** Reads a whole number, limited to the range from `least` to `most`; the default if it is no number. */
export function cutTo([least, most]: readonly [number, number], value: unknown, byDefault: number): number {
  const number = numberOf(value);
  return typeof number === "number" && !Number.isNaN(number)
    ? Math.min(most, Math.max(least, Math.trunc(number)))
    : byDefault;
}

/**
 * Cuts a text to at most `most` characters, with `…` where it was cut. A character has one or two units, so the rest of
 * a long text is not looked at.
 */
export function shorten(text: unknown, most: number): unknown {
  if (typeof text !== "string" || text.length <= most) return text;
  const characters = Array.from(text.slice(0, 2 * most + 1));
  return characters.length <= most ? text : `${characters.slice(0, most - 1).join("")}…`;
}

/**
 * The first `most` characters of a text. They are counted in NFC, as the operation counts them: it has two or three
 * characters for one of some scripts. NFC is quadratic in combining marks, so the text is cut before, too.
 */
export const beginningOf = (text: string, most: number): string => cut(cut(text, most).normalize("NFC"), most);

const cut = (text: string, most: number): string =>
  Array.from(text.slice(0, 2 * most))
    .slice(0, most)
    .join("");
