import { IsOptional, ValidateBy } from "class-validator";

/** A number as messages write it. */
const written = (number: number): string => number.toLocaleString("en");

/** A text of `min` to `max` code points (not UTF-16 units: an emoji counts once). */
export function TextLength(min: number, max: number): PropertyDecorator {
  const description = `must have ${min === 0 ? "at most" : `${min} to`} ${written(max)} characters`;
  return defineBound("textLength", [min, max], description, (value) => {
    if (typeof value !== "string") return false;
    const length = countCodePoints(value);
    return length >= min && length <= max;
  });
}

const VISIBLE = /[^\s\p{Z}\p{C}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** Whether nothing of a text is visible: it has only spaces, fillers and invisible characters. */
export const isBlank = (text: string): boolean => !VISIBLE.test(text);

/** A text that is not blank. */
export function NotBlank(): PropertyDecorator {
  return defineBound("notBlank", [], BLANK, (value) => typeof value === "string" && !isBlank(value));
}

/** A list with at least one text that is not blank. */
export function NotAllBlank(): PropertyDecorator {
  return defineBound("notAllBlank", [], BLANK, (value) => {
    return Array.isArray(value) && value.some((text) => typeof text === "string" && !isBlank(text));
  });
}

const BLANK = "must not be blank";

/** A text, or each text of a list, that matches the pattern. */
export function Form(pattern: RegExp, description: string): PropertyDecorator {
  return defineBound("form", [pattern], description, (value) =>
    every(value, (item) => typeof item === "string" && pattern.test(item)),
  );
}

/** A text that is the base64url of a beginning and a rest that matches the pattern. */
export function Encoded(beginning: string, pattern: RegExp, description: string): PropertyDecorator {
  return defineBound("encoded", [beginning, pattern], description, (value) => {
    if (typeof value !== "string") return false;
    const text = Buffer.from(value, "base64url").toString();
    return text.startsWith(beginning) && pattern.test(text.slice(beginning.length));
  });
}

/** What a number from `min` to `max` must be, in words. */
export const describeRange = (min: number, max: number): string => `must be from ${written(min)} to ${written(max)}`;

/** A number from `min` to `max`, both included. `description` says when only a part of that range is accepted. */
export function Between(min: number, max: number, description = describeRange(min, max)): PropertyDecorator {
  return defineBound("between", [min, max], description, (value) => {
    return typeof value === "number" && value >= min && value <= max;
  });
}

/** A list of `min` to `max` items. */
export function SetSize(min: number, max: number): PropertyDecorator {
  return defineBound("setSize", [min, max], `must have ${min} to ${written(max)} items`, (value) => {
    return Array.isArray(value) && value.length >= min && value.length <= max;
  });
}

/**
 * A list of `min` to `max` items, each a text of up to `itemMax` code points, also in lower case, in which some letters
 * become two: what is stored so can then be sent back.
 */
export function ListSize(min: number, max: number, itemMax: number): PropertyDecorator {
  const description = `must have ${min} to ${written(max)} items of up to ${itemMax} characters`;
  return defineBound("listSize", [min, max, itemMax], description, (value) => {
    if (!Array.isArray(value) || value.length < min || value.length > max) return false;
    return every(value, (item) => typeof item === "string" && countCodePoints(item.toLowerCase()) <= itemMax);
  });
}

/** A time that the database can store and every format can write: the years 1 to 9999. */
export function Era(): PropertyDecorator {
  const first = Date.parse("0001-01-01T00:00:00Z");
  const last = Date.parse("9999-12-31T23:59:59.999Z");
  return defineBound("era", [], "must be a time in the years 1 to 9999", (value) => {
    return value instanceof Date && value.getTime() >= first && value.getTime() <= last;
  });
}

/** A JSON object of up to `bytesMax` bytes as compact JSON, nested up to `depthMax` levels, that can be stored. */
export function JsonSize(bytesMax: number, depthMax: number): PropertyDecorator {
  const description =
    `must have at most ${written(bytesMax)} bytes as compact JSON and ${depthMax} levels, ` +
    "without the NUL character, broken Unicode and numbers beyond 1.7e308";
  return defineBound("jsonSize", [bytesMax, depthMax], description, (value) => {
    // Each value takes two bytes at least. What has more values is not read further.
    const room = { values: bytesMax / 2 };
    return isStorable(value, depthMax, room) && Buffer.byteLength(JSON.stringify(value)) <= bytesMax;
  });
}

/**
 * A property of a field that is not a bound:
 * - `id`: it holds an id.
 * - `memoryId`: it holds the id of a memory, or the id that a client gave the memory.
 * - `asSent`: it is not converted to NFC, which turns some characters into ASCII (the Kelvin sign into K), so that two
 *   different addresses would become equal.
 * - `notForAgents`: no tool of MCP takes it.
 * - `selector`: it says where to work, not what to change, so in REST it may be in the query string of a change, too.
 */
export type Mark = "id" | "memoryId" | "asSent" | "notForAgents" | "selector";

export const Marked = (name: Mark): PropertyDecorator => defineBound(name, [], "", () => true);

/** Each item of this list is an input of its own, with the bounds of its class. */
export const Nested = (inputClass: object): PropertyDecorator => defineBound("nested", [inputClass], "", () => true);

/** May be null: an update clears the field, a query ignores it. An absent field is never checked. */
export const Nullable: () => PropertyDecorator = IsOptional;

/**
 * Whether PostgreSQL can store a JSON value: finite numbers, no NUL or lone surrogate, at most `depthLeft` levels and as
 * many values as there is room for.
 */
function isStorable(value: unknown, depthLeft: number, room: { values: number }): boolean {
  if (typeof value === "string") return !value.includes("\0") && value.isWellFormed();
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return true;
  if (depthLeft === 0) return false;
  const names = Array.isArray(value) ? [] : Object.keys(value);
  room.values -= Array.isArray(value) ? value.length : names.length;
  if (room.values < 0) return false;
  const inner = Array.isArray(value) ? value : [...names, ...Object.values(value)];
  return inner.every((item) => isStorable(item, depthLeft - 1, room));
}

export function countCodePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

const every = (value: unknown, test: (item: unknown) => boolean): boolean =>
  Array.isArray(value) ? value.every(test) : test(value);

function defineBound(
  name: string,
  constraints: unknown[],
  description: string,
  holds: (value: unknown) => boolean,
): PropertyDecorator {
  return ValidateBy({
    name,
    constraints,
    validator: {
      validate: holds,
      defaultMessage: () => description,
    },
  });
}
