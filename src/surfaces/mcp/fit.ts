/** How many bytes a value has as compact JSON. */
export const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/**
 * No item of a longer list may take more than this part of the list's room, so that one long item does not hide the
 * others.
 */
const ITEM_SHARE = 1 / 4;

/** Any value can be cut to fewer bytes than this: to a note of where a text was cut, or to an empty list. */
const SMALLEST_PIECE = 64;

/** A text of an answer, or the texts of a list's items, of which the answer has only the end. */
export interface Part {
  /** The names of the fields that lead to it. */
  readonly path: readonly string[];
  /** The character of the whole text where the end begins. */
  readonly from: number;
}

/**
 * Cuts a JSON object until it has room. Numbers and short texts stay. Long texts are cut, with a note of how much is
 * missing; lists and inner objects end early. Large fields share the room that is left, so the object keeps all of its
 * own fields.
 * @param room in bytes of compact JSON
 */
export function fitObject(value: object, room: number, part?: Part): object {
  /** `path` leads from here to the part; undefined where no path leads to it. */
  const fit = (inner: unknown, space: number, path: Part["path"] | undefined): unknown => {
    if (jsonBytes(inner) <= space) return inner;
    if (typeof inner === "string") return cutText(inner, space, path?.length === 0 ? (part?.from ?? 0) : 0);
    if (Array.isArray(inner)) return fitList(inner, space, path);
    if (typeof inner !== "object" || inner === null) return inner;
    return fitFields(inner === value ? inner : leadingFields(inner, space), space, path);
  };

  const fitList = (list: readonly unknown[], space: number, path: Part["path"] | undefined): unknown[] => {
    const kept: unknown[] = [];
    const roomOfItem = Math.floor((space - "[]".length) * Math.max(ITEM_SHARE, 1 / list.length)) - ",".length;
    let left = space - "[]".length;
    for (const item of list) {
      const piece = typeof item === "object" ? fit(item, roomOfItem, path) : item;
      left -= jsonBytes(piece) + ",".length;
      if (left < 0) break;
      kept.push(piece);
    }
    return kept;
  };

  const fitFields = (fields: object, space: number, path: Part["path"] | undefined): object => {
    const entries = Object.entries(fields).map(([name, field]) => ({ name, field, bytes: jsonBytes(field) }));
    const fitted: Record<string, unknown> = { ...fields };
    let left = space - "{}".length - entries.reduce((sum, { name }) => sum + jsonBytes(name) + ":,".length, 0);
    // Smallest first: larger fields get what smaller ones leave of their shares.
    for (const [index, { name, field }] of entries.toSorted((one, other) => one.bytes - other.bytes).entries()) {
      const further = path?.[0] === name ? path.slice(1) : undefined;
      fitted[name] = fit(field, Math.floor(left / (entries.length - index)), further);
      left -= jsonBytes(fitted[name]);
    }
    return fitted;
  };

  return fit(value, room, part?.path) as object;
}

/**
 * Keeps the first fields of an object, as many as have room for the smallest piece of each, and notes how many follow.
 */
function leadingFields(fields: object, room: number): object {
  const entries = Object.entries(fields);
  let left = room - "{}".length - SMALLEST_PIECE;
  const end = entries.findIndex(([name, field]) => {
    left -= jsonBytes(name) + Math.min(jsonBytes(field), SMALLEST_PIECE) + ":,".length;
    return left < 0;
  });
  if (end === -1) return fields;
  return Object.fromEntries([...entries.slice(0, end), ["…", `${entries.length - end} more fields`]]);
}

/** Cuts a text to the longest beginning that has room together with the note of where it was cut. */
function cutText(text: string, room: number, from: number): string {
  let [least, most] = [0, Math.min(text.length, room)];
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if (jsonBytes(cutAt(text, middle, from)) <= room) least = middle;
    else most = middle - 1;
  }
  return cutAt(text, least, from);
}

/** Whether a text, or JSON, contains the note that an answer was cut there. */
export const isCut = (value: unknown): boolean =>
  typeof value === "string" ? CUT.test(value) : CUT_INSIDE.test(JSON.stringify(value));
const CUT = /… \[cut at character (\d+) of \d+\]/;
const CUT_INSIDE = new RegExp(`${CUT.source}|"…":"\\d+ more fields"`);

/** The character at which a text was cut that ends with the note of it. */
export const cutPlace = (text: string): number => Number(new RegExp(`${CUT.source}$`).exec(text)?.[1]);

/** Cuts a text, not within a surrogate pair, and notes where it was cut. */
function cutAt(text: string, length: number, from: number): string {
  const isHalf = /[\uD800-\uDBFF]/.test(text.charAt(length - 1));
  const kept = isHalf ? length - 1 : length;
  return `${text.slice(0, kept)}… [cut at character ${from + kept} of ${from + text.length}]`;
}
