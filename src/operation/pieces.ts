import { LIMITS } from "../limits.js";

/** How many characters of texts or of JSON are worked on in one piece: about half a millisecond of work. */
export const PIECE_LENGTH = 131_072;

/** Notes that work on so many characters is done. Returns a promise to wait for when the piece is complete. */
export type Pace = (characters: number) => Promise<void> | undefined;

/** Splits work on long texts into pieces, between which other requests get their turn; `pause` waits for the next. */
export function paceBy(pause: () => Promise<void>): Pace {
  let length = 0;
  return (characters) => {
    length += characters;
    if (length < PIECE_LENGTH) return undefined;
    length = 0;
    return pause();
  };
}

const { nestedBytes } = LIMITS.answer;

/** The UTF-16 units of a value as JSON, and `nestedBytes` for each object and list in it. */
export const jsonUnits = (value: unknown): number => (JSON.stringify(value)?.length ?? 0) + nestedBytesIn(value);

/** `nestedBytes` for each object and list, the value itself included. A date is a text. */
export function nestedBytesIn(value: unknown): number {
  if (typeof value !== "object" || value === null || value instanceof Date) return 0;
  let bytes = nestedBytes;
  for (const inner of Array.isArray(value) ? value : Object.values(value)) bytes += nestedBytesIn(inner);
  return bytes;
}

/**
 * Estimates the UTF-16 units of a value as JSON, including the names of fields, and `nestedBytes` for each object and
 * list. Stops counting at `most`.
 */
export function unitsOf(value: unknown, most: number): number {
  if (typeof value === "string") return value.length + 3;
  if (typeof value !== "object" || value === null) return 24;
  let units = nestedBytes + 2;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && units < most; index++) units += 1 + unitsOf(value[index], most - units);
    return units;
  }
  const fields = value as Readonly<Record<string, unknown>>;
  for (const name of Object.keys(fields)) {
    if (units >= most) break;
    units += name.length + 4 + unitsOf(fields[name], most - units);
  }
  return units;
}
